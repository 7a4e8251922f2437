"""Training and measuring the opponent model on histories of games.

The model learns by maximum likelihood which move was taken on the true board. It is measured by
what it is for: the probability that carried weights give the true board before every move of a
player, in nats, beside equal weights and the weights by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from miai.errors import RecordError
from miai.plugins.extras import extra_needed
from miai_rbc.agents.choice import CHECK, Scorer, make_engine, opponent_weights
from miai_rbc.belief.belief import RbcBelief
from miai_rbc.belief.weighted import (
    MAX_STYLES,
    OpponentModel,
    PieceAges,
    WeightedBoards,
    blend,
    phase_of,
)
from miai_rbc.kernels.bitboards import Words
from miai_rbc.kernels.board import PAWNS
from miai_rbc.kernels.moves import MAX_MOVES
from miai_rbc.kernels.opponent import FEATURES, SLOTS, describe_moves
from miai_rbc.rbc_parameters import ModelWeights, OpponentTraining, StrongParameters
from miai_rbc.reconchess.histories import History, read_history
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.observations import Moved, event_of

if TYPE_CHECKING:
    import torch


def require_torch() -> None:
    """Raise `MissingExtraError` if torch is not installed."""
    if find_spec("torch") is None:
        raise extra_needed("training an opponent model", "torch", "miai-rbc[learning]")


def read_histories(paths: Iterable[Path]) -> Iterator[History]:
    """Yield the games of histories, and of all ``*.json`` files in folders.

    Files in folders that cannot be read are left out; a warning on standard error names the first.

    Raises:
      RecordError: one that is named cannot be read, or none of a folder.
    """
    for path in paths:
        if not path.is_dir():
            yield read_history(path)
            continue
        refused, found = [], 0
        for file in sorted(path.rglob("*.json")):
            try:
                history = read_history(file)
            except RecordError as error:
                refused.append(error)
                continue
            found += 1
            yield history
        if not found:
            missing = RecordError(f"{path}: has no histories of reconchess (*.json)")
            raise refused[0] if refused else missing
        if refused:
            left_out = f"{len(refused)} of {len(refused) + found} histories are left out"
            print(f"{path}: {left_out}, the first: {refused[0]}", file=sys.stderr)


# -- examples --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MoveExamples:
    """Moves that were taken, among all that could be.

    Attributes:
      features: int16 (m, `SLOTS`), of all moves of all boards.
      counts: int64 (n,), the number of moves of each board.
      taken: int64 (n,), the place of the taken move among the moves of its board.
      styles: int64 (n,), the place of the player in `names`.
      names: the players' names, sorted.
    """

    features: NDArray[np.int16]
    counts: NDArray[np.int64]
    taken: NDArray[np.int64]
    styles: NDArray[np.int64]
    names: tuple[str, ...]


def examples_of(histories: Iterable[History]) -> MoveExamples:
    """Return every move of both players in some games."""
    features, counts, places, players = [], [], [], []
    moves = np.empty(MAX_MOVES + 1, np.int64)
    described = np.empty((MAX_MOVES + 1, SLOTS), np.int16)
    for history in histories:
        for row, taken, ages, turn, mover in _turns(history):
            n = describe_moves(row, ages, phase_of(turn), moves, described)
            features.append(described[:n].copy())
            counts.append(n)
            places.append(int(np.flatnonzero(moves[:n] == taken)[0]))
            players.append(history.players[mover])
    if not counts:
        raise RecordError("the histories have no moves to learn from")
    names = tuple(sorted(set(players)))
    if len(names) > MAX_STYLES:
        raise RecordError(f"the histories have {len(names)} players; at most {MAX_STYLES} styles")
    styles = np.array([names.index(player) for player in players])
    return MoveExamples(np.concatenate(features), np.array(counts), np.array(places), styles, names)


def _turns(history: History) -> Iterator[tuple[Words, int, NDArray[np.uint8], int, int]]:
    """Yield the board, move, ages of the other side's pieces, turn and mover of every move."""
    pieces = (PieceAges(), PieceAges())
    turns = [0, 0]
    before = None
    for state in history.states():
        if before is not None and not before.senses:
            mover = int(before.current_player())
            observation = state.observation(mover)
            assert observation is not None
            event = event_of(observation, pawns=int(before.boards.rows[0, PAWNS]))
            assert isinstance(event, Moved)
            ages = pieces[1 - mover].ages()
            yield before.boards.rows[0], event.taken, ages, turns[mover], mover
            pieces[mover].add(event)
            turns[mover] += 1
        before = state


# -- training --------------------------------------------------------------------------------------


BATCH = 128  # boards a step
_RATE, _DECAY = 0.003, 0.1  # learning rate of AdamW at first, which falls to 0; its weight decay


def train(
    examples: MoveExamples,
    parameters: OpponentTraining,
    *,
    progress: Callable[[int, float], None] | None = None,
) -> OpponentModel:
    """Return a model that learned to predict the taken moves.

    Args:
      progress: called after each epoch with its number and the mean loss in nats.
    """
    import torch

    units, epochs, seed = parameters.units, parameters.epochs, parameters.seed
    torch.manual_seed(seed)
    table = torch.nn.EmbeddingBag(FEATURES, units, mode="sum", padding_idx=0)
    torch.nn.init.normal_(table.weight, std=0.05)
    with torch.no_grad():
        table.weight[0] = table.weight[:, 0] = 0.0
    styles = torch.nn.Parameter(torch.randn(1, units).repeat(len(examples.names), 1) / units**0.5)
    with torch.no_grad():
        styles[:, 0] = 1.0
    starts = np.concatenate([[0], np.cumsum(examples.counts)])
    boards, rng = len(examples.counts), np.random.default_rng(seed)
    steps = epochs * -(-boards // BATCH)
    optimiser = torch.optim.AdamW([table.weight, styles], lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for epoch in range(epochs):
        total = 0.0
        order = rng.permutation(boards)
        for begin in range(0, boards, BATCH):
            part = np.sort(order[begin : begin + BATCH])
            loss = _loss(table, styles, examples, starts, part)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            schedule.step()
            total += loss.item() * len(part)
        if progress is not None:
            progress(epoch + 1, total / boards)
    tensors = {"table": table.weight.detach().numpy(), "styles": styles.detach().numpy()}
    return OpponentModel.of_tensors(tensors, examples.names)


def _loss(
    table: torch.nn.EmbeddingBag,
    styles: torch.Tensor,
    examples: MoveExamples,
    starts: NDArray[np.int64],
    part: NDArray[np.int64],
) -> torch.Tensor:
    """Return the mean negative log-likelihood of the taken moves of some boards."""
    import torch

    features = np.concatenate([examples.features[starts[i] : starts[i + 1]] for i in part])
    sums = table(torch.from_numpy(features.astype(np.int64)))
    hidden = torch.cat([sums[:, :1], torch.relu(sums[:, 1:])], dim=1)
    counts = torch.from_numpy(examples.counts[part])
    players = torch.repeat_interleave(torch.from_numpy(examples.styles[part]), counts)
    logits = (hidden * styles[players]).sum(dim=1)
    taken = torch.cumsum(counts, 0) - counts + torch.from_numpy(examples.taken[part])
    groups = torch.repeat_interleave(torch.arange(len(part)), counts)
    greatest = torch.full((len(part),), -torch.inf).scatter_reduce(
        0, groups, logits.detach(), "amax"
    )
    totals = torch.zeros(len(part)).index_add(0, groups, torch.exp(logits - greatest[groups]))
    losses: torch.Tensor = greatest + torch.log(totals) - logits[taken]
    return losses.mean()


# -- measuring -------------------------------------------------------------------------------------

EDGES: Final = (0.0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Bounds of the bins of the calibration."""

_COMPARED = 300  # boards whose values are compared
_FEWEST = 2  # boards of a belief that is measured


@dataclass(frozen=True, slots=True)
class Likelihood:
    """How probable the true board is before the moves of some games, for its player.

    Attributes:
      beliefs: beliefs measured: complete ones of at least two boards.
      even, value, model: mean log-likelihood of the true board in nats: with equal weights, with
        weights by value, and with those that the model carried.
      bins: (n, 3) for each bin of probability from `EDGES`: the number of boards, their mean
        probability, and the share of them that were true.
    """

    beliefs: int
    even: float
    value: float
    model: float
    bins: NDArray[np.float64]

    @property
    def error(self) -> float:
        """The difference between probability and frequency, mean over the weight of the bins."""
        weight = self.bins[:, 0] * self.bins[:, 1]
        gaps = np.abs(self.bins[:, 1] - self.bins[:, 2])
        return float((weight * gaps).sum() / max(1e-300, weight.sum()))

    def to_text(self) -> str:
        """Return the measurement as text of several lines."""
        lines = [
            f"{self.beliefs} beliefs; mean log-likelihood of the true board (nats):",
            f"  equal weights {self.even:.3f}, by value {self.value:.3f}, model {self.model:.3f}",
            f"calibration error {self.error:.3f}",
            f"{'probability':>14} {'boards':>9} {'mean':>7} {'true':>7}",
        ]
        for low, high, (boards, mean, true) in zip(EDGES, EDGES[1:], self.bins, strict=False):
            lines.append(f"{low:>6.3f} - {high:.3f} {boards:9.0f} {mean:7.3f} {true:7.3f}")
        return "\n".join(lines)


def measure(
    histories: Iterable[History],
    model: OpponentModel,
    *,
    limit: int,
    weights: ModelWeights | None = None,
) -> Likelihood:
    """Measure the weights of boards over both players of some games, as `rbc-strong` weighs them.

    A belief of more than `limit` boards ends what is measured of that player.
    """
    weights = weights or ModelWeights()
    scorer = Scorer(make_engine(StrongParameters()))
    rng = np.random.default_rng(0)
    sums, beliefs = np.zeros(3), 0
    bins = np.zeros((len(EDGES) - 1, 3))
    try:
        for history in histories:
            for player in (0, 1):
                scorer.new_game()
                for truth, boards, weighted in _beliefs(
                    history, player, model, limit, weights.carried
                ):
                    chances = blend(weighted, boards, weights.doubt)
                    true = (weighted.boards.rows == truth).all(axis=1)
                    rest = weights.doubt / len(boards)
                    sums += (
                        -np.log(len(boards)),
                        np.log(_chance_by_value(truth, boards, scorer, rng)),
                        np.log(chances[true][0] if true.any() else rest),
                    )
                    beliefs += 1
                    places = np.searchsorted(EDGES, chances, side="left").clip(1) - 1
                    for column, values in enumerate((np.ones(len(true)), chances, true)):
                        bins[:, column] += np.bincount(places, values, len(bins))
    finally:
        scorer.engine.close()
    if not beliefs:
        raise RecordError("the histories have no belief of several boards to measure")
    even, value, carried = (sums / beliefs).tolist()
    bins[:, 1:] /= np.maximum(1.0, bins[:, :1])
    return Likelihood(beliefs, even, value, carried, bins)


def _beliefs(
    history: History, player: int, model: OpponentModel, limit: int, carried: int
) -> Iterator[tuple[Words, BoardSet, WeightedBoards]]:
    """Yield the true board, all possible ones and the weighted ones before each own move."""
    belief = RbcBelief(history.game, player, limit=limit)
    weighted = WeightedBoards(belief.boards, model, capacity=carried, seed=0)
    for state in history.states():
        if (observation := state.observation(player)) is None:
            continue
        count = len(belief.events)
        belief.observe(observation)
        if not belief.complete:
            return
        for event in belief.events[count:]:
            weighted.observe(event, belief.boards)
        moves = not state.is_terminal() and state.current_player() == player
        if moves and not state.senses and len(belief) >= _FEWEST:
            yield state.boards.rows[0], belief.boards, weighted


def _chance_by_value(
    truth: Words, boards: BoardSet, scorer: Scorer, rng: np.random.Generator
) -> float:
    """Return the probability of the true board by values, estimated from some of the others."""
    drawn = boards.sample(_COMPARED, rng).rows
    others = drawn[(drawn != truth).any(axis=1)]
    weights = opponent_weights(np.concatenate([truth[None], others]), scorer, check=CHECK)
    rest = weights[1:].mean() * (len(boards) - 1)
    return float(weights[0] / (weights[0] + rest))

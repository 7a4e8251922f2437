"""A game's tree in sequence form: extracted once, then measured by compiled kernels.

An information set is all that a player has observed when it decides: the sequence of its
observations. A decision that players take at once is a series of hidden ones. Histories are not
kept: those that end with the same pair of sequences (see `kernels.sequence_form`) are one entry of
a sparse matrix of payoffs, weighted by chance.
"""

from __future__ import annotations

import hashlib
import random
from array import array
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from miai.agent import checked_policy
from miai.errors import AgentProtocolError, HiddenInformationError, UnsuitableGameError
from miai.game import Game, Observation, Player, State
from miai.plain import dumps, to_plain

if TYPE_CHECKING:
    from miai.equilibria.kernels.sequence_form import Form

Policy = NDArray[np.float64]
"""Probabilities of all actions of all information sets, (number of slots,) of a tree."""

START: Final = bytes(16)
"""The digest of a player that has observed nothing."""

_PROBES: Final = 50
_CERTAIN: Final = 20.0
"""An unbiased estimate exceeds this multiple of the truth at most one time in as many (Markov)."""
_PROBE_LIMIT: Final = 1e12
_REPORT_EVERY: Final = 1000


def digest_after(digest: bytes, observation: Observation | None) -> bytes:
    """Return the digest of a player's observations with one more, if any, 16 bytes."""
    if (o := observation) is None:
        return digest
    data = to_plain(o.data, what="an observation")
    line = dumps([o.player, o.actor, o.action, data, o.legal_actions, o.actions])
    return hashlib.blake2b(digest + line.encode("ascii"), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class InformationSet:
    """What a player knows when it decides.

    Attributes:
      number: from 0, those of player 0 first.
      player: who decides.
      actions: its legal actions, ascending.
      history: the first of its histories that was met, chance included.
    """

    number: int
    player: int
    actions: tuple[int, ...]
    history: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A game of two players and constant sum, as arrays; made by `extract`.

    Attributes:
      game: the game.
      form: the sequence form.
      actions: (slots,) int64, the action of each slot.
      keys: (information sets, 2) int64, the digest of each one's observations.
      constant: the sum of both players' returns.
      histories: number of histories, those of chance and of the ends included.
      information_sets: by number.
    """

    game: Game
    form: Form
    actions: NDArray[np.int64]
    keys: NDArray[np.int64]
    constant: float
    histories: int
    information_sets: list[InformationSet]

    @property
    def slots(self) -> int:
        """The length of a policy."""
        return len(self.actions)

    def __len__(self) -> int:
        """Return the number of information sets of both players."""
        return len(self.keys)

    @cached_property
    def digest(self) -> str:
        """A digest of game, information sets and payoffs, in hexadecimal."""
        info = self.game.info
        total = hashlib.sha256(dumps([info.name, info.version, self.constant]).encode("ascii"))
        for values in (self.keys, self.actions, *self.form):
            total.update(values.tobytes())
        return total.hexdigest()

    def uniform(self) -> Policy:
        """Return the policy that plays uniformly at random."""
        counts = np.diff(self.form.starts)
        return np.repeat(1.0 / counts, counts)

    def policy_from(self, function: Callable[[InformationSet], Mapping[int, float]]) -> Policy:
        """Return the policy that a function states for each information set.

        Probabilities are divided by their sum. Raises `AgentProtocolError` for what is not a
        policy, with the history.
        """
        rows = []
        for at in self.information_sets:
            try:
                stated = checked_policy(function(at), at.actions)
            except AgentProtocolError as error:
                where = f"player {at.player} after the actions {list(at.history)}"
                raise AgentProtocolError(f"{error}; {where}") from None
            row = np.array([stated.get(action, 0.0) for action in at.actions])
            rows.append(row / row.sum())
        return np.concatenate(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploitability:
    """How far a policy is from an equilibrium.

    Attributes:
      values: each player's expected return if both play the policy.
      best_responses: each player's expected return if it plays its best response to the other's.
    """

    values: tuple[float, float]
    best_responses: tuple[float, float]

    @property
    def nash_conv(self) -> float:
        """The sum of what the players gain by their best responses; 0 in an equilibrium."""
        return sum(self.best_responses) - sum(self.values)

    @property
    def exploitability(self) -> float:
        """The mean of the players' gains: half of `nash_conv`."""
        return self.nash_conv / 2


def _value(tree: Tree, policy: Policy, player: int, *, respond: bool) -> float:
    from miai.equilibria.kernels.sequence_form import evaluate

    work = np.empty((2, tree.slots + 2))
    return tree.constant / 2 + evaluate(tree.form[:], policy, np.int64(player), respond, work)


def expected_values(tree: Tree, policy: Policy) -> tuple[float, float]:
    """Return both players' expected returns if they play a policy."""
    first = _value(tree, policy, 0, respond=False)
    return first, tree.constant - first


def best_response(tree: Tree, policy: Policy, player: int) -> tuple[float, Policy]:
    """Return the value of a best response to a policy, and the policy with it in place.

    Of equally good actions it takes the first.
    """
    response = policy.copy()
    return _value(tree, response, player, respond=True), response


def exploitability(tree: Tree, policy: Policy) -> Exploitability:
    """Return the values of a policy and of the best responses to it."""
    first, second = (best_response(tree, policy, player)[0] for player in range(2))
    return Exploitability(values=expected_values(tree, policy), best_responses=(first, second))


# -- extraction -----------------------------------------------------------------------------------


def extract(
    game: Game,
    *,
    max_histories: int = 5_000_000,
    progress: Callable[[int], None] | None = None,
) -> Tree:
    """Return the tree of a game.

    Args:
      max_histories: maximum number of histories.
      progress: called with the number of histories so far, every thousand.

    Raises:
      UnsuitableGameError: the game has more histories, other than two players or no constant sum;
        or a player forgets: one information set follows different own actions, or the game's text
        for it is that of another.
    """
    info = game.info
    if info.num_players != 2 or info.utility_sum is None:
        counted = "1 player" if info.num_players == 1 else f"{info.num_players} players"
        fault = "no constant sum of returns" if info.num_players == 2 else counted
        raise UnsuitableGameError(
            f"{info.title}: has {fault}; exploitability and equilibria are computed for two "
            "players, of whom one wins what the other loses"
        )
    estimate = estimated_histories(game)
    if estimate > _CERTAIN * max_histories:
        raise _too_large(game, max_histories, estimate, "nothing was extracted")
    walk = _Walk(game, max_histories, progress)
    walk.run()
    if not walk.sets:
        raise UnsuitableGameError(f"{info.title}: players never decide, so there is no policy")
    return walk.tree()


def estimated_histories(game: Game) -> float:
    """Return an unbiased estimate of the number of histories (Knuth 1975), from random games.

    A game whose estimate exceeds 10**12 is not played to the end.
    """
    rng, total = random.Random(0), 0.0
    for _ in range(_PROBES):
        state, ways = game.new_initial_state(), 1.0
        total += ways
        while not state.is_terminal() and ways < _PROBE_LIMIT:
            legal = state.legal_actions()
            ways *= len(legal)
            total += ways
            state.apply_unchecked(rng.choice(legal))
    return total / _PROBES


def _too_large(game: Game, limit: int, estimate: float, reached: str) -> UnsuitableGameError:
    return UnsuitableGameError(
        f"{game.info.title}: its tree has about {estimate:.2g} histories, estimated from "
        f"{_PROBES} random games, and the limit is {limit:,}; {reached}. Choose smaller parameters "
        "of the game or a higher limit"
    )


class _Walk:
    """Visits all histories in depth-first order.

    Until the information sets are sorted, a player's empty sequence is its number less 2, so that
    it counts from the end of an array over sequences.
    """

    def __init__(self, game: Game, limit: int, progress: Callable[[int], None] | None) -> None:
        self.game, self.limit, self.progress = game, limit, progress
        self.count, self.constant = 0, float(game.info.utility_sum or 0.0)
        self.numbers: dict[tuple[int, bytes], int] = {}  # by player and digest
        self.texts: dict[tuple[int, str], int] = {}
        self.sets: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []
        self.parents, self.starts = array("q"), array("q", [0])
        self.firsts, self.seconds, self.payoffs = array("q"), array("q"), array("d")

    def run(self) -> None:
        """Visit all histories. Raises `UnsuitableGameError`."""
        state = self.game.new_initial_state()
        seen = [digest_after(START, state.observation(player)) for player in range(2)]
        stack = [(state, seen, (-2, -1), 1.0)]
        while stack:
            state, digests, sequences, chance = stack.pop()
            self._count()
            actor = state.next_actor()
            if actor == Player.TERMINAL:
                self._end(state, sequences, chance)
                continue
            if actor == Player.CHANCE:
                branches = [(a, sequences, chance * p) for a, p in state.chance_outcomes()]
            else:
                legal = tuple(state.legal_actions())
                start = self._first_slot(state, actor, digests[actor], sequences[actor], legal)
                branches = [
                    (action, (slot, sequences[1]) if actor == 0 else (sequences[0], slot), chance)
                    for slot, action in enumerate(legal, start)
                ]
            for action, reached, probability in reversed(branches):
                child = state.clone()
                child.apply_unchecked(action)
                seen = [digest_after(d, child.observation(p)) for p, d in enumerate(digests)]
                stack.append((child, seen, reached, probability))

    def _count(self) -> None:
        self.count += 1
        if self.count > self.limit:
            estimate = max(estimated_histories(self.game), self.count)
            reached = f"it was reached with {len(self.sets):,} information sets"
            raise _too_large(self.game, self.limit, estimate, reached)
        if self.progress is not None and self.count % _REPORT_EVERY == 0:
            self.progress(self.count)

    def _end(self, state: State, sequences: tuple[int, int], chance: float) -> None:
        first, second = state.returns()
        if abs(first + second - self.constant) > 1e-9:
            raise UnsuitableGameError(
                f"{self.game.info.title}: the returns {first:g} and {second:g} after the actions "
                f"{state.history()} do not sum to {self.constant:g}, as its `utility_sum` says"
            )
        self.firsts.append(sequences[0])
        self.seconds.append(sequences[1])
        self.payoffs.append(chance * (first - self.constant / 2))

    def _first_slot(
        self, state: State, player: int, digest: bytes, sequence: int, legal: tuple[int, ...]
    ) -> int:
        """Return the first slot of the information set of who acts, a new one where needed."""
        number = other = self.numbers.setdefault((player, digest), len(self.sets))
        if number == len(self.sets):
            with suppress(HiddenInformationError):  # it has no text
                text = state.information_state_string(player)
                other = self.texts.setdefault((player, text), number)
            self.sets.append((player, legal, tuple(state.history())))
            self.parents.append(sequence)
            self.starts.append(self.starts[number] + len(legal))
        if other != number or (self.parents[number], self.sets[number][1]) != (sequence, legal):
            what = "observations" if other == number else "text of its information state"
            raise UnsuitableGameError(
                f"{self.game.info.title}: imperfect recall: player {player} has the same {what} "
                f"after the actions {list(self.sets[other][2])} and {state.history()}, though it "
                "has acted or observed differently on the way; exploitability is defined for "
                "players that forget nothing"
            )
        return self.starts[number]

    def tree(self) -> Tree:
        """Return what was visited, with the information sets sorted by player."""
        from miai.equilibria.kernels.sequence_form import Form

        order = np.argsort([player for player, _, _ in self.sets], kind="stable")
        sets = [InformationSet(number, *self.sets[i]) for number, i in enumerate(order)]
        counts, old_starts = np.diff(self.starts)[order], np.array(self.starts)[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        size = starts[-1] + 2
        place = np.arange(size)  # of each old sequence
        place[np.repeat(old_starts - starts[:-1], counts) + place[:-2]] = place[:-2].copy()
        pairs = place[np.array(self.firsts)] * size + place[np.array(self.seconds)]
        pairs, inverse = np.unique(pairs, return_inverse=True)
        payoffs = np.bincount(inverse, weights=np.array(self.payoffs))
        rows, columns = np.divmod(pairs, size)
        both, others = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        by_row = np.lexsort((others, both))
        keys = np.frombuffer(b"".join(digest for _, digest in self.numbers), "<i8")
        return Tree(
            game=self.game,
            form=Form(
                starts=starts,
                parents=place[np.array(self.parents)[order]],
                bounds=np.array([0, sum(at.player == 0 for at in sets), len(sets)]),
                offsets=np.cumsum(np.bincount(both + 1, minlength=size + 1)),
                columns=others[by_row].astype(np.int32),
                payoffs=np.concatenate([payoffs, -payoffs])[by_row],
            ),
            actions=np.array([action for at in sets for action in at.actions]),
            keys=keys.reshape(-1, 2)[order],
            constant=self.constant,
            histories=self.count,
            information_sets=sets,
        )

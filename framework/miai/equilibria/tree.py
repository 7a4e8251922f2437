"""A game's tree in sequence form: extracted once, then measured by compiled kernels.

An information set is all that a player has observed when it decides: the sequence of its
observations. A decision that players take at once is a series of hidden ones. Histories are not
kept: those that end with the same pair of sequences (see `kernels.sequence_form`) are one entry of
a sparse matrix of payoffs, weighted by chance.

A player's information sets are found by following its observations from belief to belief; the
belief of a node is the set of worlds that are possible there. Many nodes are expanded at once: an
*element* is a node with one of its worlds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.agent import checked_policy
from miai.equilibria.kernels.histories import END, NOTHING, Nodes, Worlds
from miai.equilibria.kernels.sequence_form import Form
from miai.equilibria.worlds import GameWorlds, number_worlds
from miai.errors import AgentProtocolError, HiddenInformationError, UnsuitableGameError
from miai.game import Game
from miai.plain import dumps

Policy = NDArray[np.float64]
"""Probabilities of all actions of all information sets, (number of slots,) of a tree."""

START: Final = bytes(16)
"""The digest of a player that has observed nothing."""

_MOST_ENTRIES: Final = 20_000_000
"""Histories that end the game up to which payoffs become a matrix, of 40 bytes an entry."""

_MOST_TEXTS: Final = 100_000
"""Information sets whose texts are compared."""
Ints = NDArray[np.int64]

_BATCH: Final = 1_000_000
"""Elements that are expanded at once, as far as nodes stay whole; some 500 bytes each."""


def digest_after(digest: bytes | bytearray, line: bytes) -> bytes:
    """Return the digest of a player's observations with one more, see `line_of`, 16 bytes."""
    return hashlib.blake2b(digest + line, digest_size=16).digest()


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
      found: its worlds.
      players: the nodes and information sets of both.
      form: the sequence form.
      actions: (slots,) int64, the action of each slot.
      keys: (information sets, 2) int64, the digest of each one's observations.
      constant: the sum of both players' returns.
    """

    game: Game
    found: GameWorlds
    players: tuple[Unfolding, Unfolding]
    form: Form
    actions: NDArray[np.int64]
    keys: NDArray[np.int64]
    constant: float

    @property
    def histories(self) -> int:
        """The number of histories, those of chance and of the ends included."""
        return int(self.found.histories)

    @property
    def is_walked(self) -> bool:
        """Whether its payoffs are too many to keep, so that each policy walks all histories."""
        return not len(self.form.columns)

    @property
    def slots(self) -> int:
        """The length of a policy."""
        return len(self.actions)

    def __len__(self) -> int:
        """Return the number of information sets of both players."""
        return len(self.keys)

    @property
    def information_sets(self) -> Iterator[InformationSet]:
        """The information sets, by number."""
        starts, number = self.form.starts, 0
        for player, unfolding in enumerate(self.players):
            for i in range(len(unfolding.sets)):
                actions = tuple(self.actions[starts[number] : starts[number + 1]].tolist())
                yield InformationSet(number, player, actions, tuple(unfolding.history(i)))
                number += 1

    @cached_property
    def digest(self) -> str:
        """A digest of game, information sets and payoffs, in hexadecimal."""
        info = self.game.info
        total = hashlib.sha256(dumps([info.name, info.version, self.constant]).encode("ascii"))
        for values in (self.keys, self.actions, *self.form, *self.found.worlds):
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


def _gradient(tree: Tree, policy: Policy) -> Policy:
    """Return what each sequence earns its player where it ends the game, (slots + 2,)."""
    from miai.equilibria.kernels.sequence_form import gradient

    reach, values = np.empty(tree.slots + 2), np.empty(tree.slots + 2)
    gradient(tree.form[:], policy, reach, values)
    if tree.is_walked:
        _walk(tree.found, tree.players, reach, values, ends=0)
    return values


def _value(tree: Tree, policy: Policy, values: Policy, player: int, *, respond: bool) -> float:
    from miai.equilibria.kernels.sequence_form import fold

    return tree.constant / 2 + fold(tree.form[:], policy, values, np.int64(player), respond)


def expected_values(tree: Tree, policy: Policy) -> tuple[float, float]:
    """Return both players' expected returns if they play a policy."""
    first = _value(tree, policy, _gradient(tree, policy), 0, respond=False)
    return first, tree.constant - first


def best_response(tree: Tree, policy: Policy, player: int) -> tuple[float, Policy]:
    """Return the value of a best response to a policy, and the policy with it in place.

    Of equally good actions it takes the first.
    """
    response = policy.copy()
    return _value(tree, response, _gradient(tree, policy), player, respond=True), response


def exploitability(tree: Tree, policy: Policy) -> Exploitability:
    """Return the values of a policy and of the best responses to it."""
    values = _gradient(tree, policy)
    first = _value(tree, policy, values.copy(), 0, respond=False)
    best = [_value(tree, policy.copy(), values, player, respond=True) for player in range(2)]
    return Exploitability(values=(first, tree.constant - first), best_responses=(best[0], best[1]))


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
      progress: called with the number of worlds so far, every thousand.

    Raises:
      UnsuitableGameError: the game has more histories, other than two players, no constant sum or
        no end; or a player forgets: one information set follows different own actions, or the
        game's text for it is that of another.
    """
    info = game.info
    if info.num_players != 2 or info.utility_sum is None:
        counted = "1 player" if info.num_players == 1 else f"{info.num_players} players"
        fault = "no constant sum of returns" if info.num_players == 2 else counted
        raise UnsuitableGameError(
            f"{info.title}: has {fault}; exploitability and equilibria are computed for two "
            "players, of whom one wins what the other loses"
        )
    found = number_worlds(game, max_histories, progress)
    players = []
    for player, start in enumerate(found.start):
        try:
            players.append(Unfolding(found.worlds, player, start))
        except ForgottenError as error:
            raise _forgets(game, player, "observations", *error.histories) from None
    if not any(len(player.sets) for player in players):
        raise UnsuitableGameError(f"{info.title}: players never decide, so there is no policy")
    tree = _assembled(game, found, players)
    _check_texts(tree)
    return tree


def _assembled(game: Game, found: GameWorlds, players: Sequence[Unfolding]) -> Tree:
    """Return the tree of a game from its worlds and what its players observe of them."""
    first, second = players
    shift, slots = len(first.actions), len(first.actions) + len(second.actions)
    parents = [
        np.where(player.sequences < 0, slots + number, player.sequences + number * shift)
        for number, player in enumerate(players)
    ]
    second.nodes.slots[second.nodes.slots >= 0] += shift
    sets = [len(first.sets), len(second.sets)]
    form = Form(
        starts=np.append(first.starts, second.starts[1:] + shift),
        parents=np.concatenate(parents),
        bounds=np.cumsum([0, *sets]),
        offsets=np.zeros(slots + 3, np.int64),
        columns=np.empty(0, np.int32),
        payoffs=np.empty(0),
    )
    if found.ends <= _MOST_ENTRIES:
        form = _with_payoffs(form, found, players)
    return Tree(
        game=game,
        found=found,
        players=(first, second),
        form=form,
        actions=np.concatenate([first.actions, second.actions]),
        keys=np.concatenate([_digests(found, player) for player in players]),
        constant=float(game.info.utility_sum or 0.0),
    )


def _with_payoffs(form: Form, found: GameWorlds, players: Sequence[Unfolding]) -> Form:
    """Return a form with the payoffs of all pairs of sequences, the same pairs added up."""
    size = form.starts[-1] + 2
    work = np.ones(size)  # a policy that plays everything
    firsts, seconds, payoffs = _walk(found, players, work, work, ends=int(found.ends))
    pairs, inverse = np.unique(firsts * size + seconds, return_inverse=True)
    sums = np.bincount(inverse, weights=payoffs)
    rows, columns = np.divmod(pairs, size)
    both, others = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    by_row = np.lexsort((others, both))
    return form._replace(
        offsets=np.cumsum(np.bincount(both + 1, minlength=size + 1)),
        columns=others[by_row].astype(np.int32),
        payoffs=np.concatenate([sums, -sums])[by_row],
    )


def _walk(
    found: GameWorlds, players: Sequence[Unfolding], reach: Policy, values: Policy, *, ends: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Call `kernels.histories.walk`; return what it writes of histories, if any are `ends`."""
    from miai.equilibria.kernels.histories import walk

    written = np.empty(ends, np.int64), np.empty(ends, np.int64), np.empty(ends)
    frames, chances = np.empty((found.longest + 1, 7), np.int64), np.empty(found.longest + 1)
    first, second = (player.nodes[:] for player in players)
    walk(found.worlds[:], first, second, reach, values, written, frames, chances)
    return written


def _digests(found: GameWorlds, player: Unfolding) -> NDArray[np.int64]:
    """Return the digests of a player's information sets, (m, 2)."""
    digests = bytearray()  # of 20 million nodes
    for parent, seen in zip(player.parents, player.nodes.seen, strict=True):
        before = digests[16 * parent : 16 * parent + 16] or START
        digests += digest_after(before, found.lines[seen]) if seen >= 0 else before
    keys: NDArray[np.int64] = np.frombuffer(digests, "<i8").reshape(-1, 2)[player.sets]
    return keys


def _check_texts(tree: Tree) -> None:
    """Raise `UnsuitableGameError` if the game's texts take information sets for one."""
    met: dict[tuple[int, str], InformationSet] = {}
    for at in islice(tree.information_sets, _MOST_TEXTS):
        state = tree.game.new_initial_state()
        for action in at.history:
            state.apply_unchecked(action)
        with suppress(HiddenInformationError):  # it has no text
            text = state.information_state_string(at.player)
            if (other := met.setdefault((at.player, text), at)) is not at:
                what = "text of its information state"
                raise _forgets(tree.game, at.player, what, other.history, at.history)


def _forgets(
    game: Game, player: int, what: str, first: Sequence[int], second: Sequence[int]
) -> UnsuitableGameError:
    return UnsuitableGameError(
        f"{game.info.title}: imperfect recall: player {player} has the same {what} after the "
        f"actions {list(first)} and {list(second)}, though it has acted or observed differently "
        "on the way; exploitability is defined for players that forget nothing"
    )


# -- from belief to belief ------------------------------------------------------------------------


class ForgottenError(Exception):
    """A player forgets: two histories lead to one information set, but to different own actions.

    Attributes:
      histories: the two.
    """

    def __init__(self, *histories: list[int]) -> None:
        super().__init__(*histories)
        self.histories = histories


class _Elements(NamedTuple):
    """Elements, a column each.

    Attributes:
      node, world: numbers.
      sequence: the slot that the player took last, or `NOTHING`.
      step: the last step of a history that leads there, or `NOTHING`.
    """

    node: Ints
    world: Ints
    sequence: Ints
    step: Ints

    def rows(self, which: Any) -> _Elements:
        return _Elements(*(column[which] for column in self))


class _Column:
    """An array to which rows are added."""

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._rows, self._size = np.empty((1024, *shape), dtype), 0

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> NDArray[Any]:
        return self._rows[: self._size]

    def add(self, rows: NDArray[Any]) -> None:
        size = self._size + len(rows)
        if size > len(self._rows):
            larger = np.empty((2 * size, *self._rows.shape[1:]), self._rows.dtype)
            larger[: self._size] = self.rows
            self._rows = larger
        self._rows[self._size : size] = rows
        self._size = size


class Unfolding:
    """The n nodes and m information sets of a player, each numbered after those before it.

    Raises `ForgottenError`.

    Attributes:
      nodes: the nodes.
      parents: (n,) the node before each.
      sets: (m,) the node of each information set.
      sequences: (m,) the slot that the player took last, or `NOTHING`.
      starts: (m + 1,) the first slot of each information set.
      actions: (slots,) the action of each slot.
    """

    def __init__(self, worlds: Worlds, player: int, start: int) -> None:
        self._worlds, self._player = worlds, player
        self._seen, self._parents = _Column(np.int32), _Column(np.int32)
        self._children, self._slots = _Column(np.int32, 2), _Column(np.int32)
        self._sets, self._sequences = _Column(np.int32), _Column(np.int64)
        self._starts, self._firsts = _Column(np.int64), _Column(np.int64, 2)  # world, step
        self._steps = _Column(np.int32, 2)  # the step before, an edge
        self._menus, self._width = _menus(worlds), np.max(worlds.seen, initial=0) + 2
        self._starts.add(np.zeros(1, np.int64))
        zero, nothing = np.zeros(1, np.int64), np.full(1, NOTHING)
        self._add_nodes(nothing, np.full(1, start))
        waiting, room = [_Elements(zero, zero, nothing, nothing)], _BATCH
        while waiting:
            if len(self._steps) > room:
                waiting = self._forget_steps(waiting)
                room = 2 * len(self._steps) + _BATCH
            children = self._expand(waiting.pop())
            begins = np.flatnonzero(np.diff(children.node, prepend=NOTHING))
            places = np.arange(0, len(children.node), _BATCH)
            cuts = np.unique(begins[np.searchsorted(begins, places, "right") - 1])
            ends = np.append(cuts, len(children.node))[1:]
            batches = [children.rows(slice(*ends)) for ends in zip(cuts, ends, strict=True)]
            waiting += batches[::-1]
        self.nodes = Nodes(self._seen.rows, self._children.rows, self._slots.rows)
        self.parents, self.sets, self.sequences = (
            column.rows for column in (self._parents, self._sets, self._sequences)
        )
        self.starts = self._starts.rows
        self._forget_steps([])
        self.actions = worlds.actions[self._edges_of(self._firsts.rows[:, 0])[1]]

    def _forget_steps(self, waiting: list[_Elements]) -> list[_Elements]:
        """Forget steps on no way to an information set or a waiting element, which it returns."""
        before, edge = self._steps.rows.T
        on_a_way = np.zeros(len(before), np.bool_)
        steps = np.concatenate([self._firsts.rows[:, 1], *(batch.step for batch in waiting)])
        while len(steps := np.unique(steps[steps != NOTHING])):
            on_a_way[steps] = True
            steps = before[steps]
            steps = steps[~on_a_way[steps]]
        numbers = np.append(np.cumsum(on_a_way) - 1, NOTHING)  # that of NOTHING is the last
        self._steps = _Column(np.int32, 2)
        self._steps.add(np.stack([numbers[before[on_a_way]], edge[on_a_way]], axis=1))
        self._firsts.rows[:, 1] = numbers[self._firsts.rows[:, 1]]
        return [batch._replace(step=numbers[batch.step]) for batch in waiting]

    def history(self, number: int) -> list[int]:
        """Return the actions of a history that leads to an information set."""
        return self._history(self._firsts.rows[number, 1])

    def _history(self, step: int) -> list[int]:
        actions = []
        while step != NOTHING:
            step, edge = self._steps.rows[step]
            actions.append(int(self._worlds.actions[edge]))
        return actions[::-1]

    def _edges_of(self, world: Ints) -> tuple[Ints, Ints]:
        """Return the edges of worlds in turn: the place of the world, and the edge."""
        begin, end = self._worlds.edges[world].T
        counts = end - begin
        place = np.repeat(np.arange(len(world)), counts)
        offsets = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
        return place, begin[place] + offsets

    def _add_nodes(self, parents: Ints, seen: Ints) -> None:
        self._parents.add(parents)
        self._seen.add(seen)
        self._children.add(np.zeros((len(seen), 2)))
        self._slots.add(np.full(len(seen), NOTHING))

    def _expand(self, batch: _Elements) -> _Elements:
        """Return the elements of the nodes that follow, which it numbers, sorted by node."""
        found = []
        while len(batch.node):  # it is followed by what happens unobserved
            self._decide(batch)
            place, edge = self._edges_of(batch.world)
            world, child = batch.world[place], self._worlds.children[edge]
            first, acts = self._worlds.edges[world, 0], self._worlds.actors[world] == self._player
            node, sequence = batch.node[place], batch.sequence[place]
            sequence = np.where(acts, self._slots.rows[node] + edge - first, sequence)
            seen = self._worlds.seen[self._player, edge]
            columns = np.stack([node, seen, child, sequence, batch.step[place], edge])
            columns = columns[:, self._worlds.actors[child] != END]
            observed = columns[1] != NOTHING
            found.append(columns[:, observed])
            node, _, *rest = self._distinct(columns[:, ~observed])
            batch = _Elements(node, *rest)
        node, seen, *rest = self._distinct(np.hstack(found))
        new = (np.diff(node, prepend=NOTHING) != 0) | (np.diff(seen, prepend=NOTHING) != 0)
        numbers, parents = len(self._parents) + np.cumsum(new) - 1, node[new]
        begin = np.flatnonzero(np.diff(parents, prepend=NOTHING))
        ranges = np.stack([begin, np.append(begin, len(parents))[1:]], axis=1) + len(self._parents)
        self._children.rows[parents[begin]] = ranges
        self._add_nodes(parents, seen[new])
        return _Elements(numbers, *rest)

    def _distinct(self, columns: Ints) -> tuple[Ints, ...]:
        """Return node, observation, world, sequence and step of elements, each once and sorted."""
        node, seen, world, sequence = columns[:4]
        # Two keys are sorted in half the time of four.
        keys = np.stack([world * (self._starts.rows[-1] + 1) + sequence, node * self._width + seen])
        order = np.lexsort(keys)
        new = (np.diff(keys[:, order], prepend=-2) != 0).any(axis=0)
        node, seen, world, sequence, before, edge = columns[:, order[new]]
        step = len(self._steps) + np.arange(len(node))
        self._steps.add(np.stack([before, edge], axis=1))
        return node, seen, world, sequence, step

    def _decide(self, batch: _Elements) -> None:
        """Give the nodes of a batch, at which the player decides, their information sets."""
        acting = batch.rows(self._worlds.actors[batch.world] == self._player)
        new = acting.rows(self._slots.rows[acting.node] == NOTHING)
        new = new.rows(np.unique(new.node, return_index=True)[1])
        counts = np.diff(self._worlds.edges[new.world])[:, 0]
        ends = self._starts.rows[-1] + np.cumsum(counts)
        self._slots.rows[new.node] = ends - counts
        self._starts.add(ends)
        self._sets.add(new.node)
        self._sequences.add(new.sequence)
        self._firsts.add(np.stack([new.world, new.step], axis=1))
        number = np.searchsorted(self._starts.rows, self._slots.rows[acting.node])
        same = self._sequences.rows[number] == acting.sequence
        same &= self._menus[acting.world] == self._menus[self._firsts.rows[number, 0]]
        for wrong in np.flatnonzero(~same):
            raise ForgottenError(self.history(number[wrong]), self._history(acting.step[wrong]))


def _menus(worlds: Worlds) -> Ints:
    """Return a number for the actions of each world, (w,); equal actions have equal numbers."""
    numbers: dict[bytes, int] = {}
    texts = (worlds.actions[begin:end].tobytes() for begin, end in worlds.edges)
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts])

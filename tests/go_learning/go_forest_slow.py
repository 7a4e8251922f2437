"""A tree search on objects, written from the definitions, to hold the compiled forest against.

Also what the tests of forests share: valuers that know a number for every position, and roots at
states of the game.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import forest as fields
from miai_go.kernels import trail
from miai_go.kernels import uct as statuses
from miai_go.nets.encoder import Positions, trail_of
from miai_go.rules.board import Board, KoRule, history_key
from miai_go.rules.chains import fills_eye
from miai_go.rules.game import GoGame, GoState
from miai_go.search.forest import Forest, ForestRoot, TreeSettings

Judge = Callable[[bytes, int, int], tuple[NDArray[np.float32], float]]
"""Stones (int8, row by row), who moves (0 Black), last action (-1 none) -> logits, value."""

ONE = np.zeros(1, np.int32)
WON, LOST, OPEN, FORBIDDEN = "won", "lost", "open", "forbidden"


class Judged:
    """A valuer of leaves that asks a `Judge` about each.

    Attributes:
      batches: how many leaves each call had.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.batches: list[int] = []

    def value_leaves(self, leaves: Positions) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        self.batches.append(len(leaves))
        found = [
            self._judge(
                leaves.board(row).stones().tobytes(),
                int(leaves.colors()[row]) - 1,
                int(leaves.trails[row, trail.LAST]),
            )
            for row in range(len(leaves))
        ]
        return np.stack([f[0] for f in found]), np.array([f[1] for f in found], np.float32)


def random_judge(size: int, *, seed: int, spread: float = 1.0) -> Judge:
    """Return a judge whose logits and values are random, but fixed for every position."""

    def judge(stones: bytes, color: int, last: int) -> tuple[NDArray[np.float32], float]:
        rng = np.random.default_rng((zlib.crc32(stones), color, last + 1, seed))
        logits = rng.normal(0, spread, size * size + 1).astype(np.float32)
        return logits, float(np.float32(rng.uniform(-1, 1)))

    return judge


def root_of(state: GoState) -> ForestRoot:
    superko = state.game.ko_rule != KoRule.SIMPLE
    return ForestRoot(
        board=state.board,
        trail=trail_of(state),
        komi=state.game.white_bonus,
        passes=state.passes,
        history=state.positions()[:-1] if superko else (),
        ko_rule=state.game.ko_rule,
        suicide=state.game.rules.suicide,
    )


def random_state(game: GoGame, moves: int, rng: np.random.Generator) -> GoState:
    """Return a state after random legal moves, no two passes among them."""
    state = game.new_initial_state()
    for _ in range(moves):
        legal = [a for a in state.legal_actions() if a != game.pass_action or not state.passes]
        if not legal:
            break
        state.apply_action(int(rng.choice(legal)))
    return state


# -- the slow tree --------------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A move and what is known of it; `total` is from the view of who made it."""

    action: int = -1
    prior: float = 0.0
    visits: int = 0
    pending: int = 0
    total: float = 0.0
    status: str = OPEN
    own_value: float | None = None
    children: list[Node] = field(default_factory=list)

    def q(self) -> float:
        return self.total / self.visits


@dataclass(eq=False)
class Line:
    """The way from the root to a node, and the position there."""

    nodes: list[Node]
    board: Board
    color: int
    passes: int
    seen: list[int]
    last: int

    def wait(self, change: int) -> None:
        """Count the line's nodes as pending once more, or once less."""
        for node in self.nodes:
            node.pending += change


class SlowTree:
    """One tree; see the fields of `TreeSettings` and `Root` for what it is told."""

    def __init__(self, state: GoState, settings: TreeSettings, judge: Judge, leaves: int) -> None:
        self.state = state
        self.size = state.game.size
        self.settings = settings
        self.judge = judge
        self.leaves = leaves
        self.root = Node()
        self.noise = [0.0] * (self.size**2 + 1)
        self._expand(self._start())

    def search(self, budget: int) -> int:
        """Run simulations, `leaves` of them at a time; return how many."""
        done = 0
        self._forbid_repeats()
        self._plan = self._visits_before(budget)
        while done < budget and self.root.status == OPEN:
            batch: list[Line] = []
            clashes: list[Line] = []
            while len(batch) < self.leaves and done < budget and self.root.status == OPEN:
                line = self._descend(done)
                node = line.nodes[-1]
                if node.pending and not node.children:
                    if self.settings.gumbel or len(clashes) == self.leaves:
                        break
                    line.wait(1)
                    clashes.append(line)
                    continue
                done += 1
                if not self._count_known(line):
                    line.wait(1)
                    batch.append(line)
                self._prove(line)
            for line in clashes:
                line.wait(-1)
            for line in batch:
                line.wait(-1)
                self._expand(line)
        return done

    def _forbid_repeats(self) -> None:
        """Forbid at once what superko forbids at the root; below, when it is come upon."""
        for child in self.root.children:
            if self._repeats(self._start(), child):
                child.status, child.prior = FORBIDDEN, 0.0
        total = sum(child.prior for child in self.root.children)
        for child in self.root.children:
            child.prior /= total

    def _count_known(self, line: Line) -> bool:
        """Count a simulation whose value is known without asking; return whether it is."""
        node = line.nodes[-1]
        if node.status != OPEN:
            self._back_up(line, 1.0 if node.status == LOST else -1.0)
        elif line.passes == 2 and len(line.nodes) > 1:
            result = self._result(line)
            self._back_up(line, result)
            if result and not self.settings.score_weight:
                node.status = LOST if result > 0 else WON
        elif node.own_value is not None:
            self._back_up(line, node.own_value)
        else:
            return False
        return True

    # -- a simulation -----------------------------------------------------------------------------

    def _start(self) -> Line:
        state = self.state
        seen = [int(key) for key in root_of(state).history]
        seen.append(history_key(state.board.hash, state.to_move, state.game.ko_rule))
        last = -1 if state.last_action is None else state.last_action
        return Line([self.root], state.board.copy(), state.to_move, state.passes, seen, last)

    def _descend(self, done: int) -> Line:
        line = self._start()
        node = self.root
        while node.children and node.status == OPEN:
            child = self._select(node, line, done)
            if not child.visits and not child.pending and self._repeats(line, child):
                child.status, child.prior = FORBIDDEN, 0.0
                continue
            self._play(line, child)
            node = child
        return line

    def _repeats(self, line: Line, child: Node) -> bool:
        rule = self.state.game.ko_rule
        if rule == KoRule.SIMPLE or child.action == self.size**2:
            return False
        after = line.board.copy()
        after.play_unchecked(line.color, child.action)
        return history_key(after.hash, 1 - line.color, rule) in line.seen

    def _play(self, line: Line, child: Node) -> None:
        line.board.play(line.color, child.action, suicide=self.state.game.rules.suicide)
        line.color = 1 - line.color
        line.passes = line.passes + 1 if child.action == self.size**2 else 0
        line.seen.append(history_key(line.board.hash, line.color, self.state.game.ko_rule))
        line.last = child.action
        line.nodes.append(child)

    def _result(self, line: Line) -> float:
        """Return the worth for the player to move, by area as the board lies.

        Without a weight of the score that is 1, 0 or -1.
        """
        owners = line.board.owners()
        margin = float((owners == 1).sum() - (owners == -1).sum()) - self.state.game.white_bonus
        share = self.settings.score_weight
        black = float(np.sign(margin)) * (1 - share) + math.tanh(margin / self.size) * share
        return black if line.color == 0 else -black

    def _expand(self, line: Line) -> None:
        node = line.nodes[-1]
        stones = line.board.stones()
        logits, value = self.judge(stones.tobytes(), line.color, line.last)
        node.own_value = value
        if len(line.nodes) <= self.settings.depth:
            flat = stones.ravel().tolist()
            suicide = self.state.game.rules.suicide
            for action in range(self.size**2):
                if not line.board.is_legal(line.color, action, suicide=suicide):
                    continue
                if not fills_eye(flat, action, line.color + 1):
                    node.children.append(Node(action))
            node.children.append(Node(self.size**2))
            powers = [math.exp(float(logits[child.action])) for child in node.children]
            for child, power in zip(node.children, powers, strict=True):
                child.prior = power / sum(powers)
        self._back_up(line, value)

    def _back_up(self, line: Line, value: float) -> None:
        """Add the value for the player to move at the line's end to every node above."""
        for node in reversed(line.nodes):
            value = -value  # the player who moved to a node is not the one to move there
            node.visits += 1
            node.total += value

    def _prove(self, line: Line) -> None:
        for parent, child in zip(reversed(line.nodes[:-1]), reversed(line.nodes), strict=False):
            if child.status == WON:
                parent.status = LOST
            elif all(c.status in (LOST, FORBIDDEN) for c in parent.children):
                parent.status = WON

    # -- selection --------------------------------------------------------------------------------

    def _select(self, node: Node, line: Line, done: int) -> Node:
        candidates = [child for child in node.children if child.status in (OPEN, WON)]
        candidates = candidates or [child for child in node.children if child.status == LOST]
        if not self.settings.gumbel:
            return max(candidates, key=lambda child: self._puct(node, child))
        scores = {id(child): score for child, score in self._scores(node)}
        if len(line.nodes) == 1:
            wanted = self._plan[done]
            off = min(abs(c.visits + c.pending - wanted) for c in candidates)
            among = [c for c in candidates if abs(c.visits + c.pending - wanted) == off]
            numbers = {id(child): k for k, child in enumerate(node.children)}
            return max(among, key=lambda c: self.noise[numbers[id(c)]] + scores[id(c)])
        highest = max(scores.values())
        powers = {key: math.exp(score - highest) for key, score in scores.items()}
        total = sum(powers.values())
        visits = sum(child.visits + child.pending for child in node.children)

        def lag(child: Node) -> float:
            return powers[id(child)] / total - (child.visits + child.pending) / (1 + visits)

        return max(candidates, key=lag)

    def _puct(self, node: Node, child: Node) -> float:
        """Q + U of AlphaZero, with first-play urgency as a reduction (as in Leela Zero)."""
        s = self.settings
        here = node.visits + node.pending
        rate = s.c_puct
        if s.c_base:
            rate += math.log((here + s.c_base + 1) / s.c_base)
        tries = child.visits + child.pending
        bonus = rate * child.prior * math.sqrt(here) / (1 + tries)
        if node is self.root and 0 < tries < math.sqrt(s.forced * child.prior * here):
            bonus += 1000
        if child.visits > 0:
            return child.total / child.visits + bonus
        reduction = s.root_fpu if node is self.root else s.fpu
        tried = sum(c.prior for c in node.children if c.visits + c.pending)
        return -node.q() - reduction * math.sqrt(tried) + bonus

    def _scores(self, node: Node) -> list[tuple[Node, float]]:
        """Return log prior + sigma(completed value) for each move that is not forbidden."""
        s = self.settings
        tried = [child for child in node.children if child.visits]
        assert node.own_value is not None
        unknown = node.own_value
        if tried:
            visits = sum(child.visits for child in tried)
            mean = sum(c.prior * c.q() for c in tried) / sum(c.prior for c in tried)
            unknown = (unknown + visits * mean) / (1 + visits)
        max_visits = max(child.visits for child in node.children)
        out = []
        for child in node.children:
            value = child.q() if child.visits else unknown
            value = {WON: 1.0, LOST: -1.0}.get(child.status, value)
            sigma = (s.c_visit + max_visits) * s.c_scale * (value + 1) / 2
            if child.status != FORBIDDEN:
                out.append((child, math.log(child.prior) + sigma))
        return out

    def improved_policy(self) -> NDArray[np.float64]:
        """Return softmax(log prior + sigma(completed value)) over all actions."""
        out = np.zeros(self.size**2 + 1)
        scores = self._scores(self.root)
        highest = max(score for _, score in scores)
        for child, score in scores:
            out[child.action] = math.exp(score - highest)
        total: float = out.sum()
        return out / total

    def _visits_before(self, budget: int) -> list[int]:
        """Return how often the move of each simulation at the root was visited before.

        Sequential halving, told with rounds and survivors: in each of the log2 rounds the
        survivors share their part of the budget; then the better half of them goes on.
        """
        moves = sum(child.status in (OPEN, WON) for child in self.root.children)
        survivors = min(self.settings.gumbel, moves)
        if survivors <= 1:
            return list(range(budget))
        rounds = math.ceil(math.log2(survivors))
        plan: list[int] = []
        visited = 0
        while len(plan) < budget:
            for _ in range(max(1, budget // (rounds * survivors))):
                plan += [visited] * survivors
                visited += 1
            survivors = max(2, survivors // 2)
        return plan[:budget]


# -- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What is written of one node."""

    visits: int
    pending: int
    status: str
    total: float
    prior: float


def slow_nodes(tree: SlowTree) -> dict[tuple[int, ...], Seen]:
    """Return all nodes of a slow tree by the actions that lead to them."""

    def walk(node: Node, way: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Seen]]:
        yield way, Seen(node.visits, node.pending, node.status, node.total, node.prior)
        for child in node.children:
            yield from walk(child, (*way, child.action))

    return dict(walk(tree.root, ()))


_STATUS = {
    statuses.OPEN: OPEN,
    statuses.WON: WON,
    statuses.LOST: LOST,
    statuses.FORBIDDEN: FORBIDDEN,
}


def nodes_of(forest: Forest, game: int = 0) -> dict[tuple[int, ...], Seen]:
    """Return all nodes of a forest's tree by the actions that lead to them."""
    ints, floats = forest._ints[game], forest._floats[game]

    def walk(node: int, way: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Seen]]:
        yield (
            way,
            Seen(
                int(ints[fields.VISITS, node]),
                int(ints[fields.PENDING, node]),
                _STATUS[int(ints[fields.STATUS, node])],
                float(floats[fields.TOTAL, node]),
                float(floats[fields.PRIOR, node]),
            ),
        )
        block = forest.tree(game).children(node)
        actions = forest.tree(game).actions(node).tolist()
        for child, action in zip(range(block.start, block.stop), actions, strict=True):
            yield from walk(child, (*way, action))

    return dict(walk(0, ()))


Nodes = dict[tuple[int, ...], Seen]


def same_nodes(found: Nodes, wanted: Nodes) -> list[str]:
    """Return how two trees differ, in words; nothing where they agree."""
    out = [f"only in one: {way}" for way in sorted(found.keys() ^ wanted.keys())[:3]]
    for way in found.keys() & wanted.keys():
        a, b = found[way], wanted[way]
        close = math.isclose(a.total, b.total, abs_tol=1e-6)
        close = close and math.isclose(a.prior, b.prior, rel_tol=1e-6, abs_tol=1e-9)
        if (a.visits, a.pending, a.status) != (b.visits, b.pending, b.status) or not close:
            out.append(f"{way}: {a} and {b}")
    return out[:5]

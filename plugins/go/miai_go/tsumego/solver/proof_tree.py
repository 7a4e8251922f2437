"""A proof as a tree, in memory and as SGF: one proved move for the winner, all moves for the loser.

Where the attacker succeeds, no line may repeat a position, because a winning move need not make
progress. Lines are followed to their ends; where one repeats, another winning move is tried, and
the move nearest to the end never repeats. Where the defender succeeds, any move to a safe position
will do, and a repetition ends the line.

The tree has the same depth everywhere, as deep as its limit of nodes allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from time import perf_counter
from typing import Any, Final

from miai_go.errors import ProblemError
from miai_go.rules.board import COLOR_NAMES
from miai_go.rules.coordinates import vertex
from miai_go.sgf.writing import set_move, set_text
from miai_go.tsumego.problem_sgf import Problem, problem_file
from miai_go.tsumego.solver.prover import (
    SUCCESS,
    Finding,
    Master,
    ProofVerdict,
    Prover,
    ZonePosition,
)
from miai_go.tsumego.zones import ATTACKER, DEFENDER

MAX_TREE_NODES: Final = 2_000
_MAX_DEPTH: Final = 150
"""Maximum length of a line, which also bounds the recursion."""
_ASK_SECONDS: Final = 2.0


class LineEnd(Enum):
    """Why a line of a proof ends."""

    CAPTURED = "the target is captured"
    ATARI = "the target is in atari and the attacker is to move"
    ALIVE = "the target lives unconditionally"
    REPEATED = "the line repeats a position, and play without end is safe"
    NO_MOVE = "the attacker has no move left"
    SHOWN = "the same position is shown elsewhere"
    CUT = "the tree is cut here"


def board_ending(prover: Prover, place: ZonePosition) -> LineEnd | None:
    """Return why a line ends if the board alone shows it, otherwise None."""
    settled = prover.settled(place)
    if settled == ProofVerdict.PREVENTED:
        return LineEnd.ALIVE
    if settled == ProofVerdict.REACHED:
        return LineEnd.CAPTURED if place.side == DEFENDER else LineEnd.ATARI
    return None


@dataclass(slots=True, eq=False)
class ProofNode:
    """A position of a proof.

    Attributes:
      place: the position, with the side to move.
      move: the move that led to it, a point of the board, `size * size` for the pass; None at the
        root.
      nodes: positions searched to prove it, in addition to earlier results.
      ending: why the line ends here; None if it continues.
      shown: with `SHOWN`, the moves to the node that shows the position, points of the board.
      children: the nodes that follow.
    """

    place: ZonePosition
    move: int | None
    nodes: int = 0
    ending: LineEnd | None = None
    shown: tuple[int, ...] = ()
    children: list[ProofNode] = field(default_factory=list)

    def walk(self) -> Iterator[ProofNode]:
        """Yield this node and all below it."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(node.children)


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A tree that proves who succeeds.

    Attributes:
      prover: the prover that gave the verdicts.
      verdict: whether the capture is forced or prevented.
      root: the starting position.
      count: number of nodes in the tree.
      cut: whether a line was cut.
    """

    prover: Prover
    verdict: ProofVerdict
    root: ProofNode
    count: int
    cut: bool


def proof_tree(
    prover: Prover, first: int, *, nodes: int = MAX_TREE_NODES, seconds: float | None = 30.0
) -> Proof:
    """Return a proof, by a prover whose goal is capture, with the side `first` moving first.

    Args:
      nodes: maximum number of nodes in the tree.
      seconds: time limit in all, repeated proofs included.

    Raises:
      ProblemError: the question is not solved within the time.
    """
    grower = _Grower(prover, max_nodes=nodes, seconds=seconds)
    place = prover.begin(first)
    verdict = grower.verdict(place)
    if verdict is None:
        raise ProblemError("there is no proof to show: the problem is unsolved; allow more time")
    # Deeper and deeper until the limit, so that a cut tree is equally deep everywhere. The prover
    # has its proofs in the table, and findings are kept, so growing again is cheap.
    best = ProofNode(place, None, nodes=grower.find(place).nodes, ending=LineEnd.CUT)
    for depth in range(1, _MAX_DEPTH):
        root = grower.grow(place, verdict, depth)
        if root is None:
            break
        best = root
        if not grower.cut:
            return Proof(prover, verdict, best, grower.count, cut=False)
    return Proof(prover, verdict, best, sum(1 for _ in best.walk()), cut=True)


class _TooManyError(Exception):
    """The tree exceeds its limit of nodes or time."""


class _Grower:
    """Builds trees of increasing depth, and caches the prover's findings."""

    def __init__(self, prover: Prover, *, max_nodes: int, seconds: float | None) -> None:
        self._prover = prover
        self._max_nodes = max_nodes
        self._ends = None if seconds is None else perf_counter() + seconds
        self._findings: dict[ZonePosition, Finding] = {}
        self._moves_of = cache(prover.moves)
        self._complete: dict[ZonePosition, tuple[int, ...]] = {}
        self._verdict = ProofVerdict.UNSOLVED
        self._line: list[int | None] = []
        self._over: set[ZonePosition] = set()
        self.count = 0
        self.cut = False

    def grow(self, place: ZonePosition, verdict: ProofVerdict, depth: int) -> ProofNode | None:
        """Return the tree of a depth, or None if it exceeds a limit."""
        self._verdict = verdict
        self._complete.clear()
        self._line.clear()
        self._over.clear()
        self.count, self.cut = 0, False
        try:
            return self._node(place, None, depth)
        except _TooManyError:
            return None

    def verdict(self, place: ZonePosition) -> ProofVerdict | None:
        """Return the prover's verdict, or None if it finds none in time."""
        verdict = self.find(place).verdict
        return None if verdict == ProofVerdict.UNSOLVED else verdict

    def _node(self, place: ZonePosition, move: int | None, depth: int) -> ProofNode | None:
        """Return the tree below a position, or None if a line that must end repeats."""
        node = ProofNode(place, None if move is None else self._prover.zone.point(move))
        repeated = place in self._over
        # A proof of capture must make progress; its caller tries another winning move.
        if repeated and self._verdict == ProofVerdict.REACHED:
            return None
        self.count += 1
        if self.count > self._max_nodes or (self._ends is not None and perf_counter() > self._ends):
            raise _TooManyError
        node.ending = LineEnd.REPEATED if repeated else board_ending(self._prover, place)
        if node.ending is not None:
            return node
        if place in self._complete:
            node.ending, node.shown = LineEnd.SHOWN, self._complete[place]
            return node
        if self.verdict(place) != self._verdict or depth == 0:
            node.ending, self.cut = LineEnd.CUT, True
            return node
        node.nodes = self.find(place).nodes
        return self._with_children(node, depth)

    def _with_children(self, node: ProofNode, depth: int) -> ProofNode | None:
        cut_before, count_before, complete = self.cut, self.count, len(self._complete)
        self.cut = False
        self._line.append(node.move)
        self._over.add(node.place)
        winner = SUCCESS.index(self._verdict)
        grows = self._one_child if node.place.side == winner else self._all_children
        done = grows(node, depth)
        self._line.pop()
        self._over.discard(node.place)
        # A line below repeats: take back what was built, and let the caller try another move.
        if not done:
            self.cut, self.count = cut_before, count_before - 1
            while len(self._complete) > complete:
                self._complete.popitem()  # their nodes are discarded
            return None
        # Only a position that is shown completely may stand for others.
        if not self.cut:
            line = (*self._line, node.move)
            self._complete[node.place] = tuple(move for move in line if move is not None)
        self.cut |= cut_before
        return node

    def _one_child(self, node: ProofNode, depth: int) -> bool:
        """Add one move of the side that succeeds; return whether there is one."""
        cut_before = self.cut
        for move, place in self._winning(node.place):
            child = self._node(place, move, depth - 1)
            if child is not None:
                node.children = [child]
                return True
            self.cut = cut_before
        return False

    def _all_children(self, node: ProofNode, depth: int) -> bool:
        """Add all moves of the other side; return whether all their lines end."""
        moves = self._moves_of(node.place)
        if not moves:
            node.ending = LineEnd.NO_MOVE
        for move, place in moves:
            child = self._node(place, move, depth - 1)
            if child is None:
                node.children = []
                return False
            node.children.append(child)
        return True

    def _winning(self, place: ZonePosition) -> Iterator[tuple[int, ZonePosition]]:
        """Yield the proved moves: those that end the line, then the search's best, then others."""
        moves, best = self._moves_of(place), self.find(place).move
        ends = [self._prover.settled(after) == self._verdict for _move, after in moves]
        order = sorted(range(len(moves)), key=lambda i: (not ends[i], moves[i][0] != best))
        for i in order:
            if ends[i] or self.verdict(moves[i][1]) == self._verdict:
                yield moves[i]

    def find(self, place: ZonePosition) -> Finding:
        """Return the prover's finding on a position."""
        if place not in self._findings:
            seconds = None
            if self._ends is not None:
                remaining = self._ends - perf_counter()
                # The first proof may take long; those below it are in the table, unless it was
                # full.
                seconds = max(min(remaining, _ASK_SECONDS) if self._findings else remaining, 0.0)
            self._findings[place] = self._prover.ask(place, seconds=seconds)
        return self._findings[place]


_MASTERS = {
    Master.ATTACKER: "the attacker may retake every ko at once",
    Master.DEFENDER: "the defender may retake every ko at once",
    Master.NOBODY: "neither side may retake a ko at once",
}


def write_proofs(problem: Problem, proofs: Iterable[Proof]) -> bytes:
    """Return proofs of a problem as one SGF file, a game for each."""
    return b"".join(_game(problem, proof).serialise() for proof in proofs)


def _game(problem: Problem, proof: Proof) -> Any:
    zone = proof.prover.zone
    side = proof.root.place.side
    bare = Problem(
        size=zone.size,
        stones=zone.stones,
        target=zone.target,
        to_play=zone.color(side),
        name=problem.name,
    )
    file = problem_file(bare)
    root = file.get_root()
    set_text(root, "C", _head(proof))
    pending: list[tuple[Any, ProofNode, int]] = [
        (root, child, side) for child in reversed(proof.root.children)
    ]
    while pending:
        parent, node, mover = pending.pop()
        child = parent.new_child()
        assert node.move is not None  # only the root has none
        set_move(child, zone.color(mover) - 1, node.move)
        set_text(child, "C", _comment(proof, node))
        pending.extend((child, below, 1 - mover) for below in reversed(node.children))
    return file


def _head(proof: Proof) -> str:
    zone = proof.prover.zone
    attacker, defender = COLOR_NAMES[zone.attacker], COLOR_NAMES[zone.defender]
    winner, other = attacker, defender
    if proof.verdict == ProofVerdict.PREVENTED:
        winner, other = defender, attacker
    first = attacker if proof.root.place.side == ATTACKER else defender
    lines = [
        f"{defender}'s block at {vertex(zone.target, zone.size)}, {first} first: proved "
        f"{_word(proof.verdict)}; {_MASTERS[proof.prover.master]}.",
        f"One proved move of {winner}, all moves of {other} within the zone; {proof.count} nodes"
        + (", cut at marked nodes." if proof.cut else ", complete."),
        f"Positions searched: {proof.root.nodes:,}.",
    ]
    if proof.root.ending is not None:
        lines.append(_ending(proof, proof.root))
    return "\n".join(lines)


def _comment(proof: Proof, node: ProofNode) -> str:
    if node.ending == LineEnd.CUT:
        return f"{_ending(proof, node)}."
    if node.ending is not None and node.ending != LineEnd.NO_MOVE:
        return f"{_word(proof.verdict)}: {_ending(proof, node)}."
    text = f"proved {_word(proof.verdict)}; positions searched: {node.nodes:,}"
    return f"{text}: {_ending(proof, node)}." if node.ending else f"{text}."


def _ending(proof: Proof, node: ProofNode) -> str:
    assert node.ending is not None
    if node.ending != LineEnd.SHOWN:
        return str(node.ending.value)
    zone, side = proof.prover.zone, proof.root.place.side
    moves = [
        f"{'BW'[zone.color((side + ply) % 2) - 1]} {vertex(move, zone.size)}"
        for ply, move in enumerate(node.shown)
    ]
    return f"{node.ending.value}, after {', '.join(moves)}"


def _word(verdict: ProofVerdict) -> str:
    return "unsafe" if verdict == ProofVerdict.REACHED else "safe"

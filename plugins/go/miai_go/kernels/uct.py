"""Monte Carlo tree search: UCT with optional RAVE, a playout for every simulation.

The tree is one `int32` array of `FIELDS` rows and a column for every node, so that the same field
of sisters lies together. Node 0 is the root. The children of a node are made all at once and stand
in one block:

    POINT    the move that leads here: a point as in `rules`, 0 for a pass
    VISITS   simulations that went through the node
    REWARD   their results (1, 0, -1) added up, from the view of the player who made the move
    AMAF_VISITS, AMAF_REWARD   the same over all simulations through the parent in which that
             player was the first to play at that point later on (all moves as first)
    FIRST, COUNT   the block of children; COUNT is 0 before they are made
    STATUS   OPEN, or WON, LOST (for the player who made the move, proven), or FORBIDDEN (superko)

A node is proven where two passes end the game, and above: a move that lets the opponent win is
lost, a move after which every answer loses is won. Answers are the moves of the tree, which leave
out the filling of own eyes.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.playouts import PlayoutSpace, copy_words, fills_eye, playout_score, upper_half
from miai_go.kernels.rules import (
    GAMMA,
    HEADER,
    KO,
    RECORD,
    SIZE,
    WHITE_TO_MOVE,
    Hashes,
    Int,
    Words,
    get_hash,
    legal,
    move_key,
    put,
    reset_unread,
)
from miai_go.kernels.tactical import tactical_score

Nodes = NDArray[np.int32]
Bits = NDArray[np.uint64]

POINT = 0
VISITS = 1
REWARD = 2
AMAF_VISITS = 3
AMAF_REWARD = 4
FIRST = 5
COUNT = 6
STATUS = 7
FIELDS = 8

OPEN = 0
WON = 1
LOST = -1
FORBIDDEN = -2

# Words of the settings array, `int64`.
USED = 0  # nodes in use; written by the kernels
COLOR = 1  # to move at the root
PASSES = 2  # passes before the root
EXPAND_AFTER = 3  # visits before a node gets children
KO_RULE = 4  # 0 simple, 1 positional, 2 situational superko
SUICIDE = 5
HISTORY = 6  # entries of the history that are in use
TACTICAL = 7  # whether playouts answer atari, see `tactical`
SETTINGS = 8

# Words of the weights array, `float64`.
EXPLORATION = 0
FPU = 1
RAVE = 2
KOMI = 3

_SETTLED = np.float32(1e6)  # beyond any value with its exploration


@part
def add_child(nodes: Nodes, child: Int, p: Int) -> Int:
    """Write a fresh node at `child`; return the place of the next."""
    for field in range(FIELDS):
        nodes[field, child] = 0
    nodes[POINT, child] = p
    return child + 1


@part
def expand(
    b: Words, nodes: Nodes, node: Int, c: Int, settings: NDArray[np.int64], state: np.uint64
) -> bool:
    """Give `node`, whose board is `b` with `c` to move, its children; return False for no room.

    The points are visited from a random row on, so that among equals no part of the board is
    always tried first.
    """
    size = np.int64(b[SIZE])
    points = size * size
    first = settings[USED]
    if first + points + 1 > nodes.shape[1]:
        return False
    # The upper half of the product is uniform over the rows, without a division.
    row = (upper_half(state) * size) >> 32
    child = first
    for _row in range(size):
        p = HEADER + RECORD * ((row + 1) * (size + 1) + 1)
        for _column in range(size):
            if legal(b, p, c, settings[SUICIDE] != 0) and not fills_eye(b, p, c):
                child = add_child(nodes, child, p)
            p += RECORD
        row = 0 if row + 1 == size else row + 1
    child = add_child(nodes, child, np.int64(0))
    settings[USED] = child
    nodes[FIRST, node] = first
    nodes[COUNT, node] = child - first
    return True


@part
def select(
    nodes: Nodes, node: Int, weights: NDArray[np.float64], scores: NDArray[np.float32]
) -> Int:
    """Return the child with the highest upper bound; the first among equals.

    The bound is value + exploration * sqrt(ln(visits of the node) / visits of the child) (UCT,
    Kocsis and Szepesvari 2006), the value a mean of the child's own and its AMAF value, the latter
    weighted sqrt(rave / (3 * visits + rave)) (Gelly and Silver 2007). A child without visits
    has the value `fpu` (first-play urgency), or its AMAF value, and no exploration term.
    """
    first = np.int64(nodes[FIRST, node])
    count = np.int64(nodes[COUNT, node])
    # The logarithm is that of all children, so it is taken once.
    spread = np.float32(weights[EXPLORATION] * math.sqrt(math.log(nodes[VISITS, node] + 1)))
    fpu = np.float32(weights[FPU])
    rave = np.float32(weights[RAVE] if weights[RAVE] > 1e-9 else 1e-9)  # never 0 / 0
    # Write all bounds, then look for the best: without a branch the first loop becomes vectors.
    one = np.float32(1)
    for i in range(first, first + count):
        visits = np.float32(nodes[VISITS, i])
        played = np.float32(nodes[AMAF_VISITS, i])
        inverse = one / (visits if visits > one else one)
        # A child that was never played first has no AMAF value: its weight is 0.
        beta = (played if played < one else one) * np.float32(
            math.sqrt(rave / (np.float32(3) * visits + rave))
        )
        value = (one - beta) * np.float32(nodes[REWARD, i]) * inverse
        value += beta * np.float32(nodes[AMAF_REWARD, i]) / (played if played > one else one)
        value += spread * (visits if visits < one else one) * np.float32(math.sqrt(inverse))
        bound = value if visits + beta > 0 else fpu
        scores[i - first] = bound + _SETTLED * np.float32(nodes[STATUS, i])
    best = 0
    for i in range(1, count):
        if scores[i] > scores[best]:
            best = i
    return first + best


@part
def repeats(history: Hashes, count: Int, key: np.uint64) -> bool:
    """Return whether `key` is among the first `count` hashes."""
    found = False
    for i in range(count):
        found |= history[i] == key  # without an early exit the loop becomes vectors
    return found


@part
def mark_of_turn(ko_rule: Int, c: Int) -> np.uint64:
    """Return what superko mixes into a position's hash after a move of `c`."""
    return WHITE_TO_MOVE if ko_rule == 2 and c == 1 else np.uint64(0)


@part
def follow_superko(
    b: Words,
    p: Int,
    c: Int,
    key: np.uint64,
    ko_rule: Int,
    fresh: bool,
    history: Hashes,
    positions: Int,
) -> tuple[bool, np.uint64]:
    """Return whether a move repeats a position, and the board's hash after it.

    A position that is not a repetition is written behind the first `positions` of the history.
    Only `fresh` moves are compared; any other has been compared with the same history.
    """
    # The hash is known before the move is played, so that a repetition need not be undone.
    after = key if p == 0 else key ^ move_key(b, p, c)
    mark = mark_of_turn(ko_rule, c)
    if p != 0 and fresh and repeats(history, positions, after ^ mark):
        return True, key
    history[positions] = after ^ mark
    return False, after


@part
def prove(nodes: Nodes, path: NDArray[np.int32], depth: Int) -> None:
    """Propagate the status of the path's last node up to the nodes that it proves."""
    while depth > 0 and nodes[STATUS, path[depth]] != OPEN:
        parent = path[depth - 1]
        if nodes[STATUS, path[depth]] == WON:
            nodes[STATUS, parent] = LOST
        else:  # a forbidden child is no answer, so it does not keep the parent open
            first = nodes[FIRST, parent]
            for child in range(first, first + nodes[COUNT, parent]):
                if nodes[STATUS, child] == OPEN or nodes[STATUS, child] == WON:
                    return
            nodes[STATUS, parent] = WON
        depth -= 1


@part
def update_amaf(
    nodes: Nodes,
    path: NDArray[np.int32],
    depth: int,
    c: Int,
    result: int,
    first_by: NDArray[np.int8],
) -> None:
    """Credit the sisters of the path's moves that were played later; `c` moved first.

    `first_by[point / RECORD]` is the first player to play there in the playout.
    """
    for d in range(depth, -1, -1):
        node = path[d]
        mover = c if d % 2 == 0 else 3 - c
        reward = result if mover == 1 else -result
        first = nodes[FIRST, node]
        for child in range(first, first + nodes[COUNT, node]):
            played = first_by[nodes[POINT, child] // RECORD] == mover
            nodes[AMAF_VISITS, child] += played
            nodes[AMAF_REWARD, child] += reward * played
        # Going up, the move of the path comes before all that was seen.
        if d > 0 and nodes[POINT, node] != 0:
            first_by[nodes[POINT, node] // RECORD] = 3 - mover


class UctArrays(NamedTuple):
    """A tree and how to search it.

    Attributes:
      nodes, settings, weights: see the top of this module.
      history: keys of earlier positions, the root's included, with room for a path beyond them.
      rng: one state of the generator of `rules.scramble`.
    """

    nodes: Nodes
    settings: NDArray[np.int64]
    weights: NDArray[np.float64]
    history: Hashes
    rng: Bits


class SimulationSpace(NamedTuple):
    """Room for one simulation.

    Attributes:
      path: nodes from the root on; its length limits the depth.
      first_by: see `update_amaf`.
      scores: bounds of a node's children.
      playout: room for a playout.
    """

    path: NDArray[np.int32]
    first_by: NDArray[np.int8]
    scores: NDArray[np.float32]
    playout: PlayoutSpace


@kernel
def search(  # noqa: C901  kernels read from top to bottom
    root: Words, tree: UctArrays, simulations: int, space: SimulationSpace
) -> int:
    """Give the root children, run simulations and return how many; fewer if the root is proven."""
    nodes, settings, weights = tree.nodes, tree.settings, tree.weights
    path, first_by, playout, rng = space.path, space.first_by, space.playout, tree.rng
    b, record = playout.board, playout.record
    ko_rule = settings[KO_RULE]
    root_color = settings[COLOR]
    if nodes[COUNT, 0] == 0:
        rng[0] += GAMMA
        copy_words(b, root)
        expand(b, nodes, np.int64(0), root_color, settings, rng[0])
    for done in range(simulations):
        if nodes[STATUS, 0] != OPEN:
            return done
        copy_words(b, root)
        reset_unread(b)
        key = get_hash(b)
        positions = settings[HISTORY]
        c = root_color
        passes = settings[PASSES]
        node: Int = np.int64(0)
        depth = 0
        path[0] = 0

        # Descend by the bandit until a leaf, which gets children once it has enough visits.
        while nodes[STATUS, node] == OPEN and passes < 2:
            if nodes[COUNT, node] == 0:
                if nodes[VISITS, node] < settings[EXPAND_AFTER]:
                    break
                rng[0] += GAMMA
                if depth + 1 == len(path) or not expand(b, nodes, node, c, settings, rng[0]):
                    break
            child = select(nodes, node, weights, space.scores)
            if nodes[STATUS, child] == FORBIDDEN:
                break  # a mask at the root can forbid every move
            p = np.int64(nodes[POINT, child])
            if ko_rule != 0:
                fresh = nodes[VISITS, child] == 0
                repeated, key = follow_superko(
                    b, p, c, key, ko_rule, fresh, tree.history, positions
                )
                if repeated:
                    nodes[STATUS, child] = FORBIDDEN
                    continue
                positions += 1
            if p == 0:
                passes += 1
                b[KO] = 0
            else:
                passes = 0
                put(b, p, c)
            c = 3 - c
            depth += 1
            node = child
            path[depth] = node

        # Value the leaf: by its proof, or by a playout, which after two passes only counts.
        moves = 0
        if nodes[STATUS, node] != OPEN:
            result = nodes[STATUS, node] if c == 2 else -nodes[STATUS, node]
        else:
            if settings[TACTICAL] != 0:
                last = np.int64(nodes[POINT, node]) if depth > 0 else np.int64(0)
                score, moves = tactical_score(c, passes, last, rng, playout)
            else:
                score, moves = playout_score(c, passes, rng, playout)
            result = (score > weights[KOMI]) - (score < weights[KOMI])
            if passes >= 2 and result != 0:
                nodes[STATUS, node] = WON if (result == 1) == (c == 2) else LOST
                prove(nodes, path, depth)

        # Back up to the sisters: read backwards, the first player at each point remains.
        if weights[RAVE] > 0:
            first_by[:] = 0
            for i in range(moves - 1, -1, -1):
                first_by[record[i] // RECORD] = record[i] & 3
            first_by[0] = 0
            update_amaf(nodes, path, depth, root_color, result, first_by)

        # Back up along the path: rewards are for the player who moved.
        for d in range(depth + 1):
            # The one who moved to the root is the opponent of the one to move there.
            mover = 3 - root_color if d % 2 == 0 else root_color
            nodes[VISITS, path[d]] += 1
            nodes[REWARD, path[d]] += result if mover == 1 else -result
    return simulations


@kernel
def keep_subtree(nodes: Nodes, fresh: Nodes, root: int) -> int:
    """Copy the subtree under `root` into the empty tree `fresh`; return the nodes in use."""
    for field in range(FIELDS):
        fresh[field, 0] = nodes[field, root]
    # Breadth first: the nodes copied are the queue of those whose children are still to come.
    used = 1
    done = 0
    while done < used:
        first = fresh[FIRST, done]
        count = fresh[COUNT, done]
        for field in range(FIELDS):
            for i in range(count):
                fresh[field, used + i] = nodes[field, first + i]
        # The children stay one block, whose place alone changes.
        fresh[FIRST, done] = used
        used += count
        done += 1
    return used

"""Many trees at once, guided by priors and values from outside.

A forest has one tree for each game, all in the same arrays, so that the leaves of many games make
one batch. A simulation comes in two halves: `gather` walks down from the roots and writes the
positions and trails of the leaves; the owner of the forest has them evaluated; `apply`
gives the leaves their children and carries the values up. Between the halves a leaf is pending,
and those on its path count it as a visit, which may also count as lost (virtual loss), so that
several leaves of one tree differ.

Tree g has its nodes in `ints[g]`, `int32` of `FIELDS` rows, and `floats[g]`, `float64` of
`FLOATS` rows, a column for every node; node 0 is the root. Rows of `ints` are those of `uct`
(POINT, VISITS, FIRST, COUNT, STATUS), with two in the place of others:

    PENDING   leaves below that are being valued
    VALUED    1 once the node itself was valued; a node too deep for children is valued once, unless
              rollouts are part of its value

Rows of `floats`:

    TOTAL     the values of the node's simulations added up, from the view of the player who made
              the move, 1 won, -1 lost: TOTAL / VISITS is a true mean
    PRIOR     probability of the move among its sisters; they add up to 1
    VALUE     what the node itself was valued at, for the player to move there

Paths are proven as in `uct`. Selection is PUCT (Rosin 2011; Silver et al. 2017), or that of
Gumbel AlphaZero (Danihelka et al. 2022): at the root the moves by sequential halving, below the
move whose share of the visits lags most behind the improved policy.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.playouts import copy_words, fills_eye
from miai_go.kernels.rollouts import worth
from miai_go.kernels.rules import (
    ACTION,
    HEADER,
    KO,
    RECORD,
    SIZE,
    Hashes,
    Int,
    Words,
    area,
    get_hash,
    legal,
    move_key,
    play,
    put,
    reset_unread,
)
from miai_go.kernels.trail import COLOR, Trail, follow
from miai_go.kernels.uct import (
    COUNT,
    FIELDS,
    FIRST,
    FORBIDDEN,
    LOST,
    OPEN,
    POINT,
    STATUS,
    VISITS,
    WON,
    follow_superko,
    mark_of_turn,
    prove,
    repeats,
)

__all__ = ["COUNT", "FIELDS", "FIRST", "FORBIDDEN", "LOST", "OPEN", "POINT", "STATUS", "VISITS"]

PENDING = 2
VALUED = 3

TOTAL = 0
PRIOR = 1
VALUE = 2
FLOATS = 3

# Words of a tree's settings, `int64`.
USED = 0  # nodes in use; written by the kernels
PASSES = 1  # passes before the root
KO_RULE = 2  # 0 simple, 1 positional, 2 situational superko
SUICIDE = 3
HISTORY = 4  # entries of the history that are in use
DONE = 5  # simulations of this search, pending ones included; written by the kernels
BUDGET = 6  # maximum simulations of this search
GUMBEL = 7  # moves considered at the root; 0 for PUCT
DEPTH = 8  # maximum depth; nodes there get no children
ROLLOUTS = 9  # playouts from every leaf
SETTINGS = 10

# Words of a tree's weights, `float64`.
KOMI = 0
C_PUCT = 1  # weight of the priors
C_BASE = 2  # visits at which that weight has grown by log 2; 0: it does not grow
FPU = 3  # value of an untried move below that of its parent
ROOT_FPU = 4
MIX = 5  # share of the playouts in a leaf's value, lambda
C_VISIT = 6  # of Gumbel's transformation of values
C_SCALE = 7
SCORE_WEIGHT = 8  # share of the score in the worth of a finished game; above 0 nothing is proven
FORCED = 9  # weight of forced playouts at the root; 0 for none
WEIGHTS = 10

# What a descent may come to.
KNOWN = 0  # counted already
NEW = 1  # to be valued
FULL = 2  # there is no room for the children of its leaf

_SETTLED = 1e6  # beyond any value with its exploration
_DUE = 1e3  # likewise, but below the former
_TRIES = 1000  # simulations between looks at the clock if most end in finished games

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Settings = NDArray[np.int64]


class Trees(NamedTuple):
    """The trees of all games and their roots; the first axis of every array is the game.

    Attributes:
      boards, trails: positions at the roots, as in `rules` and `trail`.
      ints, floats: nodes, (games, `FIELDS` or `FLOATS`, nodes).
      settings, weights: (games, `SETTINGS` or `WEIGHTS`).
      history: hashes of earlier positions, the root's included, with room for a path beyond them.
      noise: of Gumbel searches, in the order of the root's children.
      schedule: earlier visits of the move that each simulation of a Gumbel search is for.
    """

    boards: NDArray[np.uint32]
    trails: NDArray[np.int16]
    ints: NDArray[np.int32]
    floats: NDArray[np.float64]
    settings: NDArray[np.int64]
    weights: NDArray[np.float64]
    history: NDArray[np.uint64]
    noise: NDArray[np.float64]
    schedule: NDArray[np.int32]


class TreeRows(NamedTuple):
    """What a descent needs of one tree: rows of `Trees`."""

    ints: Ints
    floats: Floats
    settings: Settings
    weights: Floats
    history: Hashes
    noise: Floats


class Leaves(NamedTuple):
    """The leaves of one batch, a row each.

    The rows of `paths` and `depths` beyond those of `owners` are work space; they limit how often
    a tree may reach a pending leaf.

    Attributes:
      words, trails: positions.
      paths: nodes from the root on, of which row i uses `depths[i] + 1`.
      owners: the games of the leaves.
    """

    words: NDArray[np.uint32]
    trails: NDArray[np.int16]
    paths: NDArray[np.int32]
    depths: NDArray[np.int32]
    owners: NDArray[np.int32]


class DescentSpace(NamedTuple):
    """Room for the owners of points, a stack of points, and the scores of a node's children."""

    owner: NDArray[np.int8]
    stack: NDArray[np.int32]
    scores: NDArray[np.float64]


@part
def mean(ints: Ints, floats: Floats, node: Int) -> float:
    """Return a visited node's mean value, for the player who moved there."""
    return float(floats[TOTAL, node] / max(float(ints[VISITS, node]), 1e-9))


@part
def exploration(weights: Floats, visits: float) -> float:
    """Return the factor of a child's prior at a node with some visits."""
    spread = weights[C_PUCT]
    if weights[C_BASE] > 0:
        # Long searches explore a little more (Silver et al. 2018, "A general reinforcement learning
        # algorithm that masters chess, shogi, and Go through self-play").
        spread += math.log((visits + weights[C_BASE] + 1) / weights[C_BASE])
    return float(spread * math.sqrt(max(visits, 1.0)))


@part
def forced_visits(weight: float, prior: float, visits: float) -> float:
    """Return the visits that a tried child of a root with `visits` gets in any case."""
    return math.sqrt(weight * prior * visits)


@part
def puct(ints: Ints, floats: Floats, weights: Floats, node: Int) -> Int:
    """Return the child of `node` with the highest value and bonus for its prior.

    At the root a child that was tried is due until it has `forced_visits` (Wu 2019, section 3.2).
    """
    first = np.int64(ints[FIRST, node])
    last = first + np.int64(ints[COUNT, node])
    # An untried move is worth less than its parent, the less the more prior has been tried: then
    # the moves left are those that the policy thinks little of.
    tried = 0.0
    for i in range(first, last):
        if ints[VISITS, i] + ints[PENDING, i] > 0:
            tried += floats[PRIOR, i]
    visits = float(ints[VISITS, node] + ints[PENDING, node])
    spread = exploration(weights, visits)
    base = -mean(ints, floats, node) if ints[VISITS, node] > 0 else floats[VALUE, node]
    unknown = base - (weights[ROOT_FPU] if node == 0 else weights[FPU]) * math.sqrt(tried)
    best: Int = first
    highest = -math.inf
    for i in range(first, last):
        times = ints[VISITS, i] + ints[PENDING, i]
        # A pending visit lowers the bonus alone; counting it as a loss, too, was weaker.
        score = mean(ints, floats, i) if ints[VISITS, i] > 0 else unknown
        score += spread * floats[PRIOR, i] / (1 + times)
        if node == 0 and 0 < times < forced_visits(weights[FORCED], floats[PRIOR, i], visits):
            score += _DUE
        score += _SETTLED * ints[STATUS, i]  # proven wins first, losses and forbidden moves last
        if score > highest:
            highest = score
            best = i
    return best


@part
def mixed_value(ints: Ints, floats: Floats, node: Int) -> float:
    """Return the assumed value of an untried move, for the player to move at `node`.

    That is the node's own value mixed with the values of the moves tried, weighted by their priors
    (Danihelka et al. 2022, appendix D).
    """
    first = np.int64(ints[FIRST, node])
    visits = 0.0
    share = 0.0
    value = 0.0
    for i in range(first, first + np.int64(ints[COUNT, node])):
        if ints[VISITS, i] > 0:
            visits += ints[VISITS, i]
            share += floats[PRIOR, i]
            value += floats[PRIOR, i] * floats[TOTAL, i] / ints[VISITS, i]
    if share <= 0.0:
        return float(floats[VALUE, node])
    return float((floats[VALUE, node] + visits * value / share) / (1 + visits))


@part
def transformed(ints: Ints, floats: Floats, weights: Floats, node: Int, out: Floats) -> None:
    """Write log priors plus transformed values of the children of `node` into `out`.

    A value q from -1 to 1 counts as (C_VISIT + most visits of a child) * C_SCALE * (q + 1) / 2.
    """
    first = np.int64(ints[FIRST, node])
    count = np.int64(ints[COUNT, node])
    highest_visits: Int = np.int64(0)
    for child in range(first, first + count):
        times = np.int64(ints[VISITS, child])
        highest_visits = times if times > highest_visits else highest_visits
    # The more visits, the more values count beside priors (Danihelka et al. 2022, equation 8).
    scale = (weights[C_VISIT] + highest_visits) * weights[C_SCALE] / 2
    unknown = mixed_value(ints, floats, node)
    for k in range(count):
        i = first + k
        value = floats[TOTAL, i] / ints[VISITS, i] if ints[VISITS, i] > 0 else unknown
        if ints[STATUS, i] == WON:
            value = 1.0
        elif ints[STATUS, i] == LOST:
            value = -1.0
        out[k] = math.log(max(floats[PRIOR, i], 1e-12)) + scale * (value + 1)
        if ints[STATUS, i] == FORBIDDEN:
            out[k] = -math.inf


@part
def softmax(out: Floats, count: Int) -> None:
    """Turn `out[:count]` from logits into probabilities."""
    highest = -math.inf
    for k in range(count):
        highest = max(highest, out[k])  # subtracted, so that no power overflows
    total = 0.0
    for k in range(count):
        out[k] = math.exp(out[k] - highest)
        total += out[k]
    for k in range(count):
        out[k] /= total


@part
def lagging(ints: Ints, floats: Floats, weights: Floats, node: Int, out: Floats) -> Int:
    """Return the child whose share of the visits lags most behind the improved policy."""
    first = np.int64(ints[FIRST, node])
    count = np.int64(ints[COUNT, node])
    transformed(ints, floats, weights, node, out)
    softmax(out, count)
    visits = 0
    for child in range(first, first + count):
        visits += ints[VISITS, child] + ints[PENDING, child]
    best: Int = np.int64(0)
    highest = -math.inf
    for k in range(count):
        i = first + k
        # Not a draw from the policy: visits follow its shares as closely as whole numbers can
        # (Danihelka et al. 2022, section 5).
        lag = out[k] - (ints[VISITS, i] + ints[PENDING, i]) / (1.0 + visits)
        lag += _SETTLED * ints[STATUS, i]
        if lag > highest:
            highest = lag
            best = k
    return first + best


@part
def halving(
    ints: Ints, floats: Floats, weights: Floats, noise: Floats, wanted: Int, out: Floats
) -> Int:
    """Return the child of the root that sequential halving visits next.

    Among the children visited `wanted` times, or as nearly so as there are any, the best by Gumbel
    noise, log prior and transformed value; none that is proven lost.
    """
    first = np.int64(ints[FIRST, 0])
    transformed(ints, floats, weights, np.int64(0), out)
    best: Int = np.int64(0)
    highest = -math.inf
    for k in range(np.int64(ints[COUNT, 0])):
        i: Int = first + k
        # The schedule says how often the move was visited. Proofs and superko disturb it, so that
        # the nearest count has to do.
        off = abs(np.int64(ints[VISITS, i]) + np.int64(ints[PENDING, i]) - wanted)
        score = out[k] + noise[k] - _SETTLED * off
        if ints[STATUS, i] == LOST:
            score -= _SETTLED * _SETTLED
        if score > highest:
            highest = score
            best = k
    return first + best


@part
def add_children(
    b: Words, ints: Ints, floats: Floats, settings: Settings, node: Int, c: Int
) -> bool:
    """Give `node` its legal moves that fill no own eye, and the pass; return False for no room."""
    size = np.int64(b[SIZE])
    child = settings[USED]
    if child + size * size + 1 > ints.shape[1]:  # a bound: counting the moves would cost as much
        return False
    ints[FIRST, node] = child
    suicide = settings[SUICIDE] != 0
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            if b[p] == 0 and legal(b, p, c, suicide) and not fills_eye(b, p, c):
                clear_node(ints, floats, child, p)
                child += 1
            p += RECORD
        p += RECORD
    clear_node(ints, floats, child, np.int64(0))
    ints[COUNT, node] = child + 1 - ints[FIRST, node]
    settings[USED] = child + 1
    return True


@part
def clear_node(ints: Ints, floats: Floats, node: Int, p: Int) -> None:
    """Write a fresh node for the move `p`."""
    for field in range(FIELDS):
        ints[field, node] = 0
    for field in range(FLOATS):
        floats[field, node] = 0.0
    ints[POINT, node] = p


@part
def set_priors(
    b: Words, ints: Ints, floats: Floats, node: Int, logits: NDArray[np.float32]
) -> None:
    """Give the children of `node` the softmax of their logits."""
    size = np.int64(b[SIZE])
    first = np.int64(ints[FIRST, node])
    last = first + np.int64(ints[COUNT, node])
    highest = -math.inf
    for i in range(first, last):
        p = np.int64(ints[POINT, i])
        action = size * size if p == 0 else np.int64(b[p + ACTION])
        floats[PRIOR, i] = logits[action]
        highest = max(highest, floats[PRIOR, i])
    total = 0.0
    for i in range(first, last):
        floats[PRIOR, i] = math.exp(floats[PRIOR, i] - highest)
        total += floats[PRIOR, i]
    for i in range(first, last):
        floats[PRIOR, i] /= total


@part
def carry_up(
    ints: Ints, floats: Floats, path: NDArray[np.int32], depth: Int, value: float, pending: Int
) -> None:
    """Count a value, for the player to move at the path's end, on every node of the path."""
    # A node's total is for the player who moved there, who at the path's end is not to move.
    sign = -1.0 if depth % 2 == 0 else 1.0
    for d in range(depth + 1):
        node = path[d]
        ints[VISITS, node] += 1
        # The pending visit becomes one that counts.
        ints[PENDING, node] -= pending
        floats[TOTAL, node] += sign * value
        sign = -sign


@part
def add_pending(ints: Ints, path: NDArray[np.int32], depth: Int, by: Int) -> None:
    """Count the leaf at the end of a path as pending, or no longer, in all nodes of the path."""
    for d in range(depth + 1):
        ints[PENDING, path[d]] += by


@part
def descend(
    b: Words,
    trail: Trail,
    path: NDArray[np.int32],
    tree: TreeRows,
    wanted: Int,
    scores: Floats,
) -> tuple[Int, Int]:
    """Walk from the root to a leaf; return its depth and the number of passes just before it.

    `b` and `trail` are those of the root, and become those of the leaf; `path` gets the nodes.
    Moves that repeat a position become forbidden on the way. The depth is -1 if every move is.

    Args:
      wanted: visits of the moves at the root that are due in a Gumbel search.
    """
    ints, floats, settings = tree.ints, tree.floats, tree.settings
    size = np.int64(b[SIZE])
    key = get_hash(b)
    # Positions of the path are written behind those of the game: superko looks back over both.
    positions = settings[HISTORY]
    passes = settings[PASSES]
    c = np.int64(trail[COLOR])
    node: Int = np.int64(0)
    depth: Int = np.int64(0)
    path[0] = 0
    while ints[COUNT, node] > 0 and ints[STATUS, node] == OPEN:
        # Select: PUCT, or halving at the root and the most lagging share below it.
        if settings[GUMBEL] == 0:
            child = puct(ints, floats, tree.weights, node)
        elif depth == 0:
            child = halving(ints, floats, tree.weights, tree.noise, wanted, scores)
        else:
            child = lagging(ints, floats, tree.weights, node, scores)
        if ints[STATUS, child] == FORBIDDEN:
            return np.int64(-1), passes  # a mask at the root can forbid every move

        # Superko is checked when a move is tried, not when it is listed: most moves never are.
        p = np.int64(ints[POINT, child])
        if settings[KO_RULE] != 0:
            fresh = ints[VISITS, child] + ints[PENDING, child] == 0
            repeated, key = follow_superko(
                b, p, c, key, settings[KO_RULE], fresh, tree.history, positions
            )
            if repeated:
                ints[STATUS, child] = FORBIDDEN
                floats[PRIOR, child] = 0.0
                continue
            positions += 1

        # Play the move on the board and its trail.
        if p == 0:
            passes += 1
            b[KO] = 0
            follow(b, trail, size * size)
        else:
            passes = np.int64(0)
            put(b, p, c)
            follow(b, trail, np.int64(b[p + ACTION]))
        c = 3 - c
        depth += 1
        node = child
        path[depth] = node
    return depth, passes


@part
def begin_at_root(b: Words, trail: Trail, trees: Trees, g: Int) -> None:
    """Make a leaf's board and trail those of the root of game `g`."""
    copy_words(b, trees.boards[g])
    for i in range(len(trail)):
        trail[i] = trees.trails[g, i]
    reset_unread(b)


@part
def back_up_known(
    b: Words,
    trail: Trail,
    path: NDArray[np.int32],
    depth: Int,
    passes: Int,
    tree: TreeRows,
    space: DescentSpace,
) -> Int:
    """Carry up the value of a leaf that needs no valuation: return KNOWN, else NEW or FULL."""
    ints, floats, settings = tree.ints, tree.floats, tree.settings
    node = np.int64(path[depth])
    none = np.int64(0)
    if ints[STATUS, node] != OPEN:
        carry_up(ints, floats, path, depth, -np.float64(ints[STATUS, node]), none)
        prove(ints, path, depth)
    elif passes >= 2 and depth > 0:
        share = tree.weights[SCORE_WEIGHT]
        c = np.int64(trail[COLOR])
        value = worth(area(b, space.owner, space.stack), tree.weights[KOMI], share, c, b)
        carry_up(ints, floats, path, depth, value, none)
        if value != 0 and share == 0:
            ints[STATUS, node] = WON if value < 0 else LOST
            prove(ints, path, depth)
    elif ints[VALUED, node] != 0 and depth < settings[DEPTH]:
        # Counting its value repeatedly would draw all visits to a single leaf with too high a
        # value, so the search ends instead.
        return np.int64(FULL)
    elif ints[VALUED, node] != 0 and settings[ROLLOUTS] == 0:  # too deep for children
        carry_up(ints, floats, path, depth, floats[VALUE, node], none)
    else:
        return np.int64(NEW)
    return np.int64(KNOWN)


@kernel
def gather(  # noqa: C901  kernels read from top to bottom
    games: NDArray[np.int32], limit: int, all_trees: Trees, all_leaves: Leaves, work: DescentSpace
) -> int:
    """Collect up to `limit` leaves from each of `games`; return how many there are in all.

    Simulations that end in a finished game are counted at once. A tree gives fewer leaves when its
    budget is used up, it is proven, or it reaches pending leaves too often: each time their paths
    count as visited once more until all its leaves are collected, so that the next simulation goes
    elsewhere. As sequential halving counts visits, a Gumbel search stops at the first pending leaf
    instead. A tree's search ends, with its budget cut to the simulations done, when it reaches a
    leaf for whose children there is no room.
    """
    trees, leaves, space = Trees(*all_trees), Leaves(*all_leaves), DescentSpace(*work)
    paths, depths = leaves.paths, leaves.depths
    rows = len(leaves.owners)
    n = 0
    for which in range(len(games)):
        g = np.int64(games[which])
        ints, floats = trees.ints[g], trees.floats[g]
        settings = trees.settings[g]
        tree = TreeRows(ints, floats, settings, trees.weights[g], trees.history[g], trees.noise[g])
        collected = 0
        tries = 0
        clashes = 0
        while collected < limit and settings[DONE] < settings[BUDGET] and ints[STATUS, 0] == OPEN:
            # Descend from a copy of the root, in the row that the leaf will have.
            if tries == _TRIES:
                break
            b = leaves.words[n]
            trail = leaves.trails[n]
            path = paths[n]
            begin_at_root(b, trail, trees, g)
            tries += 1
            # The number of the simulation, not the tree, says which visits are due.
            gumbel = settings[GUMBEL] != 0
            wanted = np.int64(trees.schedule[g, settings[DONE]]) if gumbel else np.int64(0)
            depth, passes = descend(b, trail, path, tree, wanted, space.scores)
            if depth < 0:
                settings[BUDGET] = settings[DONE]
                break
            node = np.int64(path[depth])

            # A pending leaf: repel later descents from it, and note the path to undo that.
            if ints[PENDING, node] > 0 and ints[COUNT, node] == 0:
                row = rows + clashes
                if gumbel or row == len(paths):
                    break
                for d in range(depth + 1):
                    paths[row, d] = path[d]
                depths[row] = depth
                add_pending(ints, path, depth, np.int64(1))
                clashes += 1
                continue

            # Back up what needs no valuation; the others wait for it in the batch.
            came_to = back_up_known(b, trail, path, depth, passes, tree, space)
            if came_to == FULL:
                settings[BUDGET] = settings[DONE]
                break
            settings[DONE] += 1
            if came_to == NEW:
                add_pending(ints, path, depth, np.int64(1))
                depths[n] = depth
                leaves.owners[n] = g
                n += 1
                collected += 1
        for clash in range(clashes):
            row = rows + clash
            add_pending(ints, paths[row], np.int64(depths[row]), np.int64(-1))
    return n


@kernel
def apply(
    count: int,
    all_trees: Trees,
    all_leaves: Leaves,
    rolled: NDArray[np.float64],
    logits: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Give `count` gathered leaves their children, and carry their values up.

    `logits` has shape (count, size * size + 1); `values` and `rolled`, the mean results of
    rollouts, shape (count,), for the player to move.
    """
    trees, leaves = Trees(*all_trees), Leaves(*all_leaves)
    for n in range(count):
        g = np.int64(leaves.owners[n])
        ints, floats = trees.ints[g], trees.floats[g]
        settings, weights = trees.settings[g], trees.weights[g]
        b = leaves.words[n]
        path = leaves.paths[n]
        depth = np.int64(leaves.depths[n])
        node = np.int64(path[depth])
        c = np.int64(leaves.trails[n, COLOR])
        value = float(values[n])
        if settings[ROLLOUTS] > 0:
            value = (1 - weights[MIX]) * value + weights[MIX] * rolled[n]
        value = min(max(value, -1.0), 1.0)
        floats[VALUE, node] = value
        ints[VALUED, node] = 1

        # Expand before backing up: the leaf stays pending until its path has its value.
        if depth < settings[DEPTH] and add_children(b, ints, floats, settings, node, c):
            set_priors(b, ints, floats, node, logits[n])
        carry_up(ints, floats, path, depth, value, np.int64(1))


@kernel
def prune_forced(ints: Ints, floats: Floats, weights: Floats, out: NDArray[np.int64]) -> None:
    """Write the visits of the root's children without forced ones that did not pay into `out`.

    Each but the most visited child loses up to its forced visits, as long as its value and bonus
    stay below those of the most visited one; a single remaining visit is lost, too (Wu 2019).
    """
    first = np.int64(ints[FIRST, 0])
    count = np.int64(ints[COUNT, 0])
    visits = float(ints[VISITS, 0])
    spread = exploration(weights, visits)
    best: Int = first
    for i in range(first, first + count):
        if ints[VISITS, i] > ints[VISITS, best]:
            best = np.int64(i)
    # The upper bound of the most visited child: without its forced visits, another would not have
    # been chosen while its own bound stayed below.
    bar = spread * floats[PRIOR, best] / (1 + ints[VISITS, best]) + mean(ints, floats, best)
    for k in range(count):
        i = int(first + k)
        left = int(ints[VISITS, i])
        if i != best and left > 0:
            value = mean(ints, floats, i)
            bonus = spread * floats[PRIOR, i]
            least = left - int(forced_visits(weights[FORCED], floats[PRIOR, i], visits))
            while left > max(least, 0) and value + bonus / left < bar:
                left -= 1
            # A move that was tried once and not again is no target (Wu 2019, section 3.2).
            if left == 1:
                left = 0
        out[k] = left


@kernel
def improved_policy(
    ints: Ints, floats: Floats, weights: Floats, scores: Floats, out: NDArray[np.float64]
) -> None:
    """Write the improved policy at the root into `out[: number of children]` (Danihelka 2022)."""
    count = np.int64(ints[COUNT, 0])
    transformed(ints, floats, weights, np.int64(0), scores)
    softmax(scores, count)
    for k in range(count):
        out[k] = scores[k]


@kernel
def transformed_root(ints: Ints, floats: Floats, weights: Floats, out: NDArray[np.float64]) -> None:
    """Write log priors plus transformed values of the root's children into `out`."""
    transformed(ints, floats, weights, np.int64(0), out)


@part
def copy_nodes(
    ints: Ints, floats: Floats, ints_out: Ints, floats_out: Floats, start: Int, to: Int, count: Int
) -> None:
    """Copy `count` nodes from `start` on into other arrays, from `to` on."""
    for field in range(FIELDS):
        for i in range(count):
            ints_out[field, to + i] = ints[field, start + i]
    for field in range(FLOATS):
        for i in range(count):
            floats_out[field, to + i] = floats[field, start + i]


@kernel
def keep_branch(
    ints: Ints, floats: Floats, spare_ints: Ints, spare_floats: Floats, root: int
) -> int:
    """Make the subtree under `root` the whole tree; return the nodes in use.

    Nodes that have no children because of depth or lack of room are evaluated again when reached,
    since both have changed. The spare arrays have the shape of the tree's own and are work space.
    """
    zero = np.int64(0)
    # Copy breadth first into the spare arrays: the nodes copied are the queue of those whose
    # children are still to come.
    copy_nodes(ints, floats, spare_ints, spare_floats, np.int64(root), zero, np.int64(1))
    used: Int = np.int64(1)
    done = 0
    while done < used:
        first = np.int64(spare_ints[FIRST, done])
        count = np.int64(spare_ints[COUNT, done])
        copy_nodes(ints, floats, spare_ints, spare_floats, first, used, count)
        spare_ints[FIRST, done] = used
        if count == 0:
            spare_ints[VALUED, done] = 0
        used += count
        done += 1
    copy_nodes(spare_ints, spare_floats, ints, floats, zero, zero, used)
    return int(used)


@kernel
def play_root(b: Words, trail: Trail, settings: Settings, history: Hashes, action: int) -> None:
    """Play a legal action at a root: board with its hash, trail, passes, history of positions."""
    size = np.int64(b[SIZE])
    c = np.int64(trail[COLOR])
    if action == size * size:
        b[KO] = 0
        settings[PASSES] += 1
    else:
        play(b, np.int64(action), c)
        settings[PASSES] = 0
    follow(b, trail, np.int64(action))
    history[settings[HISTORY]] = get_hash(b) ^ mark_of_turn(settings[KO_RULE], c)
    settings[HISTORY] += 1


@kernel
def forbid_repeats(games: NDArray[np.int32], all_trees: Trees) -> None:
    """Forbid the moves at the roots of `games` that superko forbids; priors add up to 1 again."""
    trees = Trees(*all_trees)
    for which in range(len(games)):
        g = np.int64(games[which])
        ints = trees.ints[g]
        settings = trees.settings[g]
        if settings[KO_RULE] == 0:
            continue
        b = trees.boards[g]
        c = np.int64(trees.trails[g, COLOR])
        key = get_hash(b) ^ mark_of_turn(settings[KO_RULE], c)
        prior = trees.floats[g, PRIOR]
        first = np.int64(ints[FIRST, 0])
        last = first + np.int64(ints[COUNT, 0])
        total = 0.0
        for i in range(first, last):
            p = np.int64(ints[POINT, i])
            # A pass repeats the stones, but is always legal.
            open_ = p != 0 and ints[STATUS, i] == OPEN
            if open_ and repeats(trees.history[g], settings[HISTORY], key ^ move_key(b, p, c)):
                ints[STATUS, i] = FORBIDDEN
                prior[i] = 0.0
            total += prior[i]
        # A sum that is 1 but for rounding stays: dividing would change priors that nothing changed.
        if total < 1.0 - 1e-9:
            for i in range(first, last):
                prior[i] /= total


@kernel
def clear_root(ints: Ints, floats: Floats, settings: Settings) -> None:
    """Leave a root without children, visits and value."""
    clear_node(ints, floats, np.int64(0), np.int64(0))
    settings[USED] = 1

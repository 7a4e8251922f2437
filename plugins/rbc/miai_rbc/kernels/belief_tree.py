"""The compiled search over beliefs of boards: the tree of one root, grown as the search meets it.

Boards are numbered in the order in which they are met, and a board belongs to one *layer*: boards
under one public part, reached by one request and one observation. A belief is a list of boards of
one layer. An own move and the opponent's turn after it are one step: its *successors* are the
boards after each reply, in one layer for each pair of observations. They are generated for single
boards, when a belief with that board is first searched.

The last move is searched by `last_exact` or `last_bounded`; the moves before it by frames on a
stack, as numba cannot cache a recursive kernel. Candidates are chosen in Python: `run` returns
where it needs them, or more room, and continues at the same place when it is called again.

With `BOUNDED` a search asks only whether a value is above `alpha`, in null windows (``beta`` is
``alpha + 1``). Each board after each last request has bounds on its value, which a null window
narrows as far as it is needed; a board that alone refutes every request refutes every belief that
holds it (B4), and a *core* is a part of a belief that refutes an action by itself (B5). Boards that
refuted before are tried first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai.kernels import inlined, part
from miai.kernels.shared import GOLDEN, hash_of, in_order, mixed, slot_of
from miai_rbc.kernels import kernel
from miai_rbc.kernels.belief_search import (
    material_of,
    quiet_value,
    seen_on,
    settle,
    takes_king,
)
from miai_rbc.kernels.bitboards import NUMBER_0, U64, WIN, Int, Words
from miai_rbc.kernels.board import NOTHING, WORDS, play
from miai_rbc.kernels.engine import DECIDED, INFINITE, Frames, List, Memory
from miai_rbc.kernels.moves import MAX_MOVES, capture_of, revise, taken_moves

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

UNSEEN = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The outcome of a sense that was not computed yet."""
_ALL, _NONE, _ONE = UNSEEN, np.uint64(0), np.uint64(1)
_20 = np.uint64(20)

SOURCE, REQUEST, CAPTURE, REQUESTS, SENSES, BEST_REQUEST, BEST_SENSE = range(7)
FACTS = 7
"""Facts of a layer: a board before it and the move requested there, -1 for the root; the opponent's
capture since; the numbers of requests and senses to try, -1 until they are chosen; those that
succeeded last."""

SENSING, MOVING = 0, 1
"""What comes next: a sense, or a move."""

CORE = 24
"""Maximum number of boards of a core."""

(
    NODES,
    LEAVES,
    VALUED,
    MAX_NODES,
    BOARDS,
    LAYERS,
    SUCCESSORS,
    CORES,
    CLOCK,
    TOP,
    NEEDED,
    ACTION,
    CORE_SIZE,
    RETURNED,
    VALUE,
    PLAYER,
    KING_LOSS,
    MATERIAL_KINGS,
    BOUNDED,
    TABLE,
    HITS,
    ENTRIES,
) = range(22)
COUNTS = 22
"""Indices of the counts and settings of a search.

`NODES` to `VALUED` are as in the statistics; `MAX_NODES` is where `run` returns. `BOARDS` to
`CORES` count what is in use. `TOP` is the current frame; `NEEDED` a layer that needs candidates;
`ACTION` the place of the root's best action among its candidates. `CORE_SIZE` is the size of the
core that was returned, -1 for the whole belief. `RETURNED` tells whether the current frame waits
for `VALUE`. The rest are settings: the player, the penalty for a lost king, whether a lost king is
worth that penalty instead of a lost game, and what the search uses."""

UNDECIDED = 1 << 22
"""No value: the senses to try are not chosen yet."""

FINISHED, CANDIDATES, ROOM, PAUSED = range(4)
"""Why `run` returns: the root's value is in `VALUE`; the layer `NEEDED` has no candidates; an array
is too small; `MAX_NODES` are counted."""


class TreeBoards(NamedTuple):
    """The boards that a search has met, n of at most N; R requests and S senses at most.

    Attributes:
      rows: (N, 8) the boards.
      home: (N,) their layers.
      hashes: (N,) of board and layer.
      seen: (N, S) the outcome of each sense of the layer; `UNSEEN` until computed.
      low, high: (N, R) bounds on the value after a last request, centipawns for the player.
      alone: (N,) upper bound on the value of the board alone, one own move before the end.
      steps, sizes: (N, R) the first of a board's successors after a request that is not the last,
        -1 until generated, and their number.
      ends: (N, R) the lowest value with which the game can end there.
      capped: (N, R) upper bound on the value of the board alone after that request.
      kills: (N,) how often the board refuted a request that is not the last.
      parent: (N,) a board that led to this one when it was reached last.
      stamps: (N,) marks.
      slots: (H,) board + 1 by its hash, 0 for none; H is a power of two.
      successors: (M,) boards.
    """

    rows: Words
    home: Shorts
    hashes: Words
    seen: Words
    low: Shorts
    high: Shorts
    alone: Shorts
    steps: Shorts
    sizes: Shorts
    ends: Shorts
    capped: Shorts
    kills: Shorts
    parent: Shorts
    stamps: Ints
    slots: Shorts
    successors: Shorts


class LayerTable(NamedTuple):
    """The layers, l of at most L.

    Attributes:
      facts: (L, FACTS).
      requests, windows: (L, R), (L, S) the candidates: moves, and centres of windows.
      killers: (L, R) the layer that refuted a request last, -1 for none.
      heads: (L, R + S) the last core of a request that is not the last, or of a last sense.
      keys, slots: (K,) twice: layers by the layer before, request and observations.
      core_boards, core_facts: (C, CORE), (C, 3) cores; size, value and next core of each.
    """

    facts: Ints
    requests: Shorts
    windows: Shorts
    killers: Shorts
    heads: Shorts
    keys: Words
    slots: Shorts
    core_boards: Shorts
    core_facts: Ints


class ValueCache(NamedTuple):
    """Bounds on values of boards after the last move, and of beliefs; the newest stays.

    Attributes:
      keys, low, high: (V,) by the hash of a board; V is a power of two.
      belief_keys, belief_low, belief_high: (T,) by the hash of a belief.
    """

    keys: Words
    low: Shorts
    high: Shorts
    belief_keys: Words
    belief_low: Shorts
    belief_high: Shorts


class TreeWork(NamedTuple):
    """Work space.

    Attributes:
      frames: (F, FRAME) the stack.
      cores: (F, CORE) the core that a frame collects.
      numbers: boards of the beliefs of all frames.
      parts: (P, 2) parts of beliefs: begin and end in `numbers`.
      core: (CORE,) the core of the value returned last.
      gathered: (CORE,) the core that the last move collects.
      failing: (2, R) boards that refuted each request.
      codes, places: (N,) twice, the group of each board of a belief.
      labels, label_at: (4 * N,) twice, groups by code.
      after, middle: (8,) boards.
      moves: moves of a board.
      tree, engine_frames, lists, memory, table: of the embedded engine.
    """

    frames: Ints
    cores: Shorts
    numbers: Shorts
    parts: Shorts
    core: Shorts
    gathered: Shorts
    failing: Shorts
    codes: Words
    places: Ints
    labels: Words
    label_at: Ints
    after: Words
    middle: Words
    moves: Ints
    tree: Words
    engine_frames: Frames
    lists: List
    memory: Memory
    table: Words


class BeliefTree(NamedTuple):
    """All arrays of a search."""

    forest: TreeBoards
    layers: LayerTable
    cache: ValueCache
    work: TreeWork
    counts: Ints


# -- boards and layers ----------------------------------------------------------------------------


@inlined
def _lost(b: Words, counts: Ints) -> Int:
    """Return the value of a board on which the player's king is lost."""
    if not counts[MATERIAL_KINGS]:
        return np.int64(-WIN)
    value: Int = material_of(b, counts[PLAYER]) - counts[KING_LOSS]
    return value


@part
def add_board(s: BeliefTree, row: Words, layer: Int) -> Int:
    """Return the number of a board of a layer; a new one has no bounds yet."""
    forest, counts = s.forest, s.counts
    # The layer is part of the hash, as the same board under another public part has other requests
    # and bounds. Hashes alone are compared: among the four million boards at which a search ends,
    # two are alike in one search of two million.
    key = hash_of(row, U64(layer + 1) * GOLDEN)
    last = len(forest.slots) - 1
    slot = np.int64(key >> _20) & last
    while forest.slots[slot]:
        known = np.int64(forest.slots[slot]) - 1
        if forest.hashes[known] == key:
            return known
        slot = (slot + 1) & last
    board: Int = counts[BOARDS]
    counts[BOARDS] += 1
    forest.slots[slot] = board + 1
    for word in range(WORDS):
        forest.rows[board, word] = row[word]
    forest.home[board], forest.hashes[board] = layer, key
    for sense in range(forest.seen.shape[1]):
        forest.seen[board, sense] = UNSEEN
    for request in range(forest.low.shape[1]):
        forest.low[board, request], forest.high[board, request] = -INFINITE, INFINITE
        forest.steps[board, request], forest.capped[board, request] = -1, INFINITE
    forest.alone[board], forest.kills[board], forest.stamps[board] = INFINITE, 0, 0
    return board


@part
def _layer(s: BeliefTree, source: Int, request: Int, code: Int, capture: Int) -> Int:
    """Return the layer after a request on a board and two observations.

    Args:
      request: its place among the candidates.
      code: what the player observes of its own move.
    """
    layers, counts = s.layers, s.counts
    before = np.int64(s.forest.home[source])
    key = mixed(U64(before) * GOLDEN ^ mixed(U64((request << 32) + (code << 8) + capture + 1)))
    # 0 marks an empty slot.
    key |= _ONE
    slot = slot_of(layers.keys, key, np.int64(key >> _20))
    if layers.keys[slot] == key:
        return np.int64(layers.slots[slot])
    layer: Int = counts[LAYERS]
    layers.keys[slot], layers.slots[slot] = key, layer
    add_layer(s, source, np.int64(layers.requests[before, request]), capture)
    return layer


@part
def add_layer(s: BeliefTree, source: Int, request: Int, capture: Int) -> None:
    """Add a layer without boards and candidates."""
    layers, counts = s.layers, s.counts
    layer = counts[LAYERS]
    counts[LAYERS] += 1
    facts = layers.facts[layer]
    facts[SOURCE], facts[REQUEST], facts[CAPTURE] = source, request, capture
    facts[REQUESTS] = facts[SENSES] = -1
    facts[BEST_REQUEST], facts[BEST_SENSE] = 0, 0
    for request in range(layers.killers.shape[1]):
        layers.killers[layer, request] = -1
    for action in range(layers.heads.shape[1]):
        layers.heads[layer, action] = -1


@part
def _step(s: BeliefTree, board: Int, index: Int) -> None:
    """Generate the successors of a board after a request and any reply.

    Where the request captures the king there are none, and no end below a won game.
    """
    forest, work, counts = s.forest, s.work, s.counts
    b, middle, after, moves = forest.rows[board], work.middle, work.after, work.moves
    layer = np.int64(forest.home[board])
    # Successors of one board and request lie side by side, so that two numbers name them.
    forest.steps[board, index], forest.sizes[board, index] = counts[SUCCESSORS], 0
    forest.ends[board, index] = WIN
    taken = revise(b, np.int64(s.layers.requests[layer, index]))
    square = capture_of(b, taken)
    if takes_king(b, square):
        return
    play(b, taken, middle)
    code = 128 * taken + (64 if square < 0 else square)
    n = taken_moves(middle, _ALL, True, moves)
    # The opponent may pass, too.
    moves[n] = NOTHING
    for i in range(n + 1):
        capture = capture_of(middle, moves[i])
        if takes_king(middle, capture):
            forest.ends[board, index] = _lost(middle, counts)
            continue
        play(middle, moves[i], after)
        successor = add_board(s, after, _layer(s, board, index, code, capture))
        forest.successors[counts[SUCCESSORS]] = successor
        counts[SUCCESSORS] += 1
        forest.sizes[board, index] += 1


@inlined
def _has_room(s: BeliefTree) -> bool:
    """Return whether there is room for the successors of a board."""
    forest, layers, counts = s.forest, s.layers, s.counts
    return bool(
        counts[BOARDS] + MAX_MOVES < len(forest.rows)
        and 2 * (counts[BOARDS] + MAX_MOVES) < len(forest.slots)
        and counts[SUCCESSORS] + MAX_MOVES < len(forest.successors)
        and counts[LAYERS] + MAX_MOVES < len(layers.facts)
        and 2 * (counts[LAYERS] + MAX_MOVES) < len(layers.keys)
    )


@part
def _outcome(s: BeliefTree, board: Int, sense: Int) -> np.uint64:
    """Return what a sense of the layer shows on a board: nine codes of four bits."""
    forest = s.forest
    code: np.uint64 = forest.seen[board, sense]
    if code != UNSEEN:
        return code
    centre = np.int64(s.layers.windows[forest.home[board], sense])
    code = seen_on(forest.rows[board], s.counts[PLAYER], centre)
    forest.seen[board, sense] = code
    return code


@part
def _group(  # noqa: C901  kernels read from top to bottom
    s: BeliefTree, begin: Int, size: Int, parts: Int
) -> Int:
    """Copy boards behind themselves, grouped by `work.codes`; return the number of groups.

    The groups are listed from `parts` on, the largest first, equal ones as they are met.
    """
    work = s.work
    codes, places, numbers, listed = work.codes, work.places, work.numbers, work.parts
    labels, label_at = work.labels, work.label_at
    # First number the groups as they are met, and count their boards.
    count, room = np.int64(0), np.int64(4)
    while room < 2 * size:
        room *= 2
    for i in range(room):
        label_at[i] = -1
    for k in range(size):
        slot = np.int64(mixed(codes[k]) >> _20) & (room - 1)
        while label_at[slot] >= 0 and labels[slot] != codes[k]:
            slot = (slot + 1) & (room - 1)
        if label_at[slot] < 0:
            labels[slot], label_at[slot] = codes[k], count
            listed[parts + count, 0] = 0
            count += 1
        places[k] = label_at[slot]
        listed[parts + label_at[slot], 0] += 1
    # label_at becomes the rank of each group, then where its next board goes
    for group in range(count):
        index = group
        while index > 0 and listed[parts + label_at[index - 1], 0] < listed[parts + group, 0]:
            label_at[index] = label_at[index - 1]
            index -= 1
        label_at[index] = group
    # Then give each group its place, and copy the boards there in their order.
    following: Int = begin + size
    for rank in range(count):
        group = label_at[rank]
        labels[group] = U64(following)
        listed[parts + rank, 1] = following
        following += np.int64(listed[parts + group, 0])
    for k in range(size):
        place = np.int64(labels[places[k]])
        numbers[place] = numbers[begin + k]
        labels[places[k]] = U64(place + 1)
    for rank in range(count):
        listed[parts + rank, 0] = listed[parts + rank, 1]
        listed[parts + rank, 1] = np.int64(labels[label_at[rank]])
    return count


@part
def _sense(s: BeliefTree, begin: Int, end: Int, sense: Int, free: Int, parts: Int) -> Int:
    """Copy a belief to `free`, grouped by what a sense shows; return the number of parts."""
    work = s.work
    for k in range(end - begin):
        board = np.int64(work.numbers[begin + k])
        work.numbers[free + k] = board
        work.codes[k] = _outcome(s, board, sense)
    return _group(s, free, end - begin, parts)


# -- values where the depth ends ------------------------------------------------------------------


@part
def _judge(s: BeliefTree, board: Int, index: Int, alpha: Int, beta: Int) -> None:
    """Narrow the bounds on a board's value after a last request, as far as a window needs it.

    Without `BOUNDED`, or where the value of a lost king could lie on the other side of the window,
    the value is computed.
    """
    forest, cache, work, counts = s.forest, s.cache, s.work, s.counts
    b, after = forest.rows[board], work.after
    # What earlier windows proved stays true; a window only narrows it.
    low: Int = np.int64(forest.low[board, index])
    high: Int = np.int64(forest.high[board, index])
    taken = revise(b, np.int64(s.layers.requests[forest.home[board], index]))
    square = capture_of(b, taken)
    counts[LEAVES] += 1
    if takes_king(b, square):
        low = high = np.int64(WIN)
    else:
        play(b, taken, after)
        # The same position is often reached from other boards, and in later turns of the game.
        key = hash_of(after, _NONE)
        slot = np.int64(key >> _20) & (len(cache.keys) - 1)
        if cache.keys[slot] == key:
            low, high = max(low, np.int64(cache.low[slot])), min(high, np.int64(cache.high[slot]))
        if low < beta and high > alpha and low < high:
            low, high = _quiet(s, after, low, high, alpha, beta)
            if high <= alpha and low < high:  # few fail, and tell how far to go
                low, high = _quiet(s, after, low, high, np.int64(-INFINITE), beta)
            cache.keys[slot], cache.low[slot], cache.high[slot] = key, low, high
    forest.low[board, index], forest.high[board, index] = low, high
    highest = np.int64(-INFINITE)
    for i in range(s.layers.facts[forest.home[board], REQUESTS]):
        highest = max(highest, np.int64(forest.high[board, i]))
    forest.alone[board] = highest


@part
def _quiet(
    s: BeliefTree, after: Words, low: Int, high: Int, alpha: Int, beta: Int
) -> tuple[Int, Int]:
    """Return narrower bounds on the value of a board after the last move."""
    work, counts = s.work, s.counts
    counts[VALUED] += 1
    lost = _lost(after, counts)
    # A king lost by force is worth `lost` instead of its score. Where both fail in the window, a
    # bound from the engine is a bound on the value; elsewhere the score itself is needed.
    if counts[BOUNDED] and alpha > -DECIDED and lost <= alpha:
        value: Int = -quiet_value(
            *(after, -beta, -alpha, work.tree, work.engine_frames, work.lists),
            *(work.memory, work.table),
        )
        if value >= beta:
            return max(low, value), high
        if value <= alpha:
            return low, min(high, max(value, lost))
        return value, value
    value = -quiet_value(
        *(after, -INFINITE, INFINITE, work.tree, work.engine_frames, work.lists),
        *(work.memory, work.table),
    )
    if value < -DECIDED:
        value = lost
    return value, value


@inlined
def _exact(s: BeliefTree, board: Int, index: Int) -> Int:
    if s.forest.low[board, index] < s.forest.high[board, index]:
        _judge(s, board, index, np.int64(-INFINITE), np.int64(INFINITE))
    return np.int64(s.forest.low[board, index])


@part
def _hopeless(s: BeliefTree, board: Int, alpha: Int) -> bool:
    """Return whether no move at all is worth more than `alpha` on a board.

    Then no request is, whatever the candidates are: they need not be chosen.
    """
    forest, work = s.forest, s.work
    b = forest.rows[board]
    # All moves, not only the candidates: these are not chosen yet, and choosing them takes longer.
    n = taken_moves(b, _ALL, True, work.moves)
    work.moves[n] = NOTHING
    highest: Int = np.int64(-INFINITE)
    for i in range(n + 1):
        square = capture_of(b, work.moves[i])
        if takes_king(b, square):
            return False
        play(b, work.moves[i], work.after)
        _, high = _quiet(
            *(s, work.after, np.int64(-INFINITE), np.int64(INFINITE), alpha, alpha + 1),
        )
        if high > alpha:
            return False
        highest = max(highest, high)
    forest.alone[board] = highest
    return True


_SUSPECTS = 2


@part
def _settle_alone(s: BeliefTree, begin: Int, end: Int, alpha: Int) -> Int:
    """Return a board that is worth `alpha` or less alone, by its earlier bound or by any move; -1.

    Only the boards with the least material are searched for moves.
    """
    forest, work, counts = s.forest, s.work, s.counts
    numbers = work.numbers
    for k in range(begin, end):
        if forest.alone[numbers[k]] <= alpha:
            return np.int64(numbers[k])
    # Material alone is a good guess at which board fails, and is counted in no time.
    for i in range(min(np.int64(_SUSPECTS), end - begin)):
        index: Int = begin + i
        least: Int = np.int64(INFINITE)
        for k in range(begin + i, end):
            value = material_of(forest.rows[numbers[k]], counts[PLAYER])
            if value < least:
                index, least = np.int64(k), value
        board = np.int64(numbers[index])
        numbers[index] = numbers[begin + i]
        numbers[begin + i] = board
        if _hopeless(s, board, alpha):
            return board
    return np.int64(-1)


# -- the last move, with a sense before it or without ---------------------------------------------


@part
def last_exact(
    s: BeliefTree, begin: Int, end: Int, alpha: Int, beta: Int, sense: bool, free: Int, parts: Int
) -> Int:
    """Return the value of a belief one own move before the end, by alpha-beta.

    Args:
      sense: whether a sense comes first.
      free, parts: where `numbers` and `parts` are free.
    """
    if not sense:
        return _last_move(s, begin, end, alpha, beta)
    work, counts = s.work, s.counts
    layer = np.int64(s.forest.home[work.numbers[begin]])
    best: Int = np.int64(-INFINITE)
    chosen = np.int64(0)
    senses = np.int64(1) if end - begin == 1 else s.layers.facts[layer, SENSES]
    for index in range(senses):
        low = max(alpha, best)
        n = _sense(s, begin, end, np.int64(index), free, parts)
        worst: Int = np.int64(INFINITE)
        for k in range(n):
            value = _last_move(
                *(s, np.int64(work.parts[parts + k, 0]), np.int64(work.parts[parts + k, 1])),
                *(low, min(beta, worst)),
            )
            worst = min(worst, value)
            if worst <= low:
                break
        if worst > best:
            best, chosen = worst, np.int64(index)
        if best >= beta:
            break
    counts[ACTION] = chosen
    return best


@part
def _last_move(s: BeliefTree, begin: Int, end: Int, alpha: Int, beta: Int) -> Int:
    forest, counts, numbers = s.forest, s.counts, s.work.numbers
    layer = np.int64(forest.home[numbers[begin]])
    counts[NODES] += 1
    key = _NONE
    if counts[TABLE]:
        key = _belief_key(s, begin, end, np.int64(2 + MOVING))
        low, high = _probe(s, key)
        if low >= beta or high <= alpha or low == high:
            return low if low >= beta or low == high else high
    best: Int = np.int64(-INFINITE)
    for index in range(s.layers.facts[layer, REQUESTS]):
        low = max(alpha, best)
        worst: Int = np.int64(INFINITE)
        counts[NODES] += 1
        for k in range(begin, end):
            worst = min(worst, _exact(s, np.int64(numbers[k]), np.int64(index)))
            if worst <= low:
                break
        if worst > best:
            best = worst
            counts[ACTION] = index
        if best >= beta:
            break
    if counts[TABLE]:
        _record(s, key, best, alpha, beta)
    return best


@part
def last_bounded(  # noqa: C901  kernels read from top to bottom
    s: BeliefTree, begin: Int, end: Int, alpha: Int, beta: Int, sense: bool, free: Int, parts: Int
) -> Int:
    """Return a bound on the value of a belief one own move before the end, in a null window.

    A value of `alpha` or less comes with a core in `work.core`. The arguments are those of
    `last_exact`.
    """
    forest, layers, work, counts = s.forest, s.layers, s.work, s.counts
    numbers = work.numbers
    layer = np.int64(forest.home[numbers[begin]])
    counts[ACTION] = 0
    for k in range(begin, end):
        if forest.alone[numbers[k]] <= alpha:
            counts[HITS] += 1
            return _alone(s, np.int64(numbers[k]))
    # Without a sense first. One request that does for all boards makes any sense as good; a board
    # on which all fail makes every sense as bad.
    value, culprit = _try_requests(s, layer, begin, end, alpha, beta, work.failing[0])
    if value >= beta or culprit >= 0:
        counts[ACTION] = 0 if sense else layers.facts[layer, BEST_REQUEST]
        return value
    requests = layers.facts[layer, REQUESTS]
    if not sense:
        counts[CORE_SIZE] = _gather(work.failing[0], requests, work.core, NUMBER_0)
        return value
    # Only here are the windows needed. Most beliefs never come here, and choosing them means
    # counting the outcomes of all 36.
    if layers.facts[layer, SENSES] < 0:
        return np.int64(UNDECIDED)
    best: Int = np.int64(-INFINITE)
    gathered: Int = np.int64(0)
    clock: Int = np.int64(0)
    favourite = layers.facts[layer, BEST_SENSE]
    for i in range(layers.facts[layer, SENSES]):
        index = in_order(np.int64(i), favourite)
        action = len(layers.requests[0]) + index
        # A core that refuted this sense before may lie in this belief, too.
        if layers.heads[layer, action] >= 0:
            if clock == 0:
                clock = _stamp(s, begin, end)
            value = _known_core(s, layer, action, clock, alpha)
            if value <= alpha:
                best = max(best, value)
                gathered = _gather(work.core, counts[CORE_SIZE], work.gathered, gathered)
                continue
        n = _sense(s, begin, end, index, free, parts)
        worst: Int = np.int64(INFINITE)
        for k in range(n):
            first, last = np.int64(work.parts[parts + k, 0]), np.int64(work.parts[parts + k, 1])
            value, culprit = _try_requests(s, layer, first, last, alpha, beta, work.failing[1])
            if culprit >= 0:
                return value
            worst = min(worst, value)
            if worst <= alpha:
                break
        if worst > alpha:
            counts[ACTION] = layers.facts[layer, BEST_SENSE] = index
            return worst
        counts[CORE_SIZE] = _gather(work.failing[1], requests, work.core, NUMBER_0)
        _keep_core(s, layer, action, worst)
        gathered = _gather(work.core, counts[CORE_SIZE], work.gathered, gathered)
        best = max(best, worst)
    _return_gathered(s, work.gathered, gathered)
    return best


@inlined
def _alone(s: BeliefTree, board: Int) -> Int:
    """Return the bound on a board's value alone, the board being the core."""
    s.work.core[0], s.counts[CORE_SIZE] = board, 1
    return np.int64(s.forest.alone[board])


@part
def _try_requests(  # noqa: C901  kernels read from top to bottom
    s: BeliefTree, layer: Int, begin: Int, end: Int, alpha: Int, beta: Int, failing: Shorts
) -> tuple[Int, Int]:
    """Try all last requests on a belief.

    Args:
      failing: (R,) written: for each request a board with which it fails.

    Returns:
      A bound on the value; and a board that alone is worth `alpha` or less, which is then the core,
      or -1.
    """
    forest, numbers, counts = s.forest, s.work.numbers, s.counts
    facts = s.layers.facts[layer]
    favourite, requests = facts[BEST_REQUEST], facts[REQUESTS]
    best: Int = np.int64(-INFINITE)
    for i in range(requests):
        index = in_order(np.int64(i), favourite)
        counts[NODES] += 1
        # Look for one board with which the request fails; the others then need no value.
        worst: Int = np.int64(INFINITE)
        bad = np.int64(-1)
        for k in range(begin, end):
            board = np.int64(numbers[k])
            if forest.low[board, index] < beta:
                if forest.high[board, index] > alpha:
                    _judge(s, board, np.int64(index), alpha, beta)
                if forest.high[board, index] <= alpha:
                    bad = board
                    # To the front, where the next request meets it first.
                    numbers[k] = numbers[begin]
                    numbers[begin] = bad
                    break
            worst = min(worst, np.int64(forest.low[board, index]))
        if bad < 0:
            facts[BEST_REQUEST] = index
            return worst, np.int64(-1)
        failing[index] = bad
        best = max(best, np.int64(forest.high[bad, index]))
        for other in range(requests):  # perhaps it fails with all requests
            if forest.high[bad, other] > alpha:
                if forest.low[bad, other] < beta:
                    _judge(s, bad, np.int64(other), alpha, beta)
                if forest.high[bad, other] > alpha:
                    break
        if forest.alone[bad] <= alpha:
            return _alone(s, bad), bad
    return best, np.int64(-1)


# -- cores ----------------------------------------------------------------------------------------


@part
def _gather(boards: Shorts, count: Int, gathered: Shorts, size: Int) -> Int:
    """Add the distinct ones of some boards to gathered ones; return their number.

    It is -1, for the whole belief, if they are more than `CORE`, or if either number was -1.
    """
    if size < 0 or count < 0:
        return np.int64(-1)
    for i in range(count):
        known = False
        for j in range(size):
            known |= gathered[j] == boards[i]
        if not known:
            if size == CORE:
                return np.int64(-1)
            gathered[size] = boards[i]
            size += 1
    return size


@part
def _return_gathered(s: BeliefTree, gathered: Shorts, size: Int) -> None:
    """Make gathered boards the core."""
    for i in range(size):
        s.work.core[i] = gathered[i]
    s.counts[CORE_SIZE] = size


@part
def _stamp(s: BeliefTree, begin: Int, end: Int) -> Int:
    """Mark the boards of a belief; return the mark."""
    s.counts[CLOCK] += 1
    clock: Int = s.counts[CLOCK]
    for k in range(begin, end):
        s.forest.stamps[s.work.numbers[k]] = clock
    return clock


_RECENT = 16


@part
def _known_core(s: BeliefTree, layer: Int, action: Int, clock: Int, alpha: Int) -> Int:
    """Return the value of a recent core of an action among marked boards, or `INFINITE`.

    The core found has a value of `alpha` or less, and becomes the one returned.
    """
    forest, layers, counts = s.forest, s.layers, s.counts
    # Newest first, and only some: a list may have thousands, most of other beliefs.
    index = np.int64(layers.heads[layer, action])
    for _ in range(_RECENT):
        if index < 0:
            break
        size = layers.core_facts[index, 0]
        value: Int = layers.core_facts[index, 1]
        if value <= alpha:
            i = np.int64(0)
            while i < size and forest.stamps[layers.core_boards[index, i]] == clock:
                i += 1
            if i == size:
                counts[HITS] += 1
                for j in range(size):
                    s.work.core[j] = layers.core_boards[index, j]
                counts[CORE_SIZE] = size
                return value
        index = layers.core_facts[index, 2]
    return np.int64(INFINITE)


@part
def _keep_core(s: BeliefTree, layer: Int, action: Int, value: Int) -> None:
    """Record the core for an action, if it is small and there is room."""
    layers, counts = s.layers, s.counts
    # A full table keeps what it has: cores only save time.
    size, index = counts[CORE_SIZE], counts[CORES]
    if size < 1 or index == len(layers.core_facts):
        return
    counts[CORES] += 1
    counts[ENTRIES] += 1
    for i in range(size):
        layers.core_boards[index, i] = s.work.core[i]
    facts = layers.core_facts[index]
    facts[0], facts[1], facts[2] = size, value, layers.heads[layer, action]
    layers.heads[layer, action] = index


# -- the table of beliefs -------------------------------------------------------------------------


@part
def _belief_key(s: BeliefTree, begin: Int, end: Int, kind: Int) -> np.uint64:
    # XOR depends on no order: boards change places as failing ones move to the front.
    key = mixed(U64(kind) * GOLDEN)
    for k in range(begin, end):
        key ^= s.forest.hashes[s.work.numbers[k]]
    return key


@inlined
def _probe(s: BeliefTree, key: np.uint64) -> tuple[Int, Int]:
    cache = s.cache
    slot = np.int64(key >> _20) & (len(cache.belief_keys) - 1)
    if cache.belief_keys[slot] != key:
        return np.int64(-INFINITE), np.int64(INFINITE)
    s.counts[HITS] += 1
    return np.int64(cache.belief_low[slot]), np.int64(cache.belief_high[slot])


@part
def _record(s: BeliefTree, key: np.uint64, value: Int, alpha: Int, beta: Int) -> None:
    cache = s.cache
    slot = np.int64(key >> _20) & (len(cache.belief_keys) - 1)
    if cache.belief_keys[slot] != key:
        s.counts[ENTRIES] += cache.belief_keys[slot] == _NONE
        cache.belief_keys[slot] = key
        cache.belief_low[slot], cache.belief_high[slot] = -INFINITE, INFINITE
    if value > alpha:
        cache.belief_low[slot] = max(value, np.int64(cache.belief_low[slot]))
    if value < beta:
        cache.belief_high[slot] = min(value, np.int64(cache.belief_high[slot]))


# -- the moves before the last --------------------------------------------------------------------

(
    KIND,
    LAYER,
    DEPTH,
    BEGIN,
    END,
    LOW,
    HIGH,
    BEST,
    CHOSEN,
    STAGE,
    TRIED,
    ACTION_AT,
    PROBING,
    WORST,
    PART,
    PARTS,
    PART_COUNT,
    BASE,
    BASE_PARTS,
    FREE,
    FREE_PARTS,
    GATHERED,
) = range(22)
FRAME = 22
"""Fields of a frame.

Sense or move; the layer; own moves left; the belief; the window; the best value so far and the
place of its action; what to do next; how many actions were tried; the place of the current action;
whether boards that refuted before are tried first, on their own; the action's worst value so far;
its next part, its parts and their number; where `numbers` and `parts` are free for the frame, and
for those above it; the size of the gathered core."""
_OPEN, _BLIND, _NEXT, _BUILD, _WITHIN = range(5)
_ALL_BOARDS, _PROBE, _SURVIVED = range(3)
_PROBED, _PROBED_FROM = 8, 24
"""Boards tried first, and the size of a belief from which on they are."""


@part
def push(
    s: BeliefTree, kind: Int, layer: Int, depth: Int, begin: Int, end: Int, low: Int, high: Int
) -> None:
    """Put a belief on the stack."""
    counts, frames = s.counts, s.work.frames
    # Beliefs of all frames lie in one array, those of a frame behind those of the frame below.
    free, free_parts = end, np.int64(0)
    if counts[TOP] >= 0:
        free, free_parts = frames[counts[TOP], FREE], frames[counts[TOP], FREE_PARTS]
    counts[TOP] += 1
    f = frames[counts[TOP]]
    f[KIND], f[LAYER], f[DEPTH], f[BEGIN], f[END] = kind, layer, depth, begin, end
    f[LOW], f[HIGH], f[BEST], f[CHOSEN] = low, high, -INFINITE, 0
    f[STAGE], f[TRIED], f[PROBING], f[GATHERED] = _OPEN, 0, _ALL_BOARDS, 0
    f[BASE] = f[FREE] = free
    f[BASE_PARTS] = f[FREE_PARTS] = free_parts


@part
def _return(s: BeliefTree, value: Int) -> None:
    """Take the current frame off the stack with its value, and record it."""
    counts = s.counts
    f = s.work.frames[counts[TOP]]
    if f[DEPTH] > 1:
        counts[ACTION] = f[CHOSEN]
        if counts[TABLE]:
            key = _belief_key(s, f[BEGIN], f[END], 2 * f[DEPTH] + f[KIND])
            _record(s, key, value, f[LOW], f[HIGH])
    counts[TOP] -= 1
    counts[RETURNED], counts[VALUE] = 1, value


@part
def _return_best(s: BeliefTree) -> None:
    """Return the best value of the current frame; the gathered boards are its core."""
    counts, work = s.counts, s.work
    f = work.frames[counts[TOP]]
    _return_gathered(s, work.cores[counts[TOP]], f[GATHERED])
    _return(s, f[BEST])


@part
def _return_known(s: BeliefTree, key: np.uint64) -> bool:
    """Return the value of the current frame from the table; False if the table lacks it."""
    f = s.work.frames[s.counts[TOP]]
    low, high = _probe(s, key)
    if low < f[HIGH] and high > f[LOW] and low < high:
        return False
    s.counts[CORE_SIZE] = -1
    _return(s, low if low >= f[HIGH] or low == high else high)
    return True


@part
def _open(s: BeliefTree) -> Int:  # noqa: C901  kernels read from top to bottom
    """Begin the current frame; return why it cannot go on, or `FINISHED`."""
    counts, work = s.counts, s.work
    f = work.frames[counts[TOP]]
    facts = s.layers.facts[f[LAYER]]
    if facts[REQUESTS] < 0:
        # A layer is given up without its candidates if one board fails with any move.
        if counts[BOUNDED] and f[DEPTH] == 1:
            board = _settle_alone(s, f[BEGIN], f[END], f[LOW])
            if board >= 0:
                counts[NODES] += 1
                counts[HITS] += 1
                _return(s, _alone(s, board))
                return np.int64(FINISHED)
        counts[NEEDED] = f[LAYER]
        return np.int64(CANDIDATES)
    if f[KIND] == SENSING and facts[SENSES] < 0 and not counts[BOUNDED]:
        counts[NEEDED] = f[LAYER]
        return np.int64(CANDIDATES)
    size = f[END] - f[BEGIN]
    if f[FREE] + 2 * size > len(work.numbers) or f[FREE_PARTS] + size + 1 > len(work.parts):
        return np.int64(ROOM)
    counts[NODES] += 1
    key = _NONE
    if counts[TABLE] and (f[DEPTH] > 1 or not counts[BOUNDED]):
        key = _belief_key(s, f[BEGIN], f[END], 2 * f[DEPTH] + f[KIND])
        if _return_known(s, key):
            return np.int64(FINISHED)
    if f[DEPTH] == 1:
        sense = f[KIND] == SENSING
        if counts[BOUNDED]:
            value = last_bounded(
                s, f[BEGIN], f[END], f[LOW], f[HIGH], sense, f[FREE], f[FREE_PARTS]
            )
            if value == UNDECIDED:
                counts[NEEDED] = f[LAYER]
                return np.int64(CANDIDATES)
        else:
            value = last_exact(s, f[BEGIN], f[END], f[LOW], f[HIGH], sense, f[FREE], f[FREE_PARTS])
            if counts[TABLE]:
                _record(s, key, value, f[LOW], f[HIGH])
        _return(s, value)
        return np.int64(FINISHED)
    f[STAGE] = _NEXT
    # The moves without a sense come first: where they suffice, windows need not be chosen.
    if f[KIND] == SENSING and counts[BOUNDED] and size > 1:
        f[STAGE] = _BLIND
        push(s, np.int64(MOVING), f[LAYER], f[DEPTH], f[BEGIN], f[END], f[LOW], f[HIGH])
    return np.int64(FINISHED)


@inlined
def _limit(f: Ints) -> Int:
    limit: Int = max(f[LOW], f[BEST])
    return limit


@part
def _next_sense(s: BeliefTree) -> Int:
    """Go on to the next sense of the current frame, or return; `CANDIDATES` if there are none."""
    work = s.work
    f = work.frames[s.counts[TOP]]
    if s.layers.facts[f[LAYER], SENSES] < 0:
        s.counts[NEEDED] = f[LAYER]
        return np.int64(CANDIDATES)
    # On one board all senses tell the same, so the first stands for all.
    senses = np.int64(1) if f[END] - f[BEGIN] == 1 else s.layers.facts[f[LAYER], SENSES]
    if f[TRIED] >= senses:
        _return_best(s)
        return np.int64(FINISHED)
    index = in_order(f[TRIED], s.layers.facts[f[LAYER], BEST_SENSE] if s.counts[BOUNDED] else 0)
    f[TRIED] += 1
    f[ACTION_AT], f[PARTS] = index, f[BASE_PARTS]
    f[PART_COUNT] = _sense(s, f[BEGIN], f[END], index, f[BASE], f[PARTS])
    f[FREE] = f[BASE] + 2 * (f[END] - f[BEGIN])
    f[FREE_PARTS] = f[PARTS] + f[PART_COUNT]
    f[PART], f[WORST], f[STAGE] = 0, INFINITE, _WITHIN
    if s.counts[BOUNDED]:
        _deadliest_first(s, f)
    return np.int64(FINISHED)


@part
def _deadliest_first(s: BeliefTree, f: Ints) -> None:
    """Swap the part with the board that refuted most to the front."""
    parts, kills, index = s.work.parts, np.int64(0), f[PARTS]
    for k in range(f[PARTS], f[FREE_PARTS]):
        for i in range(parts[k, 0], parts[k, 1]):
            if s.forest.kills[s.work.numbers[i]] > kills:
                kills, index = np.int64(s.forest.kills[s.work.numbers[i]]), k
    _swap_parts(parts, f[PARTS], index)


@inlined
def _swap_parts(parts: Shorts, first: Int, second: Int) -> None:
    for field in range(2):
        parts[first, field], parts[second, field] = parts[second, field], parts[first, field]


@part
def _next_request(s: BeliefTree) -> None:
    """Go on to the next request of the current frame, or return."""
    forest, layers, work, counts = s.forest, s.layers, s.work, s.counts
    f = work.frames[counts[TOP]]
    f[STAGE] = _BUILD
    if f[PROBING] == _SURVIVED:
        f[PROBING] = _ALL_BOARDS
        return
    facts = layers.facts[f[LAYER]]
    if f[TRIED] >= facts[REQUESTS]:
        _return_best(s)
        return
    f[ACTION_AT] = index = in_order(f[TRIED], facts[BEST_REQUEST] if counts[BOUNDED] else 0)
    f[TRIED] += 1
    if not counts[BOUNDED]:
        return
    # Refutations that need no search: a board known to fail alone, then a known core.
    low = _limit(f)
    for k in range(f[BEGIN], f[END]):
        board = np.int64(work.numbers[k])
        if forest.capped[board, index] <= low:
            counts[HITS] += 1
            work.core[0], counts[CORE_SIZE] = board, 1
            _refute(s, np.int64(forest.capped[board, index]))
            return
    if layers.heads[f[LAYER], index] >= 0:
        value = _known_core(s, f[LAYER], index, _stamp(s, f[BEGIN], f[END]), low)
        if value <= low:
            _refute(s, value)
            return
    # Search a few boards that refuted often, as a belief of their own. If they fail, so does the
    # whole, at a fraction of its successors; if they survive, little is lost.
    if f[END] - f[BEGIN] >= _PROBED_FROM:
        f[PROBING] = _PROBE


@part
def _refute(s: BeliefTree, value: Int) -> None:
    """Give up the current action, whose value is too low; the core says why."""
    counts, work = s.counts, s.work
    f = work.frames[counts[TOP]]
    if counts[BOUNDED]:
        cores = work.cores[counts[TOP]]
        f[GATHERED] = _gather(work.core, counts[CORE_SIZE], cores, f[GATHERED])
    if value > f[BEST]:
        f[BEST], f[CHOSEN] = value, f[ACTION_AT]
    f[STAGE], f[PROBING] = _NEXT, _ALL_BOARDS


@part
def _probed(s: BeliefTree, f: Ints) -> Int:
    """Write the boards that refuted most from the frame's base on; return their number."""
    forest, numbers, base = s.forest, s.work.numbers, f[BASE]
    count = np.int64(0)
    for k in range(f[BEGIN], f[END]):
        board = np.int64(numbers[k])
        kills = forest.kills[board]
        if kills == 0 or (count == _PROBED and kills <= forest.kills[numbers[base + count - 1]]):
            continue
        index = count if count < _PROBED else count - 1
        while index > 0 and forest.kills[numbers[base + index - 1]] < kills:
            numbers[base + index] = numbers[base + index - 1]
            index -= 1
        numbers[base + index] = board
        count = min(count + 1, np.int64(_PROBED))
    return count


@part
def _build(s: BeliefTree) -> Int:  # noqa: C901  kernels read from top to bottom
    """Follow the current request; return `ROOM` if there is too little, or `FINISHED`."""
    forest, layers, work, counts = s.forest, s.layers, s.work, s.counts
    f = work.frames[counts[TOP]]
    numbers, index, low = work.numbers, f[ACTION_AT], _limit(f)
    begin, end, items = f[BEGIN], f[END], f[BASE]
    if f[BASE] + _PROBED > len(numbers):
        return np.int64(ROOM)
    # The boards to probe are copied behind the belief; what follows works on either.
    if f[PROBING] == _PROBE:
        begin, end = f[BASE], f[BASE] + _probed(s, f)
        if begin == end:
            f[PROBING] = _ALL_BOARDS
            begin, end = f[BEGIN], f[END]
        items = f[BASE] + _PROBED
    worst, total = np.int64(WIN), np.int64(0)
    for k in range(begin, end):
        board = np.int64(numbers[k])
        if forest.steps[board, index] < 0:
            # Nothing of this request is counted yet, so that it begins again when there is room.
            if not _has_room(s):
                return np.int64(ROOM)
            _step(s, board, index)
        total += forest.sizes[board, index]
        if forest.ends[board, index] < worst:
            worst = np.int64(forest.ends[board, index])
            # A lost king refutes the request by this board alone.
            if worst <= low:
                work.core[0], counts[CORE_SIZE] = board, 1
                forest.capped[board, index] = min(worst, np.int64(forest.capped[board, index]))
                forest.kills[board] += 1
                _refute(s, worst)
                return np.int64(FINISHED)
    if items + 2 * total > len(numbers) or f[BASE_PARTS] + total > len(work.parts):
        return np.int64(ROOM)
    # Several boards lead to the same successor; a new stamp tells which are collected already. Any
    # one of its parents will do to trace a core back.
    counts[CLOCK] += 1
    size = np.int64(0)
    for k in range(begin, end):
        board = np.int64(numbers[k])
        first = np.int64(forest.steps[board, index])
        for i in range(first, first + forest.sizes[board, index]):
            successor = np.int64(forest.successors[i])
            if forest.stamps[successor] != counts[CLOCK]:
                forest.stamps[successor] = counts[CLOCK]
                forest.parent[successor] = board
                numbers[items + size] = successor
                work.codes[size] = U64(forest.home[successor])
                size += 1
    f[PARTS] = f[BASE_PARTS]
    f[PART_COUNT] = _group(s, items, size, f[PARTS]) if size else np.int64(0)
    f[FREE], f[FREE_PARTS] = items + 2 * size, f[PARTS] + f[PART_COUNT]
    f[PART], f[WORST], f[STAGE] = 0, worst, _WITHIN
    # The observation that refuted this request last comes first.
    if counts[BOUNDED]:
        for k in range(f[PARTS], f[FREE_PARTS]):
            if forest.home[numbers[work.parts[k, 0]]] == layers.killers[f[LAYER], index]:
                _swap_parts(work.parts, f[PARTS], np.int64(k))
    return np.int64(FINISHED)


@part
def _descend(s: BeliefTree) -> None:
    """Search the next part of the current action, or end the action."""
    counts, work = s.counts, s.work
    f = work.frames[counts[TOP]]
    if f[PART] < f[PART_COUNT]:
        part_at = f[PARTS] + f[PART]
        begin, end = np.int64(work.parts[part_at, 0]), np.int64(work.parts[part_at, 1])
        layer = np.int64(s.forest.home[work.numbers[begin]])
        low, high = _limit(f), min(f[HIGH], f[WORST])
        if f[KIND] == SENSING:
            push(s, np.int64(MOVING), layer, f[DEPTH], begin, end, low, high)
        else:
            push(s, np.int64(SENSING), layer, f[DEPTH] - 1, begin, end, low, high)
        return
    f[STAGE] = _NEXT
    if f[PROBING] == _PROBE:
        f[PROBING] = _SURVIVED
        return
    if f[WORST] > f[BEST]:
        f[BEST], f[CHOSEN] = f[WORST], f[ACTION_AT]
    if f[BEST] >= f[HIGH]:
        place = BEST_SENSE if f[KIND] == SENSING else BEST_REQUEST
        s.layers.facts[f[LAYER], place] = f[ACTION_AT]
        _return(s, f[BEST])


@part
def _fold(s: BeliefTree, value: Int) -> None:
    """Update the current frame with the value of a part, or of the moves without a sense."""
    work, counts = s.work, s.counts
    f = work.frames[counts[TOP]]
    if f[STAGE] == _BLIND:
        f[STAGE] = _NEXT
        f[BEST] = value
        if value >= f[HIGH]:
            _return(s, value)
        return
    f[WORST] = min(f[WORST], value)
    if f[WORST] > _limit(f):
        f[PART] += 1
        return
    if counts[BOUNDED] and f[KIND] == MOVING:
        _blame(s, f)
    _refute(s, f[WORST])


@part
def _blame(s: BeliefTree, f: Ints) -> None:
    """Trace the core of a part back to boards of the belief, and record it."""
    forest, layers, work, counts = s.forest, s.layers, s.work, s.counts
    index, part_at = f[ACTION_AT], f[PARTS] + f[PART]
    board = np.int64(work.numbers[work.parts[part_at, 0]])
    layers.killers[f[LAYER], index] = forest.home[board]
    size = counts[CORE_SIZE]
    if size < 0:
        return
    # The core is of boards after the reply; what refutes this belief are the boards before it.
    for i in range(size):
        work.core[i] = forest.parent[work.core[i]]
    counts[CORE_SIZE] = _gather(work.core, size, work.core, NUMBER_0)  # several may have one origin
    for i in range(counts[CORE_SIZE]):
        forest.kills[work.core[i]] += 1
    if counts[CORE_SIZE] == 1:
        board = np.int64(work.core[0])
        forest.capped[board, index] = min(f[WORST], np.int64(forest.capped[board, index]))
    else:
        _keep_core(s, f[LAYER], index, f[WORST])


@kernel
def begin_tree(s: BeliefTree, rows: Words) -> None:
    """Make some boards the root layer, and prepare the embedded engine."""
    s.counts[BOARDS] = s.counts[LAYERS] = s.counts[SUCCESSORS] = s.counts[CORES] = 0
    settle(s.work.memory)
    add_layer(s, np.int64(-1), np.int64(-1), np.int64(-1))
    for i in range(len(rows)):
        add_board(s, rows[i], np.int64(0))


@kernel
def fill_slots(s: BeliefTree, keys: Words, slots: Shorts) -> None:
    """Enter all boards and layers into empty tables.

    Args:
      keys, slots: the earlier table of layers.
    """
    last = len(s.forest.slots) - 1
    for board in range(s.counts[BOARDS]):
        slot = np.int64(s.forest.hashes[board] >> _20) & last
        while s.forest.slots[slot]:
            slot = (slot + 1) & last
        s.forest.slots[slot] = board + 1
    for i in range(len(keys)):
        if keys[i] != _NONE:
            slot = slot_of(s.layers.keys, keys[i], np.int64(keys[i] >> _20))
            s.layers.keys[slot], s.layers.slots[slot] = keys[i], slots[i]


@kernel
def push_root(s: BeliefTree, kind: Int, depth: Int, low: Int, high: Int, size: Int) -> None:
    """Put the belief of all boards of the root layer on an empty stack."""
    s.counts[TOP], s.counts[RETURNED] = -1, 0
    for i in range(size):
        s.work.numbers[i] = i
    push(s, kind, np.int64(0), depth, np.int64(0), size, low, high)


@kernel
def run(s: BeliefTree) -> Int:
    """Search until the root is done or something is missing; see `FINISHED`."""
    counts = s.counts
    while True:
        if counts[RETURNED]:
            if counts[TOP] < 0:
                return FINISHED
            counts[RETURNED] = 0
            _fold(s, counts[VALUE])
            continue
        # Python looks at the clock and at signals, which wait while a kernel runs.
        if counts[NODES] >= counts[MAX_NODES]:
            return PAUSED
        f = s.work.frames[counts[TOP]]
        reason: Int = np.int64(FINISHED)
        if f[STAGE] == _OPEN:
            reason = _open(s)
        elif f[STAGE] == _WITHIN:
            _descend(s)
        elif f[STAGE] == _BUILD:
            reason = _build(s)
        elif f[KIND] == SENSING:
            reason = _next_sense(s)
        else:
            _next_request(s)
        if reason != FINISHED:
            return reason

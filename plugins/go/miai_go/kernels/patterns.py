"""A softmax policy of patterns: features of moves, their weights, learning and playouts.

A move's score is the sum of one weight from each family of features, all in one table. The policy
is the softmax of the scores over the moves that are legal and fill no own eye, and the pass
(Coulom, Computing "Elo ratings" of move patterns in the game of Go, 2007; Silver et al. 2016,
rollout policy). For a pattern, eight hashes are made at once, one for each symmetry, and the
smallest is looked up, which is the same for a turned position.

A pattern covers the points around a move, the nearest first, so that each larger one continues the
hash of the smaller. The state of a point is that for the mover: 0 empty, 1 to 3 own stones by
liberties, 3 for more, 4 to 6 the opponent's, 7 off the board; beyond the first ring liberties do
not count. `codes` holds the states, with a margin of `MARGIN` points off the board on each side.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from miai_go.kernels import kernel, part
from miai_go.kernels.liberties import (
    Grid,
    LibertySpace,
    Masks,
    Numbers,
    count_liberties,
    joined_stones,
    may_play,
    read_liberties,
    sides_of,
    take_into,
    unite,
    united,
)
from miai_go.kernels.playouts import copy_words, fills_eye
from miai_go.kernels.rules import (
    ACTION,
    AROUND,
    CHAIN_INFO,
    GAMMA,
    HEADER,
    KO,
    LIBERTY,
    NEXT,
    RECORD,
    SIZE,
    STRIDE,
    Int,
    Words,
    legal,
    point_of,
    scramble,
)
from miai_go.kernels.trail import COLOR, LAST, PLY, Trail, begin, play_on

Weights = NDArray[np.float32]
Keys = NDArray[np.uint32]

MARGIN = 3
STATES = 8
OFFSETS = (
    *((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)),
    *((0, 2), (2, 0), (0, -2), (-2, 0)),
    *((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)),
    *((0, 3), (3, 0), (0, -3), (-3, 0)),
)
# How many of `OFFSETS` each pattern has: the eight neighbours, a diamond, a disc, a larger diamond.
RINGS = (8, 12, 20, 24)
NEAR = 4  # rows and columns within which a last move is part of a pattern
SIDE = 2 * NEAR + 1

FAMILIES = 14
# Entries of each family's table, as powers of two; the first is of the plain ring, and so on as in
# NAMES.
BITS = (15, 16, 17, 17, 15, 16, 17, 16, 12, 14, 12, 14, 16, 16)
NAMES = (
    *("ring-8", "diamond-12", "disc-20", "diamond-24", "ring-8-tactics", "diamond-12-last"),
    *("disc-20-last-two", "reply", "distances", "tactics", "place-phase", "tactics-distance"),
    *("reply-before", "diamond-12-tactics"),
)
PASSES = 64  # the first entries of the table are weights of the pass
STARTS = tuple(PASSES + sum(1 << bits for bits in BITS[:family]) for family in range(FAMILIES))
TABLE = PASSES + sum(1 << bits for bits in BITS)

_40 = np.uint64(40)
_GOLDEN = np.uint64(2654435769)
_LOW = np.uint64(0xFFFFFFFF)
_SALT = 0x9E3779B1


class PatternBuffers(NamedTuple):
    """Work space and constants, made by `miai_go.nets.patterns`.

    Attributes:
      liberties: of the chains.
      codes: states of points with their margin.
      steps: offset of each of `OFFSETS` in `codes`.
      keys: of patterns, (offset * STATES + state) * 8 + symmetry; then of the places of the last
        move, the one before, and the candidate from either, each (row * SIDE + column) * 8 +
        symmetry.
      hashes: of the patterns around the last two moves, two rows of eight; and one row for work.
      moves: actions that are scored.
      scores: their scores, later their probabilities or sums.
      features: their entries in the table, `FAMILIES` each.
    """

    liberties: LibertySpace
    codes: Grid
    steps: Numbers
    keys: Keys
    hashes: Keys
    moves: Numbers
    scores: Weights
    features: Numbers


PATTERN_KEYS = len(OFFSETS) * STATES * 8
PLACE_KEYS = SIDE * SIDE * 8
PLACES = 4


@part
def entry(family: Int, feature: Int) -> Int:
    """Return the entry of a family's table for a 32-bit feature."""
    bits = BITS[family]
    # Fibonacci hashing (Knuth, The Art of Computer Programming, 6.4): the upper bits of a product
    # with the golden ratio are spread best. Features that collide share a weight.
    spread = (np.uint64(feature) * _GOLDEN) & _LOW
    where: Int = STARTS[family] + np.int64(spread >> np.uint64(32 - bits))
    return where


@part
def least(h: Keys, offset: Int) -> Int:
    """Return the least of eight hashes."""
    low = h[offset]
    for g in range(1, 8):
        low = min(low, h[offset + g])
    return np.int64(low)


@part
def add_ring(
    codes: Grid,
    center: Int,
    steps: Numbers,
    keys: Keys,
    first: Int,
    last: Int,
    h: Keys,
    offset: Int,
) -> None:
    """Add the points `first` to `last` of a pattern to its eight hashes."""
    # Eight scalars, so that the sums stay in registers.
    h0, h1, h2, h3 = h[offset], h[offset + 1], h[offset + 2], h[offset + 3]
    h4, h5, h6, h7 = h[offset + 4], h[offset + 5], h[offset + 6], h[offset + 7]
    for k in range(first, last):
        state = np.int64(codes[np.uint32(center + steps[k])])
        i = np.uint32((k * STATES + state) * 8)
        # Sums do not depend on the order of points, so a turned position has the same eight, in
        # another order.
        h0 += keys[i]
        h1 += keys[i + np.uint32(1)]
        h2 += keys[i + np.uint32(2)]
        h3 += keys[i + np.uint32(3)]
        h4 += keys[i + np.uint32(4)]
        h5 += keys[i + np.uint32(5)]
        h6 += keys[i + np.uint32(6)]
        h7 += keys[i + np.uint32(7)]
    h[offset] = h0
    h[offset + 1] = h1
    h[offset + 2] = h2
    h[offset + 3] = h3
    h[offset + 4] = h4
    h[offset + 5] = h5
    h[offset + 6] = h6
    h[offset + 7] = h7


@part
def least_with(h: Keys, offset: Int, keys: Keys, i: Int) -> Int:
    """Return the least of eight hashes, each with a key added."""
    low = h[offset] + keys[i]
    for g in range(1, 8):
        low = min(low, h[offset + g] + keys[i + g])
    return np.int64(low)


@part
def place_key(place: Int, rows: Int, columns: Int) -> Int:
    """Return the start of the keys of a nearby place; -1 if it is not near."""
    if rows < -NEAR or rows > NEAR or columns < -NEAR or columns > NEAR:
        return np.int64(-1)
    where: Int = PATTERN_KEYS + place * PLACE_KEYS + ((rows + NEAR) * SIDE + columns + NEAR) * 8
    return where


@part
def apart(rows: Int, columns: Int) -> Int:
    """Return the distance of two points, dx + dy + max(dx, dy) (Coulom 2007), at most 17."""
    rows = rows if rows > 0 else -rows
    columns = columns if columns > 0 else -columns
    distance = rows + columns + (rows if rows > columns else columns)
    return distance if distance < 17 else np.int64(17)


@part
def place_class(size: Int, row: Int, column: Int) -> Int:
    """Return the class of a point by its lines from the edges, at most 4 each; below 25."""
    near = row if row < size - 1 - row else size - 1 - row
    far = column if column < size - 1 - column else size - 1 - column
    near = near if near < 4 else np.int64(4)
    far = far if far < 4 else np.int64(4)
    return near * 5 + far if near < far else far * 5 + near


@part
def phase_of(trail: Trail) -> Int:
    """Return the phase of the game in steps of six plies, below 16."""
    phase = np.int64(trail[PLY]) // 6
    return phase if phase < 15 else np.int64(15)


@part
def read_codes(b: Words, c: Int, counts: Numbers, codes: Grid) -> None:
    """Write the state of every point for `c`."""
    size = np.int64(b[SIZE])
    p = HEADER + RECORD * (size + 2)
    q = MARGIN * (size + 2 * MARGIN) + MARGIN
    for _row in range(size):
        for _column in range(size):
            what = np.int64(b[p])
            # Entry 0 of the counts is 0, so that empty points need no branch.
            few = np.int64(counts[what >> 3])
            few = few if few < 3 else np.int64(3)
            codes[q] = few + (0 if what & 3 == c or what == 0 else 3)
            q += 1
            p += RECORD
        q += 2 * MARGIN
        p += RECORD


@part
def rescues(b: Words, p: Int, c: Int, counts: Numbers) -> bool:
    """Return whether a capture at `p` takes stones beside an own chain in atari."""
    stride = np.int64(b[STRIDE])
    for q in sides_of(p, stride):
        chain = np.int64(b[q])
        if chain & 3 != 3 - c or counts[chain >> 3] != 1:
            continue
        s = chain & ~3
        while True:
            for t in sides_of(s, stride):
                own = np.int64(b[t])
                if own & 3 == c and counts[own >> 3] == 1:
                    return True
            s = np.int64(b[s + NEXT])
            if s == chain & ~3:
                break
    return False


@part
def up_to_3(number: Int) -> Int:
    """Return a number, or 3 if it is greater."""
    return number if number < 3 else np.int64(3)


@part
def tactics(b: Words, p: Int, c: Int, width: Int, masks: Masks, counts: Numbers, last: Int) -> Int:
    """Return the effect of a legal move on the chains beside it, in 17 bits.

    `last` is the chain of the last move, or 0.
    """
    around = np.int64(b[p + AROUND])
    free = around >> 8
    stride = np.int64(b[STRIDE])
    taken: Int = np.int64(0)
    atari: Int = np.int64(0)
    third = np.int64(0)
    joins = np.int64(0)
    danger = np.int64(0)
    contact: Int = np.int64(0)
    takes = False
    before = np.int64(0)

    # Look at the chains beside the move.
    for q in sides_of(p, stride):
        chain = np.int64(b[q])
        color = chain & 3
        liberties = np.int64(counts[chain >> 3])
        if color == c:
            joins += chain != before
            before = chain
            danger |= liberties == 1
        elif color == 3 - c:
            stones = np.int64(b[chain + CHAIN_INFO]) & (LIBERTY - 1)
            takes |= liberties == 1
            if liberties == 2:
                atari = up_to_3(stones) if up_to_3(stones) > atari else atari
            third |= liberties == 3
            if chain == last:
                contact = 4 - up_to_3(liberties)

    # A stone without company and captures has the liberties beside it; else read them.
    union = masks[len(masks) - 2 * width : len(masks) - width]
    saves = False
    if joins == 0 and not takes:
        after: Int = free
    else:
        unite(b, p, c, width, masks, union)
        if takes:
            # The points of captured stones become liberties, which this adds to the union.
            taken = up_to_3(take_into(b, p, c, counts, union))
            saves = rescues(b, p, c, counts)
        after = united(width, union)
    lonely = up_to_3(joined_stones(b, p, c)) if after == 1 else np.int64(0)
    after = after if after < 5 else np.int64(5)
    joins = joins if joins < 2 else np.int64(2)
    code = taken | np.int64(saves) << 2 | danger << 3 | after << 4 | lonely << 7 | atari << 9
    return code | third << 11 | joins << 12 | contact << 14 | np.int64(b[KO] != 0) << 16


@part
def read_replies(b: Words, trail: Trail, room: PatternBuffers) -> None:
    """Hash the patterns around the last two moves, unless they were passes."""
    size = np.int64(b[SIZE])
    for i in range(2):
        action = np.int64(trail[LAST + i])
        if 0 <= action < size * size:
            row = action // size
            center = (row + MARGIN) * (size + 2 * MARGIN) + action - row * size + MARGIN
            for g in range(8):
                room.hashes[8 * i + g] = 0
            add_ring(room.codes, center, room.steps, room.keys, 0, RINGS[1], room.hashes, 8 * i)


@part
def read_move(  # noqa: C901  kernels read from top to bottom
    b: Words, p: Int, trail: Trail, c: Int, width: Int, room: PatternBuffers, chain: Int, f: Int
) -> None:
    """Write the features of a move to entries `f` and on of `room.features`."""
    size = np.int64(b[SIZE])
    points = size * size
    action = np.int64(b[p + ACTION])
    row = action // size
    column = action - row * size
    h = room.hashes
    keys = room.keys
    features = room.features
    # What the move does to the chains beside it joins several families.
    what = tactics(b, p, c, width, room.liberties.masks, room.liberties.counts, chain)
    center = (row + MARGIN) * (size + 2 * MARGIN) + column + MARGIN

    # Where the last two moves were: their places, distances, and the move as a reply to them.
    near: Int = np.int64(-1)
    before: Int = np.int64(-1)
    distance: Int = np.int64(18)
    distance_before: Int = np.int64(18)
    features[f + 7] = STARTS[7]
    features[f + 12] = STARTS[12]
    for i in range(2):
        last = np.int64(trail[LAST + i])
        if 0 <= last < points:
            rows = last // size - row
            columns = last % size - column
            place = place_key(np.int64(i), rows, columns)
            if place >= 0:
                reply = place_key(np.int64(2 + i), -rows, -columns)
                feature = least_with(h, 8 * i, keys, reply)
                if i == 0:
                    features[f + 7] = entry(7, feature)
                else:
                    features[f + 12] = entry(12, feature)
            if i == 0:
                near = place
                distance = apart(rows, columns)
            else:
                before = place
                distance_before = apart(rows, columns)

    # The patterns around the move, each continuing the hash of the smaller one.
    for g in range(16, 24):
        h[g] = 0
    add_ring(room.codes, center, room.steps, keys, 0, RINGS[0], h, 16)
    small = least(h, np.int64(16))
    features[f] = entry(0, small)
    features[f + 4] = entry(4, (small + what * _SALT) & 0xFFFFFFFF)
    add_ring(room.codes, center, room.steps, keys, RINGS[0], RINGS[1], h, 16)
    diamond = least(h, np.int64(16))
    features[f + 1] = entry(1, diamond)
    features[f + 13] = entry(13, (diamond + what * _SALT) & 0xFFFFFFFF)
    features[f + 5] = entry(5, least_with(h, 16, keys, near)) if near >= 0 else STARTS[5]
    add_ring(room.codes, center, room.steps, keys, RINGS[1], RINGS[2], h, 16)
    features[f + 2] = entry(2, least(h, np.int64(16)))
    # The places of the last moves turn with the pattern: added to each symmetry's hash, then
    # taken away again for the next ring.
    if near >= 0:
        for g in range(8):
            h[16 + g] += keys[near + g]
    if before >= 0:
        for g in range(8):
            h[16 + g] += keys[before + g]
    features[f + 6] = entry(6, least(h, np.int64(16)))
    if near >= 0:
        for g in range(8):
            h[16 + g] -= keys[near + g]
    if before >= 0:
        for g in range(8):
            h[16 + g] -= keys[before + g]
    add_ring(room.codes, center, room.steps, keys, RINGS[2], RINGS[3], h, 16)
    features[f + 3] = entry(3, least(h, np.int64(16)))

    # The families without a pattern.
    features[f + 8] = STARTS[8] + distance * 19 + distance_before
    features[f + 9] = entry(9, what * _SALT & 0xFFFFFFFF)
    features[f + 10] = STARTS[10] + place_class(size, row, column) * 16 + phase_of(trail)
    features[f + 11] = entry(11, (what * 19 + distance) * _SALT & 0xFFFFFFFF)


@part
def read_moves(b: Words, trail: Trail, room: PatternBuffers) -> Int:
    """List the moves that are legal and fill no own eye, with features; return their number."""
    size = np.int64(b[SIZE])
    c = np.int64(trail[COLOR])
    masks, counts, roots, grid = room.liberties
    width = len(masks) // (len(grid) + 2)
    chains = read_liberties(b, width, masks, roots, grid)
    count_liberties(width, masks, roots, chains, counts)
    read_codes(b, c, counts, room.codes)
    read_replies(b, trail, room)
    last = np.int64(trail[LAST])
    chain = np.int64(b[point_of(b, last)]) if 0 <= last < size * size else np.int64(0)
    n = np.int64(0)
    p = HEADER + RECORD * (size + 2)
    for _row in range(size):
        for _column in range(size):
            if b[p] == 0 and may_play(b, p, c, counts) and not fills_eye(b, p, c):
                room.moves[n] = b[p + ACTION]
                read_move(b, p, trail, c, width, room, chain, n * FAMILIES)
                n += 1
            p += RECORD
        p += RECORD
    return n


@part
def pass_entry(trail: Trail, size: Int, moves: Int) -> Int:
    """Return the entry of the pass, by whether the last move was one and the number of moves."""
    return np.int64(trail[LAST] == size * size) * 32 + min(moves, np.int64(31))


@part
def score_moves(b: Words, trail: Trail, weights: Weights, room: PatternBuffers) -> Int:
    """Write the scores of `room.moves`, then that of the pass; return the number of moves."""
    n = read_moves(b, trail, room)
    for i in range(n):
        # The logarithm of the product of the features' strengths, as in the generalised Bradley-
        # Terry model of Coulom 2007.
        score = np.float32(0)
        for f in range(i * FAMILIES, (i + 1) * FAMILIES):
            score += weights[np.uint32(room.features[np.uint32(f)])]
        room.scores[i] = score
    room.scores[n] = weights[pass_entry(trail, np.int64(b[SIZE]), n)]
    return n


@part
def to_shares(scores: Weights, n: Int) -> None:
    """Turn the first `n` scores into their softmax."""
    highest = scores[0]
    for i in range(1, n):
        highest = max(highest, scores[i])
    total = np.float32(0)
    for i in range(n):
        scores[i] = np.exp(scores[i] - highest)
        total += scores[i]
    for i in range(n):
        scores[i] /= total


@kernel
def pattern_probabilities(
    words: NDArray[np.uint32],
    trails: NDArray[np.int16],
    weights: Weights,
    room: PatternBuffers,
    out: NDArray[np.float32],
) -> None:
    """Write the probability of each action, a row per position; 0 for those not scored."""
    for i in range(len(words)):
        n = score_moves(words[i], trails[i], weights, room)
        to_shares(room.scores, n + 1)
        points = np.int64(words[i][SIZE]) * np.int64(words[i][SIZE])
        out[i][:] = 0
        for k in range(n):
            out[i][room.moves[k]] = room.scores[k]
        out[i][points] = room.scores[n]


@part
def draw_move(n: Int, room: PatternBuffers, rng: NDArray[np.uint64]) -> Int:
    """Return one of the first `n` moves, drawn by the softmax of their scores."""
    highest = room.scores[0]
    for i in range(1, n):
        highest = max(highest, room.scores[i])
    # Scores become running sums; a uniform number below the last falls into the drawn one's share.
    total = np.float32(0)
    for i in range(n):
        total += np.exp(room.scores[i] - highest)
        room.scores[i] = total
    rng[0] += GAMMA
    # 24 bits are as many as a float32 holds exactly.
    drawn = np.float32(scramble(rng[0]) >> _40) * total / np.float32(1 << 24)
    for i in range(n):
        if drawn < room.scores[i]:
            return np.int64(room.moves[i])
    return np.int64(room.moves[n - 1])  # rounding can bring the number up to the last sum


@part
def pattern_move(
    b: Words, trail: Trail, weights: Weights, room: PatternBuffers, rng: NDArray[np.uint64]
) -> Int:
    """Return an action of the player to move, drawn by the policy; a pass if there is no move."""
    n = score_moves(b, trail, weights, room)
    if n == 0:
        return np.int64(b[SIZE]) * np.int64(b[SIZE])
    return draw_move(n, room, rng)


@part
def pattern_playout(
    b: Words,
    trail: Trail,
    passes: Int,
    weights: Weights,
    record: Words,
    rng: NDArray[np.uint64],
    limit: Int,
    room: PatternBuffers,
) -> Int:
    """Play on `b` and its trail by the policy until two passes; return the number of moves.

    `passes` is the number of passes before. Moves go into `record`, as in
    `playouts.light_playout`; the playout stops after `limit` of them, or when it is full.
    """
    size = np.int64(b[SIZE])
    moves = np.int64(0)
    while passes < 2 and moves < limit and moves < len(record):
        c = np.int64(trail[COLOR])
        action = pattern_move(b, trail, weights, room, rng)
        if action == size * size:
            record[moves] = c
            passes += 1
        else:
            record[moves] = point_of(b, action) + c
            passes = 0
        play_on(b, trail, action)
        moves += 1
    return moves


class LearningTable(NamedTuple):
    """The weights, and the sums of their squared gradients, by which Adagrad divides its steps."""

    weights: Weights
    squares: Weights


@part
def correct(n: Int, target: Int, table: LearningTable, rate: float, room: PatternBuffers) -> None:
    """Move the weights of the shares in `room.scores` towards the move `target` (Adagrad)."""
    for i in range(n):
        gradient = room.scores[i] - np.float32(i == target)
        if abs(gradient) < np.float32(1e-4):  # most moves: their steps would change nothing
            continue
        for f in range(i * FAMILIES, (i + 1) * FAMILIES):
            where = np.uint32(room.features[np.uint32(f)])
            table.squares[where] += gradient * gradient
            table.weights[where] -= np.float32(rate) * gradient / np.sqrt(table.squares[where])


@kernel
def learn(
    actions: NDArray[np.int16],
    offsets: NDArray[np.int64],
    order: NDArray[np.int64],
    empty: Words,
    b: Words,
    trail: Trail,
    table: LearningTable,
    rate: float,
    room: PatternBuffers,
    report: NDArray[np.float64],
) -> Int:
    """Learn from games, or measure with a `rate` of 0; return the first game with an illegal move.

    Game i is ``actions[offsets[i]:offsets[i + 1]]`` from the empty board, Black first; -1 if all
    are legal. Adds to `report`: positions, positions whose move has the highest probability,
    cross-entropy in nats, and positions whose move is not scored since it fills an own eye, which
    count only among the positions.
    """
    weights, squares = table.weights, table.squares
    size = np.int64(empty[SIZE])
    points = size * size
    for k in range(len(order)):
        game = order[k]
        copy_words(b, empty)
        begin(b, trail, np.int64(1), np.int64(0))
        for t in range(offsets[game], offsets[game + 1]):
            action = np.int64(actions[t])
            if action < 0 or action > points:
                return np.int64(game)
            if action < points and not legal(b, point_of(b, action), np.int64(trail[COLOR]), False):
                return np.int64(game)

            # Find the move played, and the most likely one, among the moves scored and the pass.
            n = score_moves(b, trail, weights, room)
            target = n if action == points else np.int64(-1)
            best = np.int64(0)
            for i in range(n + 1):
                if i < n and room.moves[i] == action:
                    target = np.int64(i)
                if room.scores[i] > room.scores[best]:
                    best = np.int64(i)

            # Measure, then learn: the report is of weights that have not seen the position.
            report[0] += 1
            if target < 0:
                report[3] += 1
            else:
                to_shares(room.scores, n + 1)
                report[1] += best == target
                report[2] -= np.log(max(room.scores[target], np.float32(1e-30)))
                if rate > 0:
                    correct(n, target, table, rate, room)
                    where = pass_entry(trail, size, n)
                    gradient = room.scores[n] - np.float32(target == n)
                    squares[where] += gradient * gradient
                    weights[where] -= np.float32(rate) * gradient / np.sqrt(squares[where])
            play_on(b, trail, action)
    return np.int64(-1)

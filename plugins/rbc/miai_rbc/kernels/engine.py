"""The embedded engine: alpha-beta over boards in which capturing the king wins.

The value of a board at a depth is a minimax value, a function of the two: no pruning can change it,
and table entries are used only at the same depth. So it depends neither on the table nor on the
order of moves, and boards of a batch may share the table.

Quiescence follows beyond the depth: the side to move may stand pat, or play a capture or promotion
that may win material; if its king is attacked, it has to move and tries all moves. Moves follow the
rules of Reconnaissance Blind Chess: they may leave the king to be captured.

The search is one loop over frames, a row of int64 for each ply, as numba cannot cache a recursive
kernel. A row of the tree is the eight words of a board, its hash with the side to move (`KEY`) and
the packed values of its pieces on their squares (`SQUARES`, an int64 kept as uint64). A *described*
move is a taken move with the piece that moves in bits 15 to 17 and the piece it captures, 6 for
none, in bits 18 to 20.

Moves are listed in stages and the most promising tried first. A list is a row of int64: a described
move in bits 0 to 20 and, above, its weight. The heaviest is tried next; of equal weights the larger
number. The memory of a search is an int64 array: its counters and switches, two killer moves for
each ply, and a history of how often a piece's move to a square caused a cut-off.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from miai.kernels import spelt_out
from miai.kernels.bits import lowest, prefetch
from miai_rbc.kernels import inlined, kernel, part
from miai_rbc.kernels.bitboards import (
    KING,
    KNIGHT,
    NUMBER_0,
    PAWN,
    U64,
    WIN,
    Int,
    Words,
    bishop_attacks,
    bit,
    rook_attacks,
)
from miai_rbc.kernels.board import (
    BISHOPS,
    EP_KEYS,
    EP_SHIFT,
    KEPT_RIGHTS,
    KINGS,
    KNIGHTS,
    PAWNS,
    PIECE_KEYS,
    QUEENS,
    RIGHTS_KEYS,
    RIGHTS_SHIFT,
    ROOKS,
    STATE,
    WHITE,
    WORDS,
    ep_after,
    ep_of,
    occupied,
    rights_of,
    turn_of,
    type_at,
)
from miai_rbc.kernels.evaluation import SQUARE_VALUES, static_value
from miai_rbc.kernels.moves import MAX_MOVES, taken_moves

# -- the boards from the root to the current node --------------------------------------------------

KEY, SQUARES, ROW_WORDS = 8, 9, 10
MAX_PLY = 128
"""Rows of a tree, the maximum depth of a search."""
TAKEN = 0x7FFF
"""The bits of a described move that are the taken move."""
NO_CAPTURE = 6

TURN_KEY = np.uint64(0x9D39247E33776D41 ^ 0x5BF03635B5F7F1A3)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@inlined
def describe(b: Words, move: Int) -> Int:
    """Return a taken move other than `NOTHING` with the pieces that move and are captured."""
    end = (move >> 6) & 63
    kind = type_at(b, bit(move & 63))
    captured = type_at(b, bit(end))
    if kind == PAWNS and end == ep_of(b):
        captured = PAWNS
    return move | kind << 15 | captured << 18


@spelt_out
def plant(tree: Words, board: Words, salt: np.uint64) -> None:
    """Make a board the root; `salt` is mixed into its key and so into all keys below it."""
    root = tree[0]
    for word in range(WORDS):
        root[word] = board[word]
    # Hash and values of squares are made here only; a move changes a few terms of them.
    key = salt ^ RIGHTS_KEYS[rights_of(root)] ^ EP_KEYS[ep_of(root) + 1]
    if turn_of(root):
        key ^= TURN_KEY
    squares = np.int64(0)
    for kind in range(6):
        remaining = root[kind]
        while remaining:
            square = lowest(remaining)
            remaining &= remaining - _ONE
            colour = 0 if root[WHITE] & bit(square) else 1
            key ^= PIECE_KEYS[colour, kind, square]
            squares += SQUARE_VALUES[colour, kind, square]
    root[KEY], root[SQUARES] = key, U64(squares)


@inlined
def advance(tree: Words, ply: Int, move: Int) -> None:
    """Write the row after a described move to the next ply, as `board.play` would."""
    # bound once, as each mention of a constant array is compiled again
    keys, values, rights_masks = PIECE_KEYS, SQUARE_VALUES, KEPT_RIGHTS
    ep_keys, rights_keys = EP_KEYS, RIGHTS_KEYS
    b, out = tree[ply], tree[ply + 1]
    turn, rights, ep = turn_of(b), rights_of(b), ep_of(b)
    start, end, becomes = move & 63, (move >> 6) & 63, (move >> 12) & 7
    kind, captured = (move >> 15) & 7, (move >> 18) & 7
    key = b[KEY] ^ TURN_KEY ^ ep_keys[ep + 1] ^ rights_keys[rights]
    squares = np.int64(b[SQUARES])
    for word in range(7):
        out[word] = b[word]
    # The captured piece first, as its square may be where the other arrives.
    if captured != NO_CAPTURE:
        square: Int = end
        if kind == PAWNS and end == ep:
            square = end + 8 if turn else end - 8
        out[captured] ^= bit(square)
        out[WHITE] &= ~bit(square)
        key ^= keys[turn ^ 1, captured, square]
        squares -= values[turn ^ 1, captured, square]
    final_kind = becomes if becomes else kind
    out[kind] ^= bit(start)
    out[final_kind] ^= bit(end)
    changes = bit(start) | bit(end)
    key ^= keys[turn, kind, start] ^ keys[turn, final_kind, end]
    squares += values[turn, final_kind, end] - values[turn, kind, start]
    new_ep: Int = 0
    if kind == PAWNS:
        if abs(end - start) == 16:
            new_ep = ep_after(b, turn, start, end)
    elif kind == KINGS and abs(end - start) == 2:
        rook, hop = end + 1 if end > start else end - 2, (start + end) // 2
        both = bit(rook) | bit(hop)
        out[ROOKS] ^= both
        changes |= both
        key ^= keys[turn, ROOKS, rook] ^ keys[turn, ROOKS, hop]
        squares += values[turn, ROOKS, hop] - values[turn, ROOKS, rook]
    if turn == 0:
        out[WHITE] ^= changes
    castling = U64(rights) & rights_masks[start] & rights_masks[end]
    out[STATE] = U64(turn ^ 1) | castling << RIGHTS_SHIFT | U64(new_ep) << EP_SHIFT
    out[KEY] = key ^ ep_keys[new_ep] ^ rights_keys[np.int64(castling)]
    out[SQUARES] = U64(squares)


@part
def attackers(b: Words, square: Int, colour: Int, occ: np.uint64) -> np.uint64:
    """Return the pieces of a colour that attack a square, if only `occ` is occupied."""
    side = (~b[WHITE] if colour else b[WHITE]) & occ
    pieces = PAWN[colour ^ 1, square] & b[PAWNS] | KNIGHT[square] & b[KNIGHTS]
    pieces |= KING[square] & b[KINGS]
    pieces |= bishop_attacks(square, occ) & (b[BISHOPS] | b[QUEENS])
    pieces |= rook_attacks(square, occ) & (b[ROOKS] | b[QUEENS])
    return U64(side & pieces)


@inlined
def king_attackers(b: Words, colour: Int) -> np.uint64:
    """Return the pieces of a colour that attack the other's king, which must be there."""
    king = b[KINGS] & (b[WHITE] if colour else ~b[WHITE])
    return attackers(b, lowest(king), colour, occupied(b))


# -- move ordering ---------------------------------------------------------------------------------

List: TypeAlias = NDArray[Any]
Memory: TypeAlias = NDArray[np.int64]

NODES, LIMIT, STOPPED, QUIESCENCE = range(4)
"""Indices of a memory: nodes so far, the node limit, whether the search stopped, and whether
captures are searched beyond the depth."""
_KILLERS = 8
_HISTORY = _KILLERS + 2 * MAX_PLY
MEMORY = _HISTORY + 2 * 6 * 64

LIST = MAX_MOVES + 8
"""Length of a list; not a multiple of the cache's stride."""
DESCRIBED = 0x1FFFFF
"""The bits of an entry that are the described move."""

CAPTURES, QUIETS, FORCING = np.int64(1), np.int64(2), np.int64(4)
"""The kinds of moves; see `list_moves`."""

_WEIGHT = 21
_SLIGHT = 50  # centipawns; pieces that differ by no more count as equal
_PROMOTION, _FIRST_KILLER, _SECOND_KILLER = 1 << 22, (1 << 21) + 1, 1 << 21
_MAX_HISTORY = 1 << 20

VALUES = np.array([100, 320, 330, 500, 950, 20_000, 0], np.int64)
"""Centipawns of a piece in exchanges."""

_8, _ALL = np.uint64(8), np.uint64(0xFFFFFFFFFFFFFFFF)
_RANK_7, _RANK_2 = np.uint64(0xFF << 48), np.uint64(0xFF << 8)


@inlined
def heaviest(moves: List, i: Int, n: Int) -> Int:
    """Swap the heaviest entry of `moves[i:n]` to index `i`; return its described move."""
    # Selection instead of a sort: most nodes are cut off after a few moves.
    best, top = i, moves[i]
    for j in range(i + 1, n):
        if moves[j] > top:
            best, top = j, moves[j]
    moves[best] = moves[i]
    moves[i] = top
    move: Int = top & DESCRIBED
    return move


@part
def list_moves(b: Words, what: Int, moves: List, memory: Memory, ply: Int) -> Int:
    """List moves with their weights; return their number.

    `CAPTURES`: the most valuable victim first, then the least valuable attacker. `QUIETS`, which
    capture nothing: promotions, killers, then by history. `FORCING`: captures and promotions that
    may win material, without captures of defended lesser pieces and underpromotions.
    """
    turn, occ = turn_of(b), occupied(b)
    n = taken_moves(b, _ZERO if what == QUIETS else _ALL, what == QUIETS, moves)
    first, second = memory[_KILLERS + 2 * ply], memory[_KILLERS + 2 * ply + 1]
    count: Int = 0
    for i in range(n):
        move = describe(b, np.int64(moves[i]))
        start, end, becomes = move & 63, (move >> 6) & 63, (move >> 12) & 7
        kind, captured = (move >> 15) & 7, (move >> 18) & 7
        if what == QUIETS:
            weight: Int = memory[_place(turn, move)]
            if becomes == QUEENS:
                weight = _PROMOTION
            elif move == first:
                weight = _FIRST_KILLER
            elif move == second:
                weight = _SECOND_KILLER
        else:
            # Most valuable victim first. The factor 16 keeps a promotion, worth up to 850 more in
            # `becomes`, from outweighing a better victim, knight and bishop aside. Among equal
            # victims the promotion decides, then the attacker, the least valuable first.
            weight = 16 * VALUES[captured] + VALUES[becomes] - kind
            if what == FORCING:
                if becomes != 0 and becomes != QUEENS:
                    continue
                # Instead of a full exchange: a piece that takes a lesser, defended one rarely
                # gains.
                if VALUES[kind] > VALUES[captured] + _SLIGHT and attackers(
                    b, end, turn ^ 1, occ & ~bit(start)
                ):
                    continue
        moves[count] = move | weight << _WEIGHT
        count += 1
    if what == FORCING:
        count = _add_promotions(b, turn, occ, moves, count)
    return count


@spelt_out
def _add_promotions(b: Words, turn: Int, occ: np.uint64, moves: List, n: Int) -> Int:
    """Add the promotions to a queen that capture nothing."""
    pawns = b[PAWNS] & (~b[WHITE] & _RANK_2 if turn else b[WHITE] & _RANK_7)
    pawns &= ~(occ << _8 if turn else occ >> _8)
    while pawns:
        start = lowest(pawns)
        pawns &= pawns - _ONE
        end = start - 8 if turn else start + 8
        moves[n] = start | end << 6 | QUEENS << 12 | NO_CAPTURE << 18 | 16 * 800 << _WEIGHT
        n += 1
    return n


@inlined
def _place(turn: Int, move: Int) -> Int:
    return _HISTORY + (6 * turn + ((move >> 15) & 7)) * 64 + ((move >> 6) & 63)


@spelt_out
def credit(memory: Memory, ply: Int, turn: Int, move: Int, depth: Int) -> None:
    """Record that a move without capture caused a cut-off."""
    # Two different ones are kept, the newest first.
    if memory[_KILLERS + 2 * ply] != move:
        memory[_KILLERS + 2 * ply + 1] = memory[_KILLERS + 2 * ply]
        memory[_KILLERS + 2 * ply] = move
    place = _place(turn, move)
    # Cut-offs near the root saved more, and count more.
    memory[place] = min(memory[place] + depth * depth, _MAX_HISTORY)


@spelt_out
def forget(memory: Memory) -> None:
    """Forget killers and history."""
    for i in range(_KILLERS, MEMORY):
        memory[i] = 0


# -- the search ------------------------------------------------------------------------------------

Frames: TypeAlias = NDArray[np.int64]

INFINITE = 1 << 20
DECIDED = WIN - 1000

DEPTH, ALPHA, BETA, LOW, BEST, BEST_MOVE, STAGE, COUNT, AT, MOVE, KNOWN, SCOUT, AGAIN = range(13)
"""Indices of a frame: plies left; the window; its current lower end; the best value and move so
far; the stage to list next; the numbers of moves listed and tried; the current move; the table's
move; whether the current move has an empty window, and whether it must be searched again."""
FRAME_WORDS = 16

_EXACT, _LOWER, _UPPER = 3, 1, 2
UNKNOWN = 1 << 30
"""A value not yet known."""
_FROM_TABLE, _DONE = CAPTURES - 1, QUIETS + 1  # stages before and after those of `list_moves`
_15, _17, _24 = np.uint64(15), np.uint64(17), np.uint64(24)


@inlined
def _slot(table: Words, key: np.uint64) -> Int:
    """Return the index of a key in a table of pairs of key and entry, a power of two of them."""
    return 2 * np.int64(key & U64(len(table) // 2 - 1))


@spelt_out
def _probe(tree: Words, f: Frames, table: Words, ply: Int) -> Int:
    """Return the table's value for this window, or `UNKNOWN`; note its move."""
    b = tree[ply]
    slot = _slot(table, b[KEY])
    if table[slot] != b[KEY]:
        return UNKNOWN
    entry = table[slot + 1]
    f[KNOWN] = describe(b, np.int64(entry) & TAKEN)
    f[STAGE] = _FROM_TABLE
    if np.int64(entry >> _17) & 127 != f[DEPTH]:
        return UNKNOWN
    # Decided values are stored from the board's own view: plies to the end from here, not the root.
    value, bound = np.int64(entry >> _24) - INFINITE, np.int64(entry >> _15) & 3
    if value > DECIDED:
        value -= ply
    elif value < -DECIDED:
        value += ply
    if bound == _EXACT or (value >= f[BETA] if bound == _LOWER else value <= f[ALPHA]):
        return value
    return UNKNOWN


@spelt_out
def open_node(tree: Words, frames: Frames, memory: Memory, table: Words, ply: Int) -> Int:
    """Begin a node; return its value if no move has to be tried, else `UNKNOWN`."""
    b, f = tree[ply], frames[ply]
    memory[NODES] += 1
    turn = turn_of(b)
    if king_attackers(b, turn):  # the king is taken, which ends the game
        return WIN - ply - 1
    f[LOW], f[BEST], f[BEST_MOVE] = f[ALPHA], -INFINITE, 0
    f[STAGE], f[COUNT], f[AT] = CAPTURES, 0, 0
    f[KNOWN], f[AGAIN] = 0, 0
    if f[DEPTH] > 0:
        return _probe(tree, f, table, ply)
    # Beyond the depth: a side in check may not stand pat, and has to try all moves.
    end = memory[QUIESCENCE] == 0 or ply >= MAX_PLY - 2
    if not end and king_attackers(b, turn ^ 1) != _ZERO:
        return UNKNOWN
    value: Int = static_value(b, np.int64(b[SQUARES]))
    if end or value >= f[BETA]:
        return value
    f[BEST], f[LOW], f[STAGE] = value, max(f[LOW], value), FORCING
    return UNKNOWN


@spelt_out
def next_move(tree: Words, frames: Frames, lists: List, memory: Memory, ply: Int) -> Int:
    """Return the next move to try, 0 if none is left."""
    b, f, moves = tree[ply], frames[ply], lists[ply]
    if f[AGAIN]:
        return np.int64(f[MOVE])
    # The table's move before anything is listed: if it cuts off, no list is needed.
    while True:
        while f[AT] < f[COUNT]:
            move = heaviest(moves, f[AT], f[COUNT])
            f[AT] += 1
            if move != f[KNOWN]:
                f[MOVE] = move
                return move
        stage = f[STAGE]
        if stage == _DONE:
            return 0
        f[STAGE] = _DONE if stage == FORCING else stage + 1
        if stage == _FROM_TABLE:
            f[MOVE] = f[KNOWN]
            return np.int64(f[KNOWN])
        f[AT], f[COUNT] = 0, list_moves(b, stage, moves, memory, ply)


@spelt_out
def descend(tree: Words, frames: Frames, table: Words, ply: Int) -> None:
    """Make the current move, and set the window for its board."""
    f, child = frames[ply], frames[ply + 1]
    advance(tree, ply, f[MOVE])
    depth = f[DEPTH] - 1
    if depth > 0:  # its entry is on the way while the node is opened
        prefetch(table, _slot(table, tree[ply + 1, KEY]))
    # A scout: once a move has a value, the others are asked only whether they are better.
    whole = depth < 0 or f[AGAIN] or f[BEST] == -INFINITE or f[BETA] - f[LOW] == 1
    f[SCOUT], f[AGAIN] = 0 if whole else 1, 0
    child[DEPTH] = depth
    child[ALPHA], child[BETA] = -f[BETA] if whole else -f[LOW] - 1, -f[LOW]


@spelt_out
def fold_value(tree: Words, frames: Frames, memory: Memory, ply: Int, value: Int) -> None:
    """Update a node with the value of its current move; a cut-off ends it."""
    f = frames[ply]
    if f[SCOUT] and f[LOW] < value < f[BETA]:
        f[AGAIN] = 1
    elif value > f[BEST]:
        f[BEST], f[BEST_MOVE], f[LOW] = value, f[MOVE], max(f[LOW], value)
        if value >= f[BETA]:
            f[STAGE], f[COUNT] = _DONE, 0
            if f[MOVE] >> 18 == NO_CAPTURE:
                credit(memory, ply, turn_of(tree[ply]), f[MOVE], f[DEPTH])


@spelt_out
def close_node(tree: Words, frames: Frames, table: Words, ply: Int) -> Int:
    """Return the value of a completed node, and enter it into the table."""
    b, f = tree[ply], frames[ply]
    best: Int = f[BEST]
    # No move was tried: without one a side passes, which ends nothing.
    # So it does where every move loses a king that is not attacked.
    stuck = best == ply + 2 - WIN and f[DEPTH] > 0 and not king_attackers(b, turn_of(b) ^ 1)
    if best == -INFINITE or stuck:
        return static_value(b, np.int64(b[SQUARES]))
    if f[DEPTH] > 0:
        bound = _LOWER if best >= f[BETA] else _EXACT if best > f[ALPHA] else _UPPER
        value = best
        if best > DECIDED:
            value += ply
        elif best < -DECIDED:
            value -= ply
        slot = _slot(table, b[KEY])
        table[slot] = b[KEY]
        entry = f[BEST_MOVE] & TAKEN | bound << 15 | f[DEPTH] << 17 | (value + INFINITE) << 24
        table[slot + 1] = U64(entry)
    return best


@part
def search(tree: Words, frames: Frames, lists: List, memory: Memory, table: Words) -> Int:
    """Return the value of a move at the root, in centipawns, for the side that makes it.

    The root's frame holds `MOVE`, `DEPTH` including that move, and the window from `LOW` to `BETA`,
    with `AGAIN` set. A value inside the window is exact; at or beyond its ends it is a bound. When
    the nodes run out, `memory[STOPPED]` is set and the value is meaningless.
    """
    ply = NUMBER_0
    while memory[NODES] < memory[LIMIT]:
        # Down a move, to a value at once or the next move to try.
        descend(tree, frames, table, ply)
        ply += 1
        value = open_node(tree, frames, memory, table, ply)

        # Up while nodes are complete: a value is for the side to move, so it changes sign.
        while value != UNKNOWN or next_move(tree, frames, lists, memory, ply) == 0:
            if value == UNKNOWN:
                value = close_node(tree, frames, table, ply)
            if ply == 1:
                return -value
            ply -= 1
            fold_value(tree, frames, memory, ply, -value)
            value = UNKNOWN
    memory[STOPPED] = 1
    return 0


# -- best moves of whole batches of boards ---------------------------------------------------------

Scores: TypeAlias = NDArray[np.int32]
Settings: TypeAlias = NDArray[np.int64]

PLIES, NODES_A_BOARD, NODES_AT_ONCE, NODES_AT_MOST, QUIET, SALTED, BOARDS = range(7)
SETTINGS = 7
"""Indices of the settings: plies; nodes of one board, 0 for no limit; nodes after which the call
returns once the current board is done; nodes after which that board is cut short; whether there is
quiescence; whether each board has a table of its own; the number of boards before this batch."""

_SALT = np.uint64(0x9E3779B97F4A7C15)


class SearchSpace(NamedTuple):
    """What a search works on; see the top of this module.

    Attributes:
      tree: (`MAX_PLY`, `ROW_WORDS`).
      frames: (`MAX_PLY`, `FRAME_WORDS`).
      lists: (`MAX_PLY`, `LIST`).
      memory: (`MEMORY`,).
    """

    tree: Words
    frames: Frames
    lists: List
    memory: Memory


class BestMoves(NamedTuple):
    """The best moves of one board so far and their values, both (top,) or longer."""

    moves: Scores
    values: Scores


class Evaluations(NamedTuple):
    """Values of boards, as in `protocol.BoardEvaluations`: (n,), (n, top), (n, top)."""

    scores: Scores
    moves: Scores
    move_scores: Scores


@spelt_out
def _list_all(b: Words, moves: List, memory: Memory) -> Int:
    """List all moves, most promising first, in an order that depends on the board only."""
    captures = list_moves(b, CAPTURES, moves, memory, NUMBER_0)
    n = captures + list_moves(b, QUIETS, moves[captures:], memory, NUMBER_0)
    for i in range(n):
        heaviest(moves, i, captures if i < captures else n)
    for i in range(n):
        moves[i] &= DESCRIBED
    return n


@spelt_out
def _enter(move: Int, value: Int, count: Int, best: Scores, values: Scores) -> Int:
    """Insert a move into the list of the best ones, behind its equals; return their number."""
    top = len(best)
    rank = count if count < top else top - 1
    while rank > 0 and values[rank - 1] < value:
        best[rank], values[rank] = best[rank - 1], values[rank - 1]
        rank -= 1
    best[rank], values[rank] = move, value
    return min(count + 1, top)


@spelt_out
def _iterate(
    tree: Words,
    frames: Frames,
    lists: List,
    memory: Memory,
    table: Words,
    n: Int,
    depth: Int,
    ranking: BestMoves,
) -> Int:
    """Search the root's `n` moves to a depth and list the best; return their number.

    Once the list is full, a move is asked only whether it beats the last one listed, and searched
    again for its value if it does.
    """
    best, values = ranking.moves, ranking.values
    moves, f = lists[0], frames[0]
    count: Int = 0
    for i in range(n):
        low = -INFINITE if count < len(best) else np.int64(values[len(best) - 1])
        f[MOVE], f[DEPTH], f[LOW] = moves[i], depth, low
        f[BETA] = INFINITE if count < len(best) else low + 1
        f[AGAIN] = 1
        value = search(tree, frames, lists, memory, table)
        if f[BETA] <= value < INFINITE and not memory[STOPPED]:
            f[BETA], f[AGAIN] = INFINITE, 1
            value = search(tree, frames, lists, memory, table)
        if memory[STOPPED]:
            return 0
        if value > low:
            count = _enter(moves[i], value, count, best, values)
    return count


@spelt_out
def _to_front(moves: List, n: Int, best: Scores, count: Int) -> None:
    """Move the best moves to the front of the list; the others keep their order."""
    # One by one from the best: those between move down a place and keep their order.
    for rank in range(count):
        place = rank
        while moves[place] != best[rank]:
            place += 1
        while place > rank:
            moves[place] = moves[place - 1]
            place -= 1
        moves[rank] = best[rank]


@spelt_out
def _captures_of_king(b: Words, moves: List, n: Int) -> Int:
    """Keep only the moves that capture the king; return their number."""
    king = b[KINGS] & (b[WHITE] if turn_of(b) else ~b[WHITE])
    count = 0
    for i in range(n):
        if bit((np.int64(moves[i]) >> 6) & 63) & king:
            moves[count] = moves[i]
            count += 1
    return count


@spelt_out
def _write(best: Scores, values: Scores, count: Int, out: Scores, out_values: Scores) -> None:
    for rank in range(count):
        out[rank] = best[rank] & TAKEN
        out_values[rank] = values[rank]


@spelt_out
def _first_look(
    b: Words, lists: List, memory: Memory, out: Scores, out_values: Scores
) -> tuple[Int, Int, bool]:
    """List the root's moves and value it without search.

    Returns:
      Value, number of moves and whether the value is final.
    """
    turn, occ = turn_of(b), occupied(b)
    # A belief's boards may lack a king; the search below relies on both.
    mine = b[WHITE] if turn == 0 else occ & ~b[WHITE]
    if not b[KINGS] & mine:
        return -WIN, 0, True
    if not b[KINGS] & occ & ~mine:
        return WIN, 0, True
    moves = lists[0]
    n = _list_all(b, moves, memory)
    value = static_value(b, np.int64(b[SQUARES]))
    wins = king_attackers(b, turn) != _ZERO
    if wins:
        n, value = _captures_of_king(b, moves, n), WIN - 1
    for rank in range(min(n, len(out) if wins else 1)):
        out[rank] = np.int64(moves[rank]) & TAKEN
        out_values[rank] = value
    return value, n, wins or n == 0


@kernel
def value_boards(
    boards: Words,
    first: Int,
    settings: Settings,
    space: SearchSpace,
    table: Words,
    best: BestMoves,
    evaluations: Evaluations,
) -> Int:
    """Value boards from number `first` on; return the number of the first one left.

    `memory[NODES]` is set to the number of nodes searched. Entries of the evaluations without a
    move are unchanged.

    Args:
      boards: uint64 (n, 8).
      settings: int64 (`SETTINGS`,), see `PLIES`. A depth of 0 is a value without search.
      space, best: work space.
    """
    tree, frames, lists, memory = space
    results = Evaluations(*evaluations)
    top = results.moves.shape[1]
    ranking = BestMoves(best[0][:top], best[1][:top])
    spent = np.int64(0)
    memory[QUIESCENCE] = settings[QUIET]
    done = first
    while done < len(boards) and spent < settings[NODES_AT_ONCE]:
        # Each board starts without killers and history, so that its value needs no other board.
        forget(memory)
        memory[NODES], memory[STOPPED] = 0, 0
        remaining = settings[NODES_AT_MOST] - spent
        memory[LIMIT] = (
            min(remaining, settings[NODES_A_BOARD]) if settings[NODES_A_BOARD] else remaining
        )
        # A salt of its own gives a board its own part of the table.
        salt = U64(settings[BOARDS] + done + 1) * _SALT if settings[SALTED] else _ZERO
        plant(tree, boards[done], salt)
        out, out_values = results.moves[done], results.move_scores[done]
        value, n, settled = _first_look(tree[0], lists, memory, out, out_values)
        results.scores[done] = value

        # Deepen: the best moves of one depth are tried first at the next; drop one cut short.
        for depth in range(1, 1 if settled else settings[PLIES] + 1):
            count = _iterate(tree, frames, lists, memory, table, n, depth, ranking)
            if count == 0:
                break
            _to_front(lists[0], n, ranking.moves, count)
            _write(ranking.moves, ranking.values, count, out, out_values)
            results.scores[done] = ranking.values[0]
        spent += memory[NODES]
        done += 1
    memory[NODES] = spent
    return done

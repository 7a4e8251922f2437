"""Replays a recorded game and checks the record; makes records of games from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from typing import Any, Final, TypeVar

from miai.errors import ConfigError, GameError, MiaiError, RecordError
from miai.game import Game, Player, State
from miai.plain import Json
from miai.playing.match import new_record
from miai.record import (
    GameRecord,
    MoveRecord,
    PlayerRecord,
    Termination,
    VerdictRecord,
    observations_as_json,
)
from miai.record_reader import MAX_VARIATIONS

_TOLERANCE = 1e-9

_NO_LOSER = (
    Termination.TERMINAL,
    Termination.UNFINISHED,
    Termination.MOVE_LIMIT,
    Termination.ADJUDICATION,
    Termination.AGREEMENT,
)


def replay(record: GameRecord, game: Game | None = None) -> State:
    """Return the last state of a recorded game after checking the whole record.

    Checked are the game's version, the actor, legality and notation of every action, the players'
    observations (in games with hidden information), how the game ended, and its returns. By default
    the game is the registered one, with the record's parameters.

    Raises `RecordError`, which names the ply, if the record contradicts the game, and `ConfigError`
    if the game is a program that may not run, see `miai.api.recorded_game`.
    """
    game = _load(record) if game is None else game
    if (game.info.name, game.info.version) != (record.game, record.game_version):
        raise RecordError(
            f"recorded from {record.game} version {record.game_version}, replayed with "
            f"{game.info.name} version {game.info.version}; install the recorded version"
        )
    if len(record.players) != game.num_players():
        raise RecordError(
            f"{record.game} is a game of {game.num_players()} players, recorded with "
            f"{len(record.players)}"
        )
    state = game.new_initial_state()
    _check_observations(state, record.start_observations, "at the start")
    for move in record.moves:
        _apply(state, move)
    _check_end(record, state)
    for _ in variation_actions(record, game):
        pass
    return state


def variation_actions(record: GameRecord, game: Game) -> Iterator[tuple[MoveRecord, State]]:
    """Yield the actions of a record's variations, and the states that they lead to.

    Raises `RecordError` if an action is not legal.
    """
    begun = Counter(position for position, _ in record.variations)
    states: dict[int, State] = {}  # those that variations are yet to leave
    state = game.new_initial_state()
    for number, move in enumerate([*record.moves, None] if begun else []):
        if number in begun:
            states[number] = state.clone()
        if move is not None:
            state.apply_action(move.action)
    for number, (position, action) in enumerate(record.variations, len(record.moves) + 1):
        try:
            state = states[position].clone()
            begun[position] -= 1
            if not begun[position]:
                del states[position]
            move = MoveRecord(
                ply=len(state.history()), actor=int(state.next_actor()), action=action, text=""
            )
            move.text = state.action_to_string(action)
            state.apply_action(action)
        except (GameError, KeyError) as error:
            where = f"{record.game}: a variation from position {position}"
            raise RecordError(f"{where}: {error}") from error
        if number in begun:
            states[number] = state
        yield move, state


def line_to(record: GameRecord, position: int) -> list[int]:
    """Return the actions that lead to a position, of the game or of a variation.

    Raises `RecordError` if there is no such position.
    """
    behind: list[int] = []
    first = len(record.moves) + 1
    if not 0 <= position < first + len(record.variations):
        raise RecordError(f"{record.game}: there is no position {position}")
    while position >= first:
        position, action = record.variations[position - first]
        behind.append(action)
    return [move.action for move in record.moves[:position]] + behind[::-1]


def state_at(record: GameRecord, game: Game, position: int) -> State:
    """Return the state at a position of a record. Raises `RecordError` if there is none."""
    state = game.new_initial_state()
    try:
        for action in line_to(record, position):
            state.apply_action(action)
    except GameError as error:
        raise RecordError(f"{record.game}: position {position}: {error}") from error
    return state


def add_line(record: GameRecord, game: Game, position: int, actions: Iterable[int]) -> int:
    """Add the actions that a record lacks as a variation, and return the number of the last.

    Args:
      position: where the line begins; actions that lead on from it are followed.

    Raises `RecordError` if an action is not legal, or the record has `MAX_VARIATIONS`.
    """
    first, state = len(record.moves) + 1, state_at(record, game, position)
    known = {(ply, move.action): ply + 1 for ply, move in enumerate(record.moves)}
    for number, step in enumerate(record.variations, first):
        known.setdefault(step, number)
    new: list[tuple[int, int]] = []
    try:
        for action in actions:
            state.apply_action(action)
            step = position, action
            if step not in known:
                new.append(step)
            position = known.setdefault(step, first + len(record.variations) + len(new) - 1)
    except GameError as error:
        raise RecordError(str(error)) from error
    if len(record.variations) + len(new) > MAX_VARIATIONS:
        raise RecordError(f"a record has at most {MAX_VARIATIONS} actions of variations")
    record.variations = [*record.variations, *new]
    return position


NodeT = TypeVar("NodeT")
_MOST_NOTES: Final = 100


def add_tree(
    record: GameRecord,
    game: Game,
    main: Iterable[tuple[NodeT, int | None]],
    *,
    children: Callable[[NodeT], Sequence[NodeT]],
    actions: Callable[[NodeT, State], Sequence[int]],
    comment: Callable[[NodeT], str],
    marks: Callable[[NodeT], Iterable[tuple[str, str]]],
    nodes: dict[int, NodeT],
) -> str:
    """Add the comments, variations and marks of a file to the record of its main line.

    A variation is shown up to what the rules of `game` forbid; a comment there says why it stops.

    Args:
      main: the nodes of the main line with the number of actions up to each, None before the
        record begins.
      children: the nodes that follow a node, the main line's first.
      actions: lead from a state to a node, at most 2; `MiaiError` or `ValueError` says why none.
      comment: what is said of a node.
      marks: the regions that are marked in a node, with their signs; see `GameRecord.marks`.
      nodes: filled with the node of each position.

    Returns a warning if not all is shown; at most `MAX_VARIATIONS` actions are.
    """
    comments: dict[int, list[str]] = {}
    stopped = 0

    def annotate(node: NodeT, position: int) -> None:
        comments.setdefault(position, []).append(comment(node))
        record.marks += [(position, *mark) for mark in marks(node)]
        nodes.setdefault(position, node)

    for node, plies, state in _states_along(record, game, main):
        position = plies or 0
        annotate(node, position)
        nodes[position] = node
        pending = [(child, position, state.clone()) for child in reversed(children(node)[1:])]
        while pending:
            node, position, before = pending.pop()
            try:
                _check_place(plies, len(record.variations) + stopped)
                taken = actions(node, before)
                after = reduce(lambda state, action: state.child(action), taken, before)
            except (MiaiError, ValueError) as error:
                if stopped < _MOST_NOTES:
                    why = str(error).partition("\n")[0]
                    comments.setdefault(position, []).append(f"[A variation stops here: {why}]")
                stopped += 1
                continue
            for action in taken:
                record.variations.append((position, action))
                position = len(record.moves) + len(record.variations)
            annotate(node, position)
            pending += [(child, position, after) for child in reversed(children(node))]
    texts = ((at, "\n\n".join(filter(None, said))) for at, said in sorted(comments.items()))
    record.comments = [(at, said) for at, said in texts if said.strip()]
    del record.marks[MAX_VARIATIONS:]
    return f"variations that cannot be shown, but are kept: {stopped}" if stopped else ""


def _check_place(plies: int | None, actions: int) -> None:
    """Raise `ValueError`, which says why a variation cannot be shown after so many actions."""
    if plies is None:
        raise ValueError("it begins before this position")
    if actions > MAX_VARIATIONS - 2:
        raise ValueError(f"at most {MAX_VARIATIONS} actions of variations are shown")


def _states_along(
    record: GameRecord, game: Game, main: Iterable[tuple[NodeT, int | None]]
) -> Iterator[tuple[NodeT, int | None, State]]:
    """Yield each node of a main line with its number of actions and the state, always the same."""
    state, played = game.new_initial_state(), 0
    for node, plies in main:
        for move in record.moves[played : plies or 0]:
            state.apply_action(move.action)
        played = max(played, plies or 0)
        yield node, plies, state


def added_notes(
    record: GameRecord, read: GameRecord | None
) -> tuple[list[tuple[int, str]], list[tuple[int, tuple[int, int]]]]:
    """Return what was added to a record since a file was read: comments, and variations.

    Each action of the variations has its own number; see `GameRecord.variations`. In a file what
    follows the last position would be moves of the game: such a variation begins before the last
    turn, which it repeats, with numbers below 0. Nothing is returned if the record no longer begins
    with what was read.
    """
    comments, variations = ([], []) if read is None else (read.comments, read.variations)
    count = len(variations)
    if record.comments[: len(comments)] != comments or record.variations[:count] != variations:
        return [], []
    last = len(record.moves)
    numbered = [*enumerate(record.variations[count:], last + count + 1)]
    if record.moves and any(position == last for _, (position, _) in numbered):
        actor = record.moves[-1].actor
        turn = [*takewhile(lambda move: move.actor == actor, reversed(record.moves))][::-1]
        places = [last - len(turn), *range(-len(turn), 0)]
        repeated = [(places[i + 1], (places[i], move.action)) for i, move in enumerate(turn)]
        moved = [(n, (-1 if at == last else at, action)) for n, (at, action) in numbered]
        numbered = repeated + moved
    return record.comments[len(comments) :], numbered


def has_same_end(record: GameRecord, other: GameRecord) -> bool:
    """Return whether two records say the same of how their games ended."""
    names = ("termination", "returns", "loser", "detail")
    return all(getattr(record, name) == getattr(other, name) for name in names)


def is_same_game(record: GameRecord, other: GameRecord) -> bool:
    """Return whether two records are of the same game, whatever is said of it."""
    said = ("tags", "versions", "comments", "variations", "marks")
    pairs = zip(record.moves, other.moves, strict=False)
    moves = [replace(move, statistics=read.statistics) for move, read in pairs]
    moves += record.moves[len(moves) :]
    return replace(record, moves=moves, **{name: getattr(other, name) for name in said}) == other


def record_of_actions(
    game: Game,
    actions: Sequence[int],
    *,
    players: Sequence[str],
    loser: int | None = None,
    reason: Termination = Termination.RESIGNATION,
    returns: Sequence[float] | None = None,
    detail: str = "",
) -> GameRecord:
    """Return the record of a game that was played elsewhere.

    Args:
      actions: all of them, outcomes of chance included.
      players: names, in player order.
      loser: who lost, if the game did not end by its rules; None if it was stopped.
      reason: why, if there is a loser.
      returns: each player's utility, if neither the rules nor a loser say so, but the source does.
      detail: more about the end, if the game did not end by its rules.

    Raises `RecordError`, which names the ply, if an action is not legal.
    """
    record = new_record(game, [PlayerRecord(name=name, agent="") for name in players], seed=0)
    state = game.new_initial_state()
    record.start_observations = _observations(state)
    for ply, action in enumerate(actions):
        actor = int(state.next_actor())
        if actor == Player.TERMINAL:
            raise RecordError(f"ply {ply}: the game is over: {state.result_to_string()}")
        move = MoveRecord(ply=ply, actor=actor, action=action, text="")
        if not state.is_legal(action):
            raise RecordError(f"ply {ply}: action {action} is not legal")
        move.text = state.action_to_string(action)
        state.apply_action(action)
        move.observations = _observations(state)
        record.moves.append(move)
    if state.is_terminal():
        record.returns, record.detail = state.returns(), state.result_to_string()
    elif loser is not None:
        record.returns = game.resignation_returns(loser)
        record.termination, record.loser, record.detail = reason, loser, detail
    elif returns is not None:
        verdict = VerdictRecord(rule="file", ply=len(record.moves) - 1, returns=tuple(returns))
        record.returns, record.verdicts = verdict.returns, [verdict]
        record.termination, record.detail = Termination.ADJUDICATION, detail
    else:
        leave_unfinished(record, detail)
    record.returns = tuple(map(float, record.returns))
    return record


def leave_unfinished(record: GameRecord, detail: str) -> None:
    """Say in a record that its game goes on, or that nobody knows who won."""
    record.returns = (0.0,) * len(record.players)
    record.termination, record.detail = Termination.UNFINISHED, detail
    record.terminated, record.truncated = False, True


def _observations(state: State) -> dict[str, Json]:
    if state.game.info.perfect_information:
        return {}
    return observations_as_json(
        [state.observation(player) for player in range(state.game.num_players())]
    )


def _load(record: GameRecord) -> Game:
    from miai.api import recorded_game

    try:
        return recorded_game(record.game, record.game_parameters)
    except ConfigError:
        raise
    except (MiaiError, TypeError) as error:
        raise RecordError(f"the game of the record cannot be loaded: {error}") from error


def _apply(state: State, move: MoveRecord) -> None:
    where = f"{state.game.info.title}: ply {move.ply}"
    actor = int(state.next_actor())
    if actor == Player.TERMINAL:
        raise RecordError(f"{where}: the game was over before this action")
    if move.actor != actor:
        raise RecordError(f"{where}: player {move.actor} acted, but it was {actor}'s turn")
    try:
        text = state.action_to_string(move.action) if state.is_legal(move.action) else move.text
        state.apply_action(move.action)
    except GameError as error:
        raise RecordError(f"{where}: {error}") from error
    if text != move.text:
        raise RecordError(f"{where}: action {move.action} is written {text!r}, not {move.text!r}")
    _check_observations(state, move.observations, f"at ply {move.ply}")


def _check_observations(state: State, recorded: Any, where: str) -> None:
    if state.game.info.perfect_information:
        return
    players = range(state.game.num_players())
    if observations_as_json([state.observation(player) for player in players]) != recorded:
        raise RecordError(f"{state.game.info.title}: {where} the observations differ")


def _check_end(record: GameRecord, state: State) -> None:
    reason, over = record.termination, state.is_terminal()
    if over != (reason is Termination.TERMINAL):
        raise RecordError(
            f"{record.game}: ended by '{reason}', but the position is "
            + ("terminal" if over else "not terminal")
        )
    if (record.loser is None) != (reason in _NO_LOSER):
        raise RecordError(f"{record.game}: ended by '{reason}' with loser {record.loser}")
    acting = list(state.acting_players())
    if state.pending_actions():
        raise RecordError(
            f"{record.game}: ended within a decision: actions of the players {acting} are missing"
        )
    if not set(record.losers) <= set(acting):
        raise RecordError(
            f"{record.game}: players {list(record.losers)} forfeited at once, but {acting} acted"
        )
    if reason is Termination.TERMINAL:
        expected = state.returns()
    elif reason is Termination.ADJUDICATION:
        expected = _adjudicated_returns(record, state)
    elif reason is Termination.UNFINISHED:
        expected = (0.0,) * len(record.players)
    elif record.loser is None:
        drawn = reason is Termination.AGREEMENT
        expected = state.game.draw_returns() if drawn else state.truncated_returns()
    else:
        expected = state.game.forfeit_returns(record.losers or (record.loser,))
    pairs = list(zip(expected, record.returns, strict=False))
    if len(expected) != len(record.returns) or any(abs(a - b) > _TOLERANCE for a, b in pairs):
        raise RecordError(
            f"{record.game}: the record gives returns {record.returns}, the game {expected}"
        )


def _adjudicated_returns(record: GameRecord, state: State) -> tuple[float, ...]:
    """Return the returns of the verdict that ended the game; the rule is not asked again."""
    if not record.verdicts or record.verdicts[-1].ply != len(record.moves) - 1:
        raise RecordError(f"{record.game}: ended by '{record.termination}' without a verdict")
    info, returns = state.game.info, record.verdicts[-1].returns
    if any(not info.min_utility <= value <= info.max_utility for value in returns):
        raise RecordError(
            f"{record.game}: adjudicated with returns {returns}, which the game does not allow"
        )
    return returns

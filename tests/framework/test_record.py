"""Game records: nothing is lost on the way to a file and back, and nothing hostile comes in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.framework.test_match import Scripted
from tests.whole_texts import assert_transcript, refusal

import miai
from miai.clock import TimeControl
from miai.errors import RecordError
from miai.plain import MAX_DEPTH
from miai.playing.replay import replay
from miai.plugins.versions import versions_of
from miai.record import (
    GameRecord,
    MoveRecord,
    PlayerRecord,
    Termination,
    VerdictRecord,
    ending_text,
)
from miai.record_reader import read_record

texts = st.text(max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
seconds = st.floats(0, 1e9)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, plain, max_size=3)
players = st.builds(
    PlayerRecord,
    name=texts,
    agent=texts,
    parameters=objects,
    seed=st.integers(),
    version=texts,
    cpu_seconds=st.none() | seconds,
    seconds=seconds,
)


@st.composite
def records(draw: st.DrawFn) -> GameRecord:
    who = draw(st.lists(players, min_size=1, max_size=3))
    moves = [
        MoveRecord(
            ply=ply,
            actor=draw(st.integers(-1, len(who) - 1)),
            action=draw(st.integers(0, 2**63 - 1)),
            text=draw(texts),
            opening=draw(st.booleans()),
            seconds=draw(st.none() | seconds),
            cpu_seconds=draw(st.none() | seconds),
            statistics=draw(objects),
            observations=draw(objects),
        )
        for ply in range(draw(st.integers(0, 3)))
    ]
    verdicts = [
        VerdictRecord(
            rule=draw(texts),
            ply=draw(st.integers(0, len(moves) - 1)),
            returns=tuple(draw(numbers) for _ in who),
            reason=draw(texts),
        )
        for _ in range(draw(st.integers(0, 2)) if moves else 0)
    ]
    return GameRecord(
        game=draw(texts),
        game_version=draw(st.integers()),
        game_parameters=draw(objects),
        players=who,
        moves=moves,
        seed=draw(st.integers()),
        time_control=draw(objects),
        move_limit=draw(st.none() | st.integers(1, 1000)),
        start_observations=draw(objects),
        returns=tuple(draw(numbers) for _ in who),
        termination=draw(st.sampled_from(Termination)),
        loser=draw(st.none() | st.integers(0, len(who) - 1)),
        detail=draw(texts),
        terminated=draw(st.booleans()),
        truncated=draw(st.booleans()),
        started=draw(texts),
        seconds=draw(seconds),
        versions=draw(st.dictionaries(texts, texts, max_size=3)),
        tags=draw(objects),
        verdicts=verdicts,
    )


def a_record(game: str = "phantom_tic_tac_toe", seed: int = 5) -> GameRecord:
    loaded = miai.load_game(game)
    agents = [miai.RandomAgent(loaded) for _ in range(loaded.num_players())]
    control = TimeControl(kind="fischer", seconds=60.0, increment=1.0)
    return miai.play(loaded, agents, seed=seed, time_control=control, tags={"round": 1})


# -- there and back -------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(record=records())
def test_a_record_survives_json_lines(record: GameRecord) -> None:
    text = record.to_json_lines()
    back = read_record(text)
    assert back == record
    assert repr(back) == repr(record)  # types too: 1 is not 1.0, False is not 0
    assert back.to_json_lines() == text
    assert text.isascii()
    assert text.count("\n") == len(record.moves) + 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), {1, 2}])
def test_unreadable_results_are_not_written(bad: object) -> None:
    record = a_record()
    record.moves[0].statistics = {"it": bad}  # type: ignore[dict-item]  # that is the point
    with pytest.raises(RecordError, match="cannot be written"):
        record.to_json_lines()


# -- hostile input --------------------------------------------------------------------------------


def test_a_truncated_record_is_refused_wherever_it_is_cut() -> None:
    text = a_record().to_json_lines()
    for length in range(0, len(text), 7):
        with pytest.raises(RecordError):
            read_record(text[:length])
    lines = text.splitlines(keepends=True)
    for kept in range(len(lines)):
        with pytest.raises(RecordError):
            read_record("".join(lines[:kept]))


def changed(line: int, **fields: Any) -> str:
    """Return a good record in which fields of one line are replaced; "DELETED" removes one."""
    lines = [json.loads(line) for line in a_record().to_json_lines().splitlines()]
    for name, value in fields.items():
        if value == "DELETED":
            del lines[line][name]
        else:
            lines[line][name] = value
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_wrong_field_is_named() -> None:
    def answer(prompt: str) -> str:
        line, _, fields = prompt.removeprefix("line ").partition(": ")
        return refusal(lambda: read_record(changed(int(line), **json.loads(fields))))

    assert_transcript("record-mistakes.txt", answer)


@pytest.mark.parametrize(
    "line",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        json.dumps([[]] * 10),
        "null",
        "7",
        '"' + "x" * 100_000 + '"',
        "",
        "{",
        '{"ply": NaN}',
        '{"ply": Infinity}',
        '{"ply": 1e999}',
        '{"ply": ' + "9" * 5000 + "}",
        '{"ply": 0, "ply": 0}',
        "\x00",
        "{}" * 1000,
    ],
    ids=lambda line: str(line[:12]),
)
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_hostile_line_is_refused(line: str, place: int) -> None:
    lines = a_record().to_json_lines().splitlines()
    lines[place] = line
    began = time.monotonic()
    with pytest.raises(RecordError) as output:
        read_record("".join(text + "\n" for text in lines))
    assert len(str(output.value)) < 1000
    assert time.monotonic() - began < 5.0


def test_nesting_is_bounded_within_a_good_record() -> None:
    value: Any = 0
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(RecordError, match="nested"):
        read_record(changed(1, statistics={"it": value}))


def test_a_giant_record_is_not_parsed() -> None:
    text = " " * (1 << 28) + "\n"
    began = time.process_time()
    with pytest.raises(RecordError, match="characters"):
        read_record(text)
    assert time.process_time() - began < 1.0


@settings(deadline=None, max_examples=50)
@given(text=st.text() | st.lists(plain.map(json.dumps)).map("\n".join))
@example(text="\n\n\n")
@example(text="{}\n{}\n")
@example(text='{"schema":"miai.record/1"}\n{}\n')
def test_any_invalid_record_is_a_record_error(text: str) -> None:
    with pytest.raises(RecordError):
        read_record(text)


# -- replay ---------------------------------------------------------------------------------------


RESIGNED = Termination.RESIGNATION


def put(move: int | None = None, **fields: Any) -> Callable[[GameRecord], object]:
    """Return a change of fields of the record, or of one of its moves."""

    def change(record: GameRecord) -> None:
        for name, value in fields.items():
            setattr(record if move is None else record.moves[move], name, value)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(0, actor=1), "ply 0: player 1 acted, but it was 0's turn"),
        (lambda r: put(2, action=r.moves[0].action)(r), "ply 2: .*not legal|ply 2: player"),
        (put(1, action=10**6), "ply 1: .*actions are integers below num_distinct_actions = 9"),
        (
            lambda r: r.moves.append(MoveRecord(ply=len(r.moves), actor=0, action=0, text="a3")),
            "the game was over before this action",
        ),
        (lambda r: r.moves.pop(), "ended by 'terminal', but the position is not terminal"),
        (lambda r: put(returns=tuple(-v or 1.0 for v in r.returns))(r), "the record gives returns"),
        (put(game_version=2), "version 2, replayed with"),
        (put(game="no_such_game"), "cannot be loaded: no game is called"),
        (put(game_parameters={"no_such": 1}), "cannot be loaded: .*unknown parameter"),
        (lambda r: r.players.pop(), "is a game of 2 players, recorded with 1"),
        (put(0, observations={}), "at ply 0 the observations differ"),
        (put(start_observations={}), "at the start the observations differ"),
        (put(0, text="z9"), "action \\d is written '[abc][123]', not 'z9'"),
        (
            put(termination=Termination.RESIGNATION, loser=None),
            "but the position is terminal|with loser None",
        ),
        (
            put(termination=Termination.RESIGNATION, loser=0),
            "ended by 'resignation', but the position is terminal",
        ),
    ],
)
def test_a_false_record_is_detected(change: Callable[[GameRecord], object], message: str) -> None:
    record = a_record()
    change(record)
    with pytest.raises(RecordError, match=message):
        replay(record)


def test_forfeits_and_truncations_replay() -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    record = miai.play(
        game, [Scripted(game, miai.Decision(0, resign=True)), miai.RandomAgent(game)]
    )
    assert (record.termination, record.loser) == (RESIGNED, 0)
    assert replay(record).move_number() == 0
    record = miai.play(game, [miai.RandomAgent(game), miai.RandomAgent(game)], move_limit=3)
    assert record.truncated
    assert replay(record, game).move_number() == 3
    record.returns = (1.0, -1.0)
    with pytest.raises(RecordError, match="returns"):
        replay(record)


def test_a_record_in_a_file_is_readable_by_eye(tmp_path: Path) -> None:
    record = a_record("kuhn_poker")
    first, *moves, last = record.to_json_lines().splitlines()
    assert first.startswith('{"schema":"miai.record/1","game":"kuhn_poker","game_version":')
    assert all(line.startswith('{"ply":') for line in moves)
    assert last.startswith('{"returns":[')


@pytest.mark.parametrize(
    ("returns", "termination", "loser", "detail", "said"),
    [
        ((-1, 1), "go terminal", None, "W+6.5", "White wins by 6.5 points"),
        ((1, -1), "go terminal", None, "B+1", "Black wins by 1 point"),
        ((0, 0), "go terminal", None, "0", "Draw"),
        ((0, 0), "go terminal", None, "Void", "Draw by repetition"),
        ((1, -1), "go terminal", None, "Black\nwon", "Black wins (Black / won)"),
        ((1, -1), "go resignation", 1, "", "Black wins by resignation"),
        ((1, -1), "go time", 1, "late", "Black wins on time (late)"),
        ((-1, 1), "go crash", 0, "no\nidea", "White wins, black crashed (no / idea)"),
        ((1, -1), "go move-limit", None, "stopped", "Black wins at the move limit (stopped)"),
        ((0, 0), "go move-limit", None, "saved", "No winner (saved)"),
        ((), "go move-limit", None, "", "No winner"),
        ((0, 0), "go agreement", None, "", "Draw by agreement"),
        ((0, 0), "go unfinished", None, "saved", "Unfinished (saved)"),
        ((-1, 1), "rbc terminal", None, "0-1 king captured", "Black wins by king capture"),
        ((0, 0), "rbc terminal", None, "1/2-1/2 move limit", "Draw at the move limit"),
        ((1, -1), "tic_tac_toe terminal", None, "x wins", "X wins"),
        ((-2, 2), "kuhn_poker terminal", None, "", "First loses 2 and second gains 2"),
        ((0, 1, 0), "pig terminal", None, "7-30-4", "Second wins (7-30-4)"),
        ((1, 0, 1), "pig time", 1, "", "First and third share the win, second ran out of time"),
    ],
)
def test_the_end_in_words(
    returns: tuple[float, ...], termination: str, loser: int | None, detail: str, said: str
) -> None:
    game, termination = termination.split()
    record = GameRecord(
        game=game,
        game_version=1,
        game_parameters={},
        players=[],
        returns=returns,
        termination=Termination(termination),
        loser=loser,
        detail=detail,
    )
    assert ending_text(record, miai.load_game(game)) == said


def test_libraries_that_a_plugin_requires_are_named_with_it() -> None:
    versions = versions_of("go", ["mcts", "random"])
    for name in ("miai", "miai-go", "numba", "numpy"):
        assert versions[name] == version(name)
    assert "numba" not in versions_of("tic_tac_toe", ["mcts"])


def test_unregistered_components_add_nothing() -> None:
    assert versions_of("no_such_game", ["no_such_agent"]).keys() == {"python", "miai", "numpy"}

"""`rbc-seed` and `rbc-strong` in whole games: legal, true, the same by the seed, and in time."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from tests.rbc.games import rbc
from tests.whole_texts import assert_expected

import miai
from miai import ClockReading, TimeControl
from miai.playing.match import InProcessSeat, Seat, SeatReply, play_game
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import Termination
from miai.record_reader import read_record
from miai_rbc.agents.belief_agents import BeliefAgent, StrongAgent
from miai_rbc.agents.choice import Choice, window_values
from miai_rbc.belief import scans
from miai_rbc.belief.belief import Stash
from miai_rbc.belief.scans import CENTRES
from miai_rbc.kernels.board import NOTHING
from miai_rbc.rbc_parameters import START_FEN, BeliefParameters
from miai_rbc.rules.actions import PASS, SENSE_NOTHING, action_name
from miai_rbc.rules.board_set import BoardSet
from miai_rbc.rules.game import RbcGame, RbcState
from miai_rbc.rules.observations import Moved

NO_CLOCK = ClockReading(control=TimeControl())
FEW = {"depth": 1, "samples": 8, "limit": 200_000}
SMALL: dict[str, dict[str, Any]] = {
    "rbc-seed": FEW,
    "rbc-strong": {**FEW, "considered": 30, "evaluations": 200},
}
"""Parameters with which a move takes milliseconds."""


def agent(name: str, game: RbcGame, **more: Any) -> BeliefAgent:
    made = miai.make_agent(name, game, **{**SMALL[name], **more})
    assert isinstance(made, BeliefAgent)
    return made


def walk(
    game: RbcGame, agents: Sequence[miai.Agent], seed: int, clock: ClockReading = NO_CLOCK
) -> Iterator[tuple[RbcState, list[miai.Decision]]]:
    """Play a game; yield the state after all that was told, and the decisions so far."""
    state = game.new_initial_state()
    for player, made in enumerate(agents):
        made.new_game(seed + player, player=player)
    decisions: list[miai.Decision] = []
    while True:
        for player, made in enumerate(agents):
            if (output := state.observation(player)) is not None:
                made.observe(output)
        yield state, decisions
        if state.is_terminal():
            return
        player = int(state.current_player())
        decisions.append(agents[player].act(clock))
        assert state.is_legal(decisions[-1].action), state.history()
        state.apply_action(decisions[-1].action)


# -- whole games ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SMALL, "entropy", "weighted"])
@pytest.mark.parametrize("opponent", ["attacker", "rbc-random"])
def test_whole_games_come_to_their_end(name: str, opponent: str) -> None:
    """With the game's own limits, against those that play otherwise than it expects."""
    game = rbc()
    for seed in range(2 if opponent == "attacker" else 1):
        ours = agent(name, game) if name in SMALL else agent("rbc-seed", game, scan=name)
        agents = [ours, miai.make_agent(opponent, game)]
        record = miai.play(game, agents[:: 1 - 2 * (seed % 2)], seed=seed)
        assert record.termination is Termination.TERMINAL, record.detail
        assert read_record(record.to_json_lines()).moves[-1] == record.moves[-1]
        agents[0].close()


MINIMAX: dict[str, Any] = {"senses": 2, "moves": 3, "boards": 60, "deep_boards": 8}
"""Parameters with which a move takes milliseconds."""
SKETCHED = {**MINIMAX, "boards": 20, "deep_boards": 4, "bounds": "minhash"}
PAIRS: list[tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = [
    # With a stash.
    (("rbc-strong", {"limit": 512}), ("rbc-seed", {"limit": 512, "scan": "entropy"})),
    (("rbc-minimax", MINIMAX), ("rbc-strong", {"depth": 2, "weights": {"doubt": 0.3}})),
    (("attacker", {}), ("rbc-strong", {"weights": {"kind": "value"}})),
    (("rbc-minimax", SKETCHED), ("attacker", {})),
]


@pytest.mark.slow
def test_games_are_those_that_were_read() -> None:
    """Every choice with what is said of it, by the seed, whatever was played before."""
    game, lines = rbc(full_turn_limit=10), []
    for pair in PAIRS:
        agents = [miai.make_agent(n, game, **{**SMALL.get(n, {}), **more}) for n, more in pair]
        for seed in (6, 5) if pair is PAIRS[0] else (5,):
            record = miai.play(game, agents, seed=seed)
            lines.append(f"{pair} {seed}: {record.returns} {record.detail}\n")
            for move in record.moves:
                what = action_name(move.action)
                lines.append(f"{move.actor} {what} {dict(move.statistics or {})}\n")
        for made in agents:
            made.close()
    assert_expected("rbc/games.txt", "".join(lines))


@pytest.mark.parametrize(
    "more",
    [
        {"low": 1.0, "capture": 0.0, "danger": 1000.0},
        {"weights": {"doubt": 1.0, "carried": 1}},
        {"weights": {"doubt": 0.0}, "samples": 1, "considered": 1},
        {"weights": "value", "samples": 40, "considered": 2},
    ],
)
def test_parameters_at_their_ends_play_on(more: dict[str, Any]) -> None:
    game = rbc(full_turn_limit=3)
    agents = [agent("rbc-strong", game, **more) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed, clock in enumerate((NO_CLOCK, reading("fischer", 0.2, increment=0.02))):
            *_, (state, _) = walk(game, agents, seed, clock)
            assert state.is_terminal()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bit", "kind"),
    [(0.0, "model"), (8.0, "value"), (1e6, "model")],
)
def test_a_sense_weighs_the_next_move_against_information(bit: float, kind: str) -> None:
    """By hand: the values of windows plus a price for their entropy; all boards are scored."""
    game, budget = rbc(full_turn_limit=8), 200
    whole: dict[str, Any] = {"samples": budget, "considered": budget}
    whole |= {"evaluations": 1_000_000, "deeper": 0}
    strong, compared = agent("rbc-strong", game, **whole, bit=bit, weights=kind), 0
    agents = [strong, agent("rbc-strong", game)]
    assert isinstance(strong, StrongAgent)
    for state, _ in walk(game, agents, 4):
        boards = strong.belief.boards
        if state.is_terminal() or state.current_player() or not state.senses:
            continue
        if len(boards) > budget:
            continue
        considered, weights = strong.weigh(boards, None)
        entropies = scans.weighted(considered, 0, weights)
        if kind == "value":  # weights of the present board alone do not say what to look for
            entropies = scans.entropy(boards, 0)
        values = window_values(
            *(considered, weights, 0, strong.scorer, boards.requests()),
            *(strong.draw, strong.move_settings),
            deadline=None,
        )
        sensed = strong.sense(None, {})
        worth = values + bit * entropies
        if len(boards) > 1:
            assert worth[CENTRES.index(sensed)] == pytest.approx(worth.max(), rel=1e-9, abs=1e-6)
            compared += 1
    assert compared > 1


# -- won endings ----------------------------------------------------------------------------------


class Passing(miai.Agent):
    """Senses nothing and passes."""

    def act(self, clock: ClockReading) -> miai.Decision:
        return miai.Decision(min(self.view.legal_actions[0] + SENSE_NOTHING, PASS))


def test_a_capture_that_failed_is_not_asked_for_again_where_a_pawn_wins() -> None:
    """Each turn Black's pawn may have come to h5, but it stands, and b4-b5-b6 decides."""
    game = rbc(fen="2b1k3/p1P4p/3K4/P5p1/1P4P1/7P/8/8 w - - 0 1")
    state = game.new_initial_state()
    for name in ("sense d7", "g4h5", "sense -", "pass") * 3:
        state.apply_action(state.string_to_action(name))
    seats = [agent("rbc-strong", game, evaluations=1000, samples=200), Passing(game)]
    record = play_game(game, list(map(InProcessSeat, seats)), seed=0, opening=state.history())
    asked = [action_name(move.action) for move in record.moves[13::4]]
    assert record.returns[0] == 1.0
    assert asked[:2] == ["b4b5", "b5b6"]
    assert "g4h5" not in asked
    assert len(asked) < 12


@pytest.mark.parametrize("name", [*SMALL, "rbc-minimax"])
def test_no_request_fails_twice_before_another_move_was_taken(name: str) -> None:
    """Each turn a pawn may have come to where White's could capture it, but Black only passes."""
    game = rbc(fen="4k3/8/8/8/pp6/1Pp5/2P5/K7 w - - 0 1", full_turn_limit=8)
    made = miai.make_agent(name, game, **SMALL.get(name, {"depth": 1, "senses": 1}))
    assert isinstance(made, BeliefAgent)
    assert list(walk(game, [made, Passing(game)], 1))
    moves = [event for event in made.belief.events if isinstance(event, Moved)]
    failed = [
        [event.requested for event in run if event.requested != NOTHING]
        for nothing, run in groupby(moves, key=lambda event: event.taken == NOTHING)
        if nothing
    ]
    assert any(failed)
    assert all(len(set(run)) == len(run) for run in failed)


@pytest.mark.parametrize(
    ("fen", "asked"),
    [(START_FEN, [(21, 0.63), (280, 6.0)]), ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", [])],
)
def test_a_sense_gets_less_time_the_fewer_boards_there_are(fen: str, asked: list[Any]) -> None:
    """Six of a turn's ten seconds for 200 boards; none where one window tells them apart."""
    left: list[Any] = []

    class Noting(BeliefAgent):
        def sense(self, deadline: float | None, statistics: dict[str, Any]) -> int:
            assert deadline is not None
            left.append((len(self.belief), deadline - time.monotonic()))
            return SENSE_NOTHING

        def move(self, requests: list[int], deadline: float | None) -> Choice:
            return Choice(NOTHING, None, 0, 0, "")

    game = rbc(fen=fen, full_turn_limit=2)
    agents = [Passing(game), Noting(game, BeliefParameters())]
    list(walk(game, agents, 0, reading("absolute", 160.0)))
    assert left == [(boards, pytest.approx(seconds, abs=0.4)) for boards, seconds in asked]


# -- a belief of little room ----------------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many boards were taken back from a stash, each time."""
    found: list[int] = []
    take = Stash.take

    def noting(stash: Stash) -> tuple[int, BoardSet] | None:
        entry = take(stash)
        if entry is not None:
            found.append(len(entry[1]))
        return entry

    monkeypatch.setattr(Stash, "take", noting)
    return found


def statistics_of(seed: int, name: str, **more: Any) -> list[dict[str, Any]]:
    """Return what an agent with a belief of the least size said in a game against another."""
    game = rbc(full_turn_limit=25)
    agents = [agent(name, game, limit=512, **more), agent("rbc-seed", game)]
    record = miai.play(game, agents, seed=seed)
    assert record.termination is Termination.TERMINAL, record.detail
    for made in agents:
        made.close()
    output: list[dict[str, Any]] = [dict(m.statistics) for m in record.moves if m.actor == 0]
    for statistics in output:
        assert 1 <= statistics["boards"] <= 512
        assert ("stashed" in statistics) == ("dropped" in statistics)
    return output


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("stash", [pytest.param(True, marks=pytest.mark.slow), False])
def test_boards_without_room_are_stashed_or_said_to_be_dropped_and_made_up(
    name: str, stash: bool, taken: list[int]
) -> None:
    more = {} if stash else {"stash_mb": 0}
    games = [statistics_of(seed, name, **more) for seed in (range(5) if stash else (8,))]
    most = {
        key: max(statistics.get(key, 0) for game in games for statistics in game)
        for key in ("stashed", "dropped", "rebuilt")
    }
    assert {key for key, count in most.items() if count} == (
        {"stashed"} if stash else {"dropped", "rebuilt"}
    )
    assert bool(taken) == stash


# -- clocks ---------------------------------------------------------------------------------------


def reading(kind: Any, seconds: float, **more: Any) -> ClockReading:
    return miai.clock.Clock(TimeControl(kind=kind, seconds=seconds, **more)).reading()


def test_a_hard_limit_of_moves_is_no_clock_to_use_up() -> None:
    """Without a clock the evaluations decide, so the game is the same."""
    game = rbc(full_turn_limit=4)
    hard = ClockReading(control=TimeControl(move_deadline=600.0), limit=600.0)
    games = []
    for clock in (NO_CLOCK, hard):
        began = time.process_time()
        *_, (_, decisions) = walk(game, [agent("rbc-strong", game) for _ in range(2)], 3, clock)
        games.append([decision.action for decision in decisions])
        assert time.process_time() - began < 20.0
    assert games[0] == games[1]


@pytest.mark.parametrize("name", SMALL)
def test_no_time_left_is_still_a_legal_answer(name: str) -> None:
    game = rbc(full_turn_limit=6)
    agents = [agent(name, game, samples=200, depth=8) for _ in range(2)]
    for kind in ("absolute", "fischer", "per-move"):
        clock = ClockReading(control=TimeControl(kind=kind, seconds=9.0), main=0.0, limit=0.0)
        began = time.process_time()
        *_, (state, decisions) = walk(game, agents, 2, clock)
        assert state.is_terminal()
        assert time.process_time() - began < 0.1 * len(decisions)
        for decision in decisions[1::2]:
            assert decision.statistics["why"] in ("king", "known", "minimax")
            assert decision.action >= PASS
        assert all(decision.action <= SENSE_NOTHING for decision in decisions[::2])


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Load the machine with processes that do nothing but run."""
    loads = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for load in loads:
            load.kill()
            load.wait()


CONTROLS = [
    TimeControl(kind="fischer", seconds=2.0, increment=0.05),
    TimeControl(kind="per-move", seconds=0.05),
    TimeControl(kind="absolute", seconds=3.0),
    TimeControl(kind="byo-yomi", seconds=0.2, periods=2, period_seconds=0.1),
]


@pytest.fixture(scope="module")
def seats() -> Iterator[list[AgentProcess]]:
    """Both agents as in a tournament, with their own parameters."""
    names = ("rbc-seed", "rbc-strong")
    made = [AgentProcess("rbc", {"full_turn_limit": 15}, name, {}, name=name) for name in names]
    with made[0], made[1]:
        yield made


def _clocked() -> Iterator[object]:
    """Every control on a free machine, and as soaks beside two busy loops."""
    for control in CONTROLS:
        yield pytest.param(control, 0, 1, id=f"{control.kind}-free")
        yield pytest.param(control, 2, 2, id=f"{control.kind}-busy", marks=pytest.mark.soak)


@pytest.mark.slow
@pytest.mark.parametrize(("control", "loads", "games"), list(_clocked()))
def test_the_flag_never_falls(
    control: TimeControl, loads: int, games: int, seats: list[AgentProcess]
) -> None:
    game = rbc(full_turn_limit=15)
    with busy(loads):
        for seed in range(games):
            record = play_game(game, seats[:: 1 - 2 * seed], seed=seed, time_control=control)
            print(len(record.moves), [player.seconds for player in record.players])
            assert record.termination is Termination.TERMINAL, record.detail


@pytest.mark.parametrize(("per", "increments"), [("action", [0, 1, 2, 3]), ("turn", [0, 0, 1, 1])])
def test_an_increment_is_added_per_action_or_per_turn(per: Any, increments: list[int]) -> None:
    """A turn is a sense and a move; the clock of white's first two turns shows it."""
    game = rbc(full_turn_limit=3)
    control = TimeControl(kind="fischer", seconds=50.0, increment=10.0, increment_per=per)
    shown: list[float] = []

    class Listening(InProcessSeat):
        def act(self, clock: ClockReading, *, deadline: float | None) -> SeatReply:
            assert clock.main is not None
            shown.append(clock.main)
            return super().act(clock, deadline=deadline)

    seats = [cls(miai.make_agent("rbc-random", game)) for cls in (Listening, InProcessSeat)]
    record = play_game(game, seats, seed=1, time_control=control)
    assert record.termination is Termination.TERMINAL
    assert shown[:4] == pytest.approx([50 + 10 * count for count in increments], abs=4)


# -- the agent `rbc-minimax` -----------------------------------------------------------------------


def test_it_captures_a_king_and_does_not_leave_its_own() -> None:
    """One board: what is guaranteed is what chess says."""
    for fen, expected in (
        ("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1", "e2e8"),
        ("4k3/8/8/8/8/8/3qK3/8 w - - 0 1", "e2d2"),
    ):
        game = rbc(fen=fen)
        seats = [miai.make_agent("rbc-minimax", game), Passing(game)]
        _, (_, sensed), (_, moved), *_ = walk(game, seats, 1)
        assert sensed[0].action == SENSE_NOTHING
        assert action_name(moved[1].action) == expected
        seats[0].close()


def test_no_time_left_is_still_a_legal_answer_of_a_minimax() -> None:
    game = rbc(full_turn_limit=10)
    large = {**MINIMAX, "boards": 5000, "deep_boards": 2000}
    seats = [miai.make_agent("rbc-minimax", game, **large) for _ in range(2)]
    clock = ClockReading(control=TimeControl(kind="per-move", seconds=9.0), main=0.0, limit=0.0)
    began = time.process_time()
    *_, (_, decisions) = walk(game, seats, 3, clock)
    assert len(decisions) > 20
    assert time.process_time() - began < 0.3 * len(decisions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "control",
    [
        TimeControl(kind="fischer", seconds=4.0, increment=0.1),
        pytest.param(TimeControl(kind="per-move", seconds=0.2), marks=pytest.mark.soak),
    ],
    ids=lambda control: control.kind,
)
def test_the_flag_of_a_minimax_never_falls(control: TimeControl) -> None:
    """In a process of its own, with its own parameters; compilation is done before the clock."""
    limits = {"full_turn_limit": 12}
    game = rbc(**limits)
    with (
        AgentProcess("rbc", limits, "rbc-minimax", {}, name="minimax") as made,
        AgentProcess("rbc", limits, "attacker", {}, name="attacker") as attacker,
    ):
        record = play_game(game, [made, attacker], seed=1, time_control=control)
        print(len(record.moves), [seat.seconds for seat in record.players])
        assert record.termination is Termination.TERMINAL, record.detail
        depths = {(move.statistics or {}).get("depth") for move in record.moves[::2]}
        assert 2 in depths or 1 in depths


# -- pondering: the same decisions by budget, and bots of reconchess -------------------------------


BUDGET: dict[str, Any] = {"evaluations": 60, "samples": 10, "considered": 20}
BUDGET |= {"weights": {"carried": 50}}

BOT = """
from pathlib import Path

import reconchess

WAITED = Path(__file__).with_name("waited")

class Waiting(reconchess.Player):
    calls = 0
    def handle_game_start(self, color, board, opponent_name): pass
    def handle_opponent_move_result(self, captured_my_piece, capture_square): pass
    def choose_sense(self, sense_actions, move_actions, seconds_left): return 27
    def handle_sense_result(self, sense_result): pass
    def choose_move(self, move_actions, seconds_left):
        print("moved", flush=True)
        return None
    def handle_move_result(self, requested, taken, captured, square): self.calls = 0
    def handle_game_end(self, winner_color, win_reason, game_history): pass
    def while_we_wait(self):
        self.calls += 1
        print("waited", self.calls, flush=True)
        if self.calls == 5:
            WAITED.touch()
"""


class Pondering(InProcessSeat):
    """Calls the agent's hook in this process, for a number of looks at `stop`."""

    def __init__(self, player: miai.Agent, looks: int) -> None:
        super().__init__(player)
        self.looks = looks

    def ponder(self) -> None:
        count = itertools.count()
        self.player.ponder(lambda: next(count) >= self.looks)


def test_pondering_does_not_change_decisions_by_budget() -> None:
    game = rbc(full_turn_limit=5)
    games = []
    for looks in (0, 20):
        agents = [miai.make_agent("rbc-strong", game, **BUDGET) for _ in range(2)]
        seats = [Pondering(agent, looks) for agent in agents]
        record = play_game(game, seats, seed=4, time_control=TimeControl(ponder=True))
        games.append([move.text for move in record.moves])
        hits = [getattr(agent, "scorer").hits for agent in agents]  # noqa: B009 - of a subclass
        for agent in agents:
            agent.close()
    assert games[0] == games[1]
    assert min(hits) > 0


def test_values_of_boards_are_there_before_the_turn() -> None:
    game = rbc()
    agent: Any = miai.make_agent("rbc-strong", game, **BUDGET)
    agent.new_game(1, player=0)
    state = game.new_initial_state()
    for _ in range(2):
        agent.observe(state.observation(0))
        state.apply_action(agent.act(miai.ClockReading(control=TimeControl())).action)
    agent.observe(state.observation(0))
    before = agent.scorer.lookups
    never: Callable[[], bool] = lambda: False  # noqa: E731
    agent.ponder(never)
    assert agent.scorer.lookups > before + 20 * 20
    for _ in range(2):
        state.apply_action(state.legal_actions()[1])
        if (observation := state.observation(0)) is not None:
            agent.observe(observation)
    hits, lookups = agent.scorer.hits, agent.scorer.lookups
    agent.act(miai.ClockReading(control=TimeControl()))
    assert agent.scorer.hits - hits > 0.5 * (agent.scorer.lookups - lookups)
    agent.close()


class Waiter(InProcessSeat):
    """Answers once a file exists; where it never comes, waits in vain only once.

    The referee writes a log when it next asks the player, so that the log does not tell in time.
    """

    def __init__(self, player: miai.Agent, sign: Path, patience: float) -> None:
        super().__init__(player)
        self.sign, self.patience = sign, patience
        self.until: float | None = None

    def act(self, clock: miai.ClockReading, *, deadline: float | None) -> SeatReply:
        self.until = self.until or time.monotonic() + self.patience
        while not self.sign.exists() and time.monotonic() < self.until:
            time.sleep(0.02)
        return super().act(clock, deadline=deadline)


@pytest.mark.slow
@pytest.mark.parametrize("ponder", [True, False])
def test_a_bot_is_called_while_it_waits(tmp_path: Path, ponder: bool) -> None:
    bot = tmp_path / "waiting_bot.py"
    bot.write_text(BOT)
    game = rbc(full_turn_limit=3)
    waiting, patience = miai.make_agent("rbc-random", game), 60.0 if ponder else 0.3
    opponent = Waiter(waiting, tmp_path / "waited", patience)
    limits = ProcessLimits(isolation=Isolation.PROCESS)
    control = TimeControl(kind="absolute", seconds=100.0, ponder=ponder)
    rules, given = {"full_turn_limit": 3}, {"bot": str(bot)}
    with AgentProcess("rbc", rules, "reconchess", given, name="b", limits=limits) as seat:
        seats: list[Seat] = [seat, opponent]
        record = play_game(game, seats, seed=1, time_control=control, log_dir=tmp_path)
    assert record.termination is Termination.TERMINAL, record.detail
    text = (tmp_path / "white.log").read_text()
    assert "moved" in text
    assert ("waited 5" in text) == ("waited" in text) == ponder

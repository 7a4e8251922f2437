"""Pondering in Reconnaissance Blind Chess: the same decisions by budget, and bots of reconchess."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.rbc.games import rbc

import miai
from miai.clock import TimeControl
from miai.playing.match import InProcessSeat, SeatReply, play_game
from miai.process.agent_process import AgentProcess
from miai.process.sandbox import Isolation, ProcessLimits
from miai.record import Termination

BUDGET: dict[str, Any] = {
    "evaluations": 60,
    "samples": 10,
    "considered": 20,
    "weights": {"carried": 50},
}

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
    opponent = Waiter(
        miai.make_agent("rbc-random", game), tmp_path / "waited", patience=60.0 if ponder else 0.3
    )
    with AgentProcess(
        "rbc",
        {"full_turn_limit": 3},
        "reconchess",
        {"bot": str(bot)},
        name="b",
        limits=ProcessLimits(isolation=Isolation.PROCESS),
    ) as seat:
        record = play_game(
            game,
            [seat, opponent],
            seed=1,
            time_control=TimeControl(kind="absolute", seconds=100.0, ponder=ponder),
            log_dir=tmp_path,
        )
    assert record.termination is Termination.TERMINAL, record.detail
    text = (tmp_path / "white.log").read_text()
    assert "moved" in text
    assert ("waited 5" in text) == ("waited" in text) == ponder

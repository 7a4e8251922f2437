"""The referee: rules, chance, openings, limits, forfeits, records, and the hook at the end."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.framework.broken_games import BROKEN
from tests.framework.histories import TTT

import miai
from miai.agent import Agent, Decision, RandomAgent
from miai.clock import ClockReading
from miai.errors import AgentTimeoutError, AgentUnavailableError, ConfigError
from miai.game import Game, Observation, Player, State
from miai.playing.match import InProcessSeat, play, play_game
from miai.playing.replay import replay
from miai.record import GameRecord, MoveRecord, Termination
from miai.record_reader import read_record
from miai.seeds import derive_seed

GAMES = ["tic_tac_toe", "phantom_tic_tac_toe", "kuhn_poker"]


class Scripted(Agent):
    """Plays given decisions one after the other and notes whatever it is told."""

    def __init__(self, game: Game, *decisions: Any) -> None:
        super().__init__(game)
        self.decisions = list(decisions)
        self.calls: list[tuple[Any, ...]] = []

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.calls.append(("new_game", seed, player, log))

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self.calls.append(("observe", observation))

    def act(self, clock: ClockReading) -> Decision:
        self.calls.append(("act", clock))
        decision = self.decisions.pop(0)
        if isinstance(decision, BaseException):
            raise decision
        return Decision(decision) if type(decision) is int else decision

    def end(self, returns: tuple[float, ...]) -> None:
        self.calls.append(("end", returns))


def scripted(game: Game, *scripts: Sequence[Any]) -> list[Scripted]:
    return [Scripted(game, *script) for script in scripts]


def pair(game: Game) -> list[Agent]:
    return [RandomAgent(game), RandomAgent(game)]


def random_record(name: str, seed: int, **options: Any) -> GameRecord:
    game = miai.load_game(name)
    return play(game, pair(game), seed=seed, **options)


def without_times(record: GameRecord) -> GameRecord:
    return replace(
        record,
        started="",
        seconds=0.0,
        players=[replace(p, seconds=0.0, cpu_seconds=None) for p in record.players],
        moves=[replace(m, seconds=None, cpu_seconds=None) for m in record.moves],
    )


# -- the course of a game -------------------------------------------------------------------------


def test_a_game_to_its_end() -> None:
    x, o = agents = scripted(TTT, [0, 1, 2], [3, 4])
    record = play(TTT, agents, seed=9)
    assert [(m.ply, m.actor, m.action) for m in record.moves] == [
        (0, 0, 0),
        (1, 1, 3),
        (2, 0, 1),
        (3, 1, 4),
        (4, 0, 2),
    ]
    assert record.returns == (1.0, -1.0)
    assert (record.termination, record.loser) == (Termination.TERMINAL, None)
    assert (record.terminated, record.truncated) == (True, False)
    names = [call[0] for call in o.calls]
    assert names == [
        *("new_game", "observe", "observe", "act", "observe", "observe", "act"),
        *("observe", "observe", "end"),
    ]
    assert o.calls[0] == ("new_game", derive_seed(9, "player", 1), 1, None)
    assert o.calls[2] == ("observe", Observation(1, 0, 0, None, (1, 2, 3, 4, 5, 6, 7, 8)))
    assert o.calls[-1] == x.calls[-1] == ("end", (1.0, -1.0))
    assert x.view.state.history() == [0, 3, 1, 4, 2]


@pytest.mark.parametrize("name", GAMES)
def test_every_action_and_observation_is_recorded(name: str) -> None:
    for seed in range(20):
        record = random_record(name, seed)
        state = replay(record)
        assert state.is_terminal()
        assert [m.actor for m in record.moves] == state.actors()
        hidden = not state.game.info.perfect_information
        assert any(m.observations for m in record.moves) == hidden
        for move in record.moves:
            assert (move.seconds is None) == (move.actor == Player.CHANCE)


@pytest.mark.parametrize("name", GAMES)
def test_the_same_seed_gives_the_same_game(name: str) -> None:
    for seed in range(5):
        once, again = random_record(name, seed), random_record(name, seed)
        assert without_times(once) == without_times(again)
    games = {tuple(m.action for m in random_record(name, seed).moves) for seed in range(40)}
    assert len(games) > 3


def test_players_receive_their_observations_and_nothing_else() -> None:
    record = random_record("phantom_tic_tac_toe", 4)
    refused = [m for m in record.moves if set(m.observations) != {"0", "1"}]
    assert refused, "seed 4 has no refused placement; choose another"
    for move in refused:
        assert set(move.observations) == {str(move.actor)}
    for move in record.moves:
        other: Any = move.observations.get(str(1 - move.actor))
        assert other is None or other["action"] is None


def test_chance_is_drawn_by_its_probabilities() -> None:
    deals = Counter(
        tuple(m.action for m in random_record("kuhn_poker", seed).moves if m.actor < 0)
        for seed in range(1200)
    )
    assert len(deals) == 6
    # 200 expected of each, standard deviation 12.9: five of them are 65
    assert all(135 <= count <= 265 for count in deals.values()), deals


def test_chance_does_not_depend_on_the_players() -> None:
    game = miai.load_game("kuhn_poker")

    class Passer(RandomAgent):
        def act(self, clock: ClockReading) -> Decision:
            self.rng.random()
            return Decision(min(self.view.legal_actions))

    for seed in range(10):
        records = [play(game, [k(game), k(game)], seed=seed) for k in (RandomAgent, Passer)]
        deals = [[m.action for m in r.moves if m.actor < 0] for r in records]
        assert deals[0] == deals[1]


def test_statistics_times_and_seeds_are_recorded() -> None:
    import numpy as np

    output: Any = {"value": np.float32(0.5), "visits": np.array([1, 2]), "pv": (1, 2)}
    agents = scripted(TTT, [Decision(4, statistics=output), 0, 8], [1, 2])
    record = play_game(
        TTT,
        [
            InProcessSeat(agents[0], name="left", parameters={"simulations": 7}),
            InProcessSeat(agents[1]),
        ],
        seed=3,
        seeds=[10, 11],
        tags={"pair": 4},
    )
    assert record.moves[0].statistics == {"value": 0.5, "visits": [1, 2], "pv": [1, 2]}
    assert [p.seed for p in record.players] == [10, 11]
    assert [p.name for p in record.players] == ["left", "Scripted"]
    assert record.players[0].parameters == {"simulations": 7}
    assert record.tags == {"pair": 4}
    assert record.seed == 3
    spent = sum(m.seconds or 0.0 for m in record.moves if m.actor == 0)
    assert record.players[0].seconds == pytest.approx(spent)
    assert record.seconds >= spent
    assert record.players[0].cpu_seconds is not None
    assert read_record(record.to_json_lines()) == record


def test_the_game_s_parameters_are_recorded() -> None:
    game = miai.load_game("mini_rbc")
    record = play(game, pair(game))
    given: Any = game.parameters
    assert record.game_parameters == given.model_dump(mode="json")
    go = miai.load_game("go", board_size=5, komi=2.5)
    values = play(go, pair(go), move_limit=2).game_parameters
    assert (values["board_size"], values["komi"]) == (5, 2.5)


def test_a_move_costs_the_processor_time_of_that_move_alone() -> None:
    before = time.process_time()
    record = play(TTT, pair(TTT))
    spent = time.process_time() - before
    measured = [move.cpu_seconds for move in record.moves]
    assert all(seconds is not None and 0 <= seconds <= spent for seconds in measured)
    assert before > spent, "the process has run for longer than the game"


def test_versions_are_recorded() -> None:
    import platform

    import numpy as np

    versions = random_record("tic_tac_toe", 1).versions
    assert versions["python"] == platform.python_version()
    assert versions["miai"] == miai.__version__
    assert versions["numpy"] == np.__version__
    assert versions["miai-classics"]


def test_a_watcher_sees_every_action() -> None:
    seen: list[tuple[int, MoveRecord]] = []

    def watch(state: State, move: MoveRecord) -> None:
        seen.append((state.move_number(), move))

    record = random_record("kuhn_poker", 2, on_move=watch)
    assert [move for _, move in seen] == record.moves
    assert [number for number, _ in seen] == list(range(1, len(record.moves) + 1))


def test_an_agent_with_a_seed_of_its_own_plays_by_it() -> None:
    agents = [miai.make_agent("random", TTT, seed=5), miai.make_agent("random", TTT)]
    record = play(TTT, agents, seed=1)
    assert [p.seed for p in record.players] == [5, derive_seed(1, "player", 1)]


# -- openings and limits --------------------------------------------------------------------------


def test_an_opening_is_played_and_marked() -> None:
    x, o = agents = scripted(TTT, [8], [7])
    record = play(TTT, agents, opening=[0, 3, 4])
    assert [m.opening for m in record.moves] == [True, True, True, False, False]
    assert all(m.seconds is None for m in record.moves[:3])
    assert [call[0] for call in x.calls].count("act") == 1
    assert record.returns == (1.0, -1.0)
    assert o.view.state.history() == [0, 3, 4, 7, 8]


def test_an_opening_may_hold_chance() -> None:
    game = miai.load_game("kuhn_poker")
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[-1])
    deal = state.history()
    for seed in range(5):
        record = play(game, pair(game), seed=seed, opening=deal)
        assert [(m.action, m.actor, m.opening) for m in record.moves[:2]] == [
            (action, -1, True) for action in deal
        ]
        assert not any(m.opening for m in record.moves[2:])


def test_chance_goes_on_where_the_first_part_of_a_game_ended() -> None:
    game = miai.load_game("pig", goal=60)
    whole = play(game, scripted(game, *[[0] * 40] * 3), seed=5).moves
    for plies in (1, 7, 8):
        again = play(game, scripted(game, *[[0] * 40] * 3), seed=5, earlier=whole[:plies])
        assert [move.action for move in again.moves] == [move.action for move in whole]


def test_chance_without_probabilities_is_the_games_fault() -> None:
    game = BROKEN["DealsWithoutProbabilities"].make()
    with pytest.raises(ValueError, match="no probabilities of chance; `miai check` shows"):
        play(game, pair(game))


def test_a_move_limit_truncates() -> None:
    record = play(TTT, scripted(TTT, [0, 1, 2], [3, 4]), move_limit=4)
    assert (record.terminated, record.truncated) == (False, True)
    assert (record.termination, record.loser) == (Termination.MOVE_LIMIT, None)
    assert record.returns == (0.0, 0.0)
    assert len(record.moves) == 4
    assert "4 plies" in record.detail
    record = play(TTT, scripted(TTT, [0, 1, 2], [3, 4]), move_limit=5)
    assert record.termination is Termination.TERMINAL  # it ends at the limit


def test_the_limit_counts_openings_but_not_chance() -> None:
    record = random_record("kuhn_poker", 1, move_limit=1)
    assert [m.actor for m in record.moves] == [-1, -1, 0]
    record = play(TTT, scripted(TTT, [], [3]), opening=[0], move_limit=2)
    assert record.truncated


def test_a_die_that_was_rolled_before_the_limit_falls() -> None:
    game = miai.load_game("pig", players=2)
    record = play(game, pair(game), move_limit=1)
    assert [move.actor for move in record.moves] == [0, -1]
    assert record.truncated


def test_bad_arguments_are_refused() -> None:
    seats = [InProcessSeat(agent) for agent in pair(TTT)]
    with pytest.raises(ConfigError, match="game of 2 players: give as many seats"):
        play_game(TTT, seats[:1], seed=1)
    with pytest.raises(ConfigError, match=r"not 2 \(and 3\)"):
        play_game(TTT, seats, seed=1, seeds=[1, 2, 3])
    with pytest.raises(ConfigError, match="move_limit is 0"):
        play_game(TTT, seats, seed=1, move_limit=0)
    with pytest.raises(TypeError, match=r"tags\['x'\] is of type object"):
        play_game(TTT, seats, seed=1, tags={"x": object()})  # type: ignore[dict-item]  # the point


# -- forfeits in this process ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "reason", "detail"),
    [
        (Decision(0, resign=True), Termination.RESIGNATION, ""),
        (0, Termination.ILLEGAL_ACTION, r"action 0 \(a3\) is not legal at ply 1"),
        (9, Termination.ILLEGAL_ACTION, r"action 9 \(the game has actions 0 to 8\)"),
        (-1, Termination.ILLEGAL_ACTION, r"action -1 \("),
        ("b2", Termination.PROTOCOL, "returned a str, not a Decision"),
        (None, Termination.PROTOCOL, "returned a NoneType"),
        (Decision(True), Termination.PROTOCOL, "not a bool"),
        (Decision(1.0), Termination.PROTOCOL, "float"),  # type: ignore[arg-type]  # the point
        (Decision(1, statistics={"x": {1}}), Termination.PROTOCOL, "set"),  # type: ignore[dict-item]
        (ValueError("no idea"), Termination.CRASH, "agent 'Scripted': ValueError: no idea"),
        (RecursionError(), Termination.CRASH, "RecursionError"),
        (AgentTimeoutError("engine hung"), Termination.TIME, "engine hung"),
        # To have begun is to be there: "unavailable" would make a lost game void.
        (AgentUnavailableError("no engine"), Termination.CRASH, "no engine"),
    ],
)
def test_a_fault_is_a_forfeit(decision: Any, reason: Termination, detail: str) -> None:
    agents = scripted(TTT, [0, 1], [decision])
    x, o = agents
    record = play(TTT, agents)
    assert (record.termination, record.loser) == (reason, 1)
    assert record.returns == (1.0, -1.0)
    assert re.search(detail, record.detail), record.detail
    assert (record.terminated, record.truncated) == (True, False)
    assert len(record.moves) == 1
    assert x.calls[-1] == ("end", (1.0, -1.0))
    healthy = reason in (Termination.RESIGNATION, Termination.ILLEGAL_ACTION)
    assert (o.calls[-1][0] == "end") == healthy  # who failed is asked nothing more
    assert record.players[1].seconds > 0, "a failure takes time too"
    assert replay(record).move_number() == 1


def test_an_exception_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    record = play(TTT, scripted(TTT, [ValueError("no idea")], []), log_dir=tmp_path)
    assert record.termination is Termination.CRASH
    assert "Traceback" not in record.detail
    assert "Traceback" in caplog.text
    assert "in act" in caplog.text
    assert "Traceback" in (tmp_path / "x.log").read_text()


@pytest.mark.parametrize("method", ["new_game", "observe", "end"])
def test_a_fault_outside_act(method: str, monkeypatch: pytest.MonkeyPatch) -> None:

    def fail(self: Agent, *arguments: Any, **named: Any) -> None:
        raise KeyError("broken")

    broken = type("Broken", (Scripted,), {method: fail})
    record = play(TTT, [Scripted(TTT, 0, 1, 2), broken(TTT, 3, 4)])
    if method == "end":
        assert record.termination is Termination.TERMINAL
    else:
        assert (record.termination, record.loser) == (Termination.CRASH, 1)
        assert record.moves == []


def test_any_interrupt_stops_the_game() -> None:
    with pytest.raises(KeyboardInterrupt):
        play(TTT, scripted(TTT, [KeyboardInterrupt()], []))


# -- seeds ----------------------------------------------------------------------------------------


def test_derived_seeds_never_change() -> None:
    assert derive_seed() == DERIVED[()]
    for parts, seed in DERIVED.items():
        assert derive_seed(*parts) == seed, parts


# By sha256sum from the documented text: printf '["miai.seed/1",1,"chance"]' | sha256sum
DERIVED: dict[tuple[int | str, ...], int] = {
    (): 7365861221405708565,
    (1, "chance"): 67584502397316361,
    (1, "player", 0): 6895702416288019599,
    (1, "player", 1): 4702355350012788790,
    ("é", -1): 3171682280274018104,
}


@pytest.mark.parametrize("part", [True, 1.0, None, b"x"])
def test_seeds_derive_from_integers_and_texts_only(part: Any) -> None:
    with pytest.raises(TypeError, match="integers and texts"):
        derive_seed(part)

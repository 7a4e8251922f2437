"""Decisions that several players take at once: the referee, forfeits, records, views, beliefs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.framework.broken_games import in_states
from tests.framework.test_match import Scripted, scripted
from tests.framework.test_pondering import Slow
from tests.seeds import seed_of_test

import miai
from miai import Game, Observation, Player, PlayerView, SimultaneousState, State
from miai.agent import Decision, RandomAgent
from miai.clock import ClockReading, TimeControl
from miai.errors import (
    AgentCrashedError,
    AgentTimeoutError,
    ConfigError,
    GameFailedError,
    IllegalActionError,
    InvalidActionError,
    InvalidStateError,
    MiaiError,
    RecordError,
)
from miai.information import ObservationMatch
from miai.playing.match import InProcessSeat, SeatReply, play, play_game
from miai.playing.openings import MovesReader, random_opening
from miai.playing.replay import record_of_actions, replay
from miai.playing.session import RevisableGame, TakeBack
from miai.process.agent_messages import pack_observation, unpack_observation
from miai.record import GameRecord, MoveRecord, Termination, ending_text
from miai.record_reader import read_record

PENNIES = miai.load_game("matching_pennies", rounds=2)
DILEMMA = miai.load_game("prisoners_dilemma", rounds=2)
AUCTION = miai.load_game("goofspiel", players=3, num_cards=3, points_order="descending")


def played(game: Game, *scripts: Sequence[Any], **options: Any) -> GameRecord:
    return play(game, scripted(game, *scripts), **options)


@pytest.mark.timeout(20)
def test_a_decision_of_nobody_fails_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """The referee would wait for ever for players who may all do nothing."""
    stuck = type(PENNIES.new_initial_state())
    monkeypatch.setattr(stuck, "legal_actions_of", lambda state, player: [])
    with pytest.raises(GameFailedError, match="none has a legal action"):
        played(PENNIES, [0], [0])


# -- states ----------------------------------------------------------------------------------------


def test_actions_together_are_actions_one_by_one() -> None:
    one, other = AUCTION.new_initial_state(), AUCTION.new_initial_state()
    assert (one.current_player(), one.acting_players()) == (Player.SIMULTANEOUS, (0, 1, 2))
    one.apply_actions({2: 0, 0: 1, 1: 2})
    for action in (1, 2, 0):
        assert other.rewards() == (0.0, 0.0, 0.0)
        other.apply_action(action)
    assert one.key() == other.key()
    assert one.history() == other.history() == [1, 2, 0]
    assert one.actors() == [0, 1, 2]
    assert one.observation(1) == other.observation(1)


def test_nothing_happens_before_all_have_acted() -> None:
    state = AUCTION.new_initial_state()
    before = [str(state), state.information_state_string(1), state.legal_actions_of(0)]
    state.apply_action(2)
    assert state.pending_actions() == {0: 2}
    assert (state.next_actor(), state.acting_players()) == (1, (1, 2))
    assert state.current_player() == Player.SIMULTANEOUS
    assert all(state.observation(player) is None for player in range(3))
    assert [str(state), state.information_state_string(1), state.legal_actions_of(0)] == before
    again = AUCTION.deserialize(state.serialize())
    assert (again.key(), again.pending_actions()) == (state.key(), {0: 2})
    twin = AUCTION.new_initial_state()
    assert twin.key() != state.key()
    twin.apply_action(1)
    assert twin.key() != state.key()


@pytest.mark.parametrize("actions", [{0: 0}, {0: 0, 1: 0, 2: 0, 3: 0}, {0: 0, 1: 0, 2: 3}])
def test_wrong_actions_change_nothing(actions: dict[int, int]) -> None:
    state = AUCTION.new_initial_state()
    with pytest.raises((IllegalActionError, InvalidActionError)):
        state.apply_actions(actions)
    assert state.history() == []


def test_in_a_game_of_turns_one_player_acts() -> None:
    state = miai.load_game("tic_tac_toe").new_initial_state()
    assert state.acting_players() == (state.next_actor(),) == (0,)
    assert state.legal_actions_of(1) == []
    state.apply_actions({0: 4})
    assert state.history() == [4]
    with pytest.raises(InvalidActionError, match=r"players \[0\], but an action of each of \[1\]"):
        state.apply_actions({0: 3})


def test_a_serialised_state_with_a_wrong_action_is_refused() -> None:
    with pytest.raises(InvalidStateError, match="action 1"):
        PENNIES.deserialize("[0,2]")


# -- the referee -----------------------------------------------------------------------------------


def test_all_are_asked_before_anybody_learns_anything() -> None:
    calls: list[tuple[int, str]] = []

    class Noted(Scripted):
        def observe(self, observation: Observation) -> None:
            super().observe(observation)
            calls.append((self.view.player, "observe"))

        def act(self, clock: ClockReading) -> Decision:
            calls.append((self.view.player, "act"))
            return super().act(clock)

    agents = [Noted(AUCTION, *script) for script in ((2, 0), (1, 0), (0, 2))]
    record = play(AUCTION, agents)
    told, asked = ([(player, call) for player in range(3)] for call in ("observe", "act"))
    assert calls == [*told, *asked, *told, *asked, *told]
    assert [(move.ply, move.actor, move.action) for move in record.moves] == [
        *((0, 0, 2), (1, 1, 1), (2, 2, 0)),
        *((3, 0, 0), (4, 1, 0), (5, 2, 2)),
    ]
    assert agents[0].view.state.is_terminal()
    assert record.returns == replay(record).returns()
    assert read_record(record.to_json_lines()) == record


class Meeting(InProcessSeat):
    """A seat that answers only while the others are asked, too, and takes its time for it."""

    concurrent = True
    seconds = 0.0

    def __init__(self, game: Game, together: threading.Barrier, seconds: float) -> None:
        super().__init__(RandomAgent(game))
        self.together, self.seconds = together, seconds

    def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
        self.together.wait(timeout=20)
        return replace(super().act(reading, deadline=deadline), seconds=self.seconds)


def test_players_think_at_the_same_time_each_on_its_own_clock() -> None:
    together = threading.Barrier(3)
    seats = [Meeting(AUCTION, together, seconds) for seconds in (1.0, 2.0, 3.0)]
    control = TimeControl(kind="fischer", seconds=10.0, increment=0.5, increment_per="turn")
    record = play_game(AUCTION, seats, seed=1, time_control=control)
    assert record.termination is Termination.TERMINAL
    assert [player.seconds for player in record.players] == [2.0, 4.0, 6.0]


class Sequel(SimultaneousState):
    """Both act once, and then the second player does."""

    def current_player(self) -> int:
        taken = len(self.history())
        return Player.SIMULTANEOUS if taken < 2 else 1 if taken == 2 else Player.TERMINAL

    def legal_actions_of(self, player: int) -> list[int]:
        acts = (0, 1) if len(self.history()) < 2 else (1,) if not self.is_terminal() else ()
        return [0] if player in acts else []

    def _apply_actions(self, actions: Mapping[int, int]) -> None:
        pass

    def returns(self) -> tuple[float, ...]:
        return (0.0, 0.0)

    def _copy_to(self, other: State) -> None:
        pass

    def _key(self) -> int:
        return len(self.history())

    def __str__(self) -> str:
        return str(self.history())


Continued = in_states(type(PENNIES), lambda game: Sequel(game))


class ReadsClock(RandomAgent):
    """Notes the main time at each of its turns in a list that players share."""

    def __init__(self, game: Game, mains: list[float | None]) -> None:
        super().__init__(game)
        self.mains = mains

    def act(self, clock: ClockReading) -> Decision:
        self.mains.append(clock.main)
        return super().act(clock)


BY_TURN = TimeControl(kind="fischer", seconds=10.0, increment=100.0, increment_per="turn")


def test_a_decision_of_several_players_is_a_turn_of_each() -> None:
    mains: list[float | None] = []
    play(PENNIES, [ReadsClock(PENNIES, mains) for _ in range(2)], time_control=BY_TURN)
    assert mains == pytest.approx([10.0, 10.0, 110.0, 110.0], abs=0.5)


@pytest.mark.parametrize("again", [0, 2])
@pytest.mark.parametrize("seconds", [None, 2.0])
def test_it_is_a_turn_also_of_who_acts_next(again: int, seconds: float | None) -> None:
    """Also if the first part of the game is played again.

    Moves without a time, as in a record, were made before the clocks began.
    """
    mains: list[float | None] = []

    game = Continued()
    earlier = [
        MoveRecord(ply=n, actor=n, action=0, text="heads", seconds=seconds) for n in range(again)
    ]
    agents = [ReadsClock(game, mains) for _ in range(2)]
    play(game, agents, time_control=BY_TURN, earlier=earlier)
    expected = [10.0, 10.0, 110.0]
    if again:
        expected = [10.0] if seconds is None else [108.0]
    assert mains == pytest.approx(expected, abs=0.5)


def test_players_in_this_process_are_not_charged_for_each_other() -> None:
    game = miai.load_game("matching_pennies", rounds=1)
    control = TimeControl(kind="per-move", seconds=20.0)
    record = play(game, [RandomAgent(game), Slow(game, 0.3)], time_control=control)
    assert record.termination is Termination.TERMINAL
    assert record.players[0].seconds < 0.3 <= record.players[1].seconds


def test_an_error_that_is_not_the_player_s_is_raised_after_all_have_answered() -> None:
    answered = []

    class Late(Meeting):
        def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
            reply = super().act(reading, deadline=deadline)
            time.sleep(0.2)
            answered.append(reply)
            return reply

    class Leaving(Meeting):
        def act(self, reading: ClockReading, *, deadline: float | None) -> SeatReply:
            super().act(reading, deadline=deadline)
            raise TakeBack(0)

    together = threading.Barrier(2)
    seats = [Leaving(PENNIES, together, 0.0), Late(PENNIES, together, 0.0)]
    with pytest.raises(TakeBack):
        play_game(PENNIES, seats, seed=0)
    assert len(answered) == 1


RESIGN = Decision(0, resign=True)
CRASH, LATE = AgentCrashedError("it broke"), AgentTimeoutError("too late")


def test_the_time_of_who_fails_counts_and_the_end_is_for_the_others() -> None:
    """Who resigned is still there; who crashed or was late is not asked anything more."""
    ended: list[int] = []

    class Noted(Scripted):
        def act(self, clock: ClockReading) -> Decision:
            time.sleep(0.05)
            return super().act(clock)

        def end(self, returns: tuple[float, ...]) -> None:
            ended.append(self.view.player)

    agents = [Noted(AUCTION, step) for step in (RESIGN, CRASH, LATE)]
    record = play(AUCTION, agents)
    assert record.losers == (0, 1, 2)
    assert ended == [0]
    assert all(player.seconds > 0.04 for player in record.players)


def test_a_late_answer_is_late_on_its_own_clock() -> None:
    together = threading.Barrier(3)
    seats = [Meeting(AUCTION, together, seconds) for seconds in (1.0, 3.0, 1.5)]
    control = TimeControl(kind="per-move", seconds=2.0, margin=0.0)
    record = play_game(AUCTION, seats, seed=1, time_control=control)
    assert (record.termination, record.loser, record.losers) == (Termination.TIME, 1, ())


def test_only_who_does_not_act_ponders() -> None:
    pondered: list[tuple[int, int]] = []

    class Ponders(InProcessSeat):
        def ponder(self) -> None:
            view = self.player.view
            pondered.append((view.player, len(view.observations)))

    game = Continued()
    control = TimeControl(kind="absolute", seconds=10.0, ponder=True)
    play_game(game, [Ponders(RandomAgent(game)) for _ in range(2)], seed=1, time_control=control)
    assert pondered == [(0, 2)], "while the second player acts by itself"


def test_who_forfeited_is_told_by_name() -> None:
    record = played(AUCTION, [0], [7], [RESIGN])
    assert record.detail.startswith("player2: illegal-action (action 7 (the game has actions 0 to")
    assert record.detail.endswith("; player3: resignation")
    text = ending_text(record, AUCTION)
    assert text.startswith("Player1 wins, player2 and player3 forfeited (player2: illegal-action")


@pytest.mark.parametrize("losers", [[1, 0], [0], [1, 2], [0, 3], [0, 0], "01"])
def test_wrong_losers_are_refused(losers: Any) -> None:
    text = played(AUCTION, [CRASH], [CRASH], [0]).to_json_lines()
    good = '"losers":[0,1]'
    assert good in text
    with pytest.raises(RecordError):
        read_record(text.replace(good, f'"losers":{losers}'.replace("'", '"')))


def test_a_record_that_ends_within_a_decision_is_refused() -> None:
    record = record_of_actions(DILEMMA, [0, 1, 1], players=["a", "b"])
    with pytest.raises(RecordError, match=r"actions of the players \[1\] are missing"):
        replay(record)


def test_only_who_acts_at_once_forfeits_at_once() -> None:
    game = miai.load_game("tic_tac_toe")
    record = record_of_actions(game, [4], players=["a", "b"], loser=0)
    record.losers, record.returns = (0, 1), (0.0, 0.0)
    with pytest.raises(RecordError, match=r"\[0, 1\] forfeited at once, but \[1\] acted"):
        replay(record)


# -- records, interrupted games, openings ----------------------------------------------------------


def test_a_record_of_hidden_bids_has_them_with_the_last_action() -> None:
    game = miai.load_game("goofspiel", num_cards=4, imp_info=True)
    record = play(game, [RandomAgent(game), RandomAgent(game)], seed=seed_of_test())
    assert read_record(record.to_json_lines()) == record
    replay(record)
    for move in record.moves:
        assert bool(move.observations) == (move.actor != 0)
    bid = next(move for move in record.moves if move.actor == 1)
    first = bid.observations["0"]
    assert isinstance(first, dict)
    assert first["actor"] == -2
    assert "actions" not in first
    bid.observations = {**bid.observations, "0": {**first, "action": None}}
    with pytest.raises(RecordError, match="the observations differ"):
        replay(record)


def test_a_record_from_elsewhere_has_an_actor_for_each_action() -> None:
    record = record_of_actions(DILEMMA, [0, 1, 1, 1], players=["a", "b"])
    assert [move.actor for move in record.moves] == [0, 1, 0, 1]
    assert record.returns == (1.0, 6.0)
    record.moves[2].actor = 1
    with pytest.raises(RecordError, match="player 1 acted, but it was 0's turn"):
        replay(record)


def interrupted(moves: int) -> list[MoveRecord]:
    texts = [(0, 0, "cooperate"), (1, 1, "defect"), (0, 1, "defect")]
    return [MoveRecord(ply=n, actor=p, action=a, text=t) for n, (p, a, t) in enumerate(texts)][
        :moves
    ]


def test_an_interrupted_decision_is_asked_again_from_everybody() -> None:
    asked: list[int] = []

    class Asked(RandomAgent):
        def act(self, clock: ClockReading) -> Decision:
            asked.append(self.view.player)
            return Decision(0)

    session = RevisableGame(DILEMMA, note=lambda state, move: None)
    session.moves.extend(interrupted(3))
    record = session.play(
        lambda earlier, on_move: play(
            DILEMMA, [Asked(DILEMMA), Asked(DILEMMA)], earlier=earlier, on_move=on_move
        )
    )
    assert asked == [0, 1]
    assert [move.action for move in record.moves] == [0, 1, 0, 0]


def test_a_decision_is_taken_back_as_a_whole() -> None:
    session = RevisableGame(DILEMMA, note=lambda state, move: None)
    session.moves.extend(interrupted(2))

    def referee(earlier: Sequence[MoveRecord], on_move: Any) -> GameRecord:
        if earlier:
            ply = session.last_ply_of(1)
            assert ply is not None
            raise TakeBack(ply)
        return played(DILEMMA, (1, 1), (0, 0), on_move=on_move)

    record = session.play(referee)
    assert [move.action for move in record.moves] == [1, 0, 1, 0]
    assert [session.last_ply_of(player) for player in (0, 1)] == [2, 2]


def test_random_openings_leave_no_decision_half_taken() -> None:
    for plies in range(1, 5):
        for seed in range(5):
            actions = random_opening(AUCTION, plies=plies, seed=seed)
            assert len(actions) in ((3,) if plies > 3 else (0, 3))
    opening = random_opening(AUCTION, plies=2, seed=1)
    agents = [RandomAgent(AUCTION) for _ in range(3)]
    record = play(AUCTION, agents, opening=opening)
    assert [move.opening for move in record.moves] == [True] * 3 + [False] * 3


def test_an_opening_from_a_file_ends_with_a_whole_decision(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("3 2 1\n")
    assert MovesReader(AUCTION).read(tmp_path / "good")[0].actions == (2, 1, 0)
    (tmp_path / "bad").write_text("3 2\n")
    with pytest.raises(ConfigError, match="add moves of the players 2"):
        MovesReader(AUCTION).read(tmp_path / "bad")


# -- what players know -----------------------------------------------------------------------------


def test_a_view_follows_all_actions() -> None:
    rng = random.Random(seed_of_test())
    game = miai.load_game("goofspiel", num_cards=5, players=3)
    state = game.new_initial_state()
    views = [PlayerView(game, player) for player in range(3)]
    while True:
        for view in views:
            if (seen := state.observation(view.player)) is not None:
                view.observe(unpack_observation(pack_observation(seen)))
                assert view.state.key() == state.key()
                assert view.legal_actions == tuple(state.legal_actions_of(view.player))
        if state.is_terminal():
            return
        state.apply_action(rng.choice(state.legal_actions()))


def test_observations_that_differ_in_the_actions_of_others_do_not_match() -> None:
    one = Observation(0, Player.SIMULTANEOUS, 1, None, (), (1, 0))
    assert ObservationMatch(one).matches(replace(one, actions=[1, 0]))  # type: ignore[arg-type]
    assert not ObservationMatch(one).matches(replace(one, actions=(1, 1)))


def test_a_program_is_told_all_actions_with_their_texts() -> None:
    from miai.process.conversation import ProgramParameters
    from miai.process.program_agent import ProgramAgent

    agent = ProgramAgent(PENNIES, ProgramParameters(command=("true",)))
    state = PENNIES.new_initial_state()
    state.apply_actions({0: 0, 1: 1})
    seen = state.observation(1)
    assert seen is not None
    agent.observe(seen)
    assert agent._news == [
        {"actor": -2, "action": 1, "text": "tails", "actions": [0, 1], "texts": ["heads", "tails"]}
    ]


# -- teams -----------------------------------------------------------------------------------------


def test_a_team_loses_together() -> None:
    class Partners(type(AUCTION)):  # type: ignore[misc]  # the class is an expression
        pass

    game = Partners()
    game.info = replace(AUCTION.info, num_players=4, teams=(0, 1, 0, 1), player_names=tuple("abcd"))
    assert game.resignation_returns(2) == (-1.0, 1.0, -1.0, 1.0)
    assert game.forfeit_returns({0, 2}) == (-1.0, 1.0, -1.0, 1.0)
    assert game.forfeit_returns({0, 1}) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["alpha-beta", "belief-minimax"])
def test_searches_that_do_not_fit_say_so(name: str) -> None:
    game = miai.load_game("goofspiel", num_cards=3, imp_info=name == "belief-minimax")
    with pytest.raises(MiaiError, match="players act at once"):
        miai.make_agent(name, game).new_game(0, player=0)

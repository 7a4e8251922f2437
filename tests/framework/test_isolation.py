"""What an agent is given leads nowhere near what it may not know, and nothing outlives a game."""

from __future__ import annotations

import gc
import json
import types
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from tests.framework.test_conformance import Slotted
from tests.framework.tree_games import DRAW, Choice, Tree, TreeGame, TreeState

import miai
from miai.agent import Agent, Decision, RandomAgent
from miai.clock import ClockReading
from miai.game import Game, Observation, State
from miai.playing.match import InProcessSeat, play, play_game
from miai.process.agent_process import AgentProcess, Channel
from miai.record import GameRecord, MoveRecord, Termination


class Spy(RandomAgent):
    """Keeps everything that it is ever handed."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.handed: list[object] = []

    def new_game(self, seed: int, *, player: int, log: Path | None = None) -> None:
        super().new_game(seed, player=player, log=log)
        self.handed += [seed, player, log]

    def observe(self, observation: Observation) -> None:
        super().observe(observation)
        self.handed.append(observation)

    def act(self, clock: ClockReading) -> Decision:
        self.handed.append(clock)
        return super().act(clock)

    def end(self, returns: tuple[float, ...]) -> None:
        self.handed.append(returns)


def reachable(*roots: object) -> Iterator[object]:
    """Yield every object that attributes, slots, closures and containers lead to.

    `gc.get_referents` follows them all. Modules, types, members of enumerations and the globals of
    functions are left out: they lead everywhere, in any program, and hold no state of a game.
    """
    seen: set[int] = set()
    todo: list[object] = list(roots)
    while todo:
        thing = todo.pop()
        if id(thing) in seen or isinstance(thing, (type, types.ModuleType, Enum)):
            continue
        seen.add(id(thing))
        yield thing
        if isinstance(thing, types.FunctionType):
            todo += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        else:
            todo += gc.get_referents(thing)


def internals(state: State) -> set[int]:
    """Return the identities of a state and of all the mutable things it is made of."""
    parts = [value for name, value in vars(state).items() if name != "game"]
    mutable = (list, dict, set, bytearray, State)
    return {id(state)} | {id(p) for p in reachable(*parts) if isinstance(p, mutable)}


def leaks(game: Game, agents: list[Agent]) -> list[str]:
    """Play a game; return the types of all that an agent can reach of the referee's state."""
    found: list[str] = []

    def look(state: State, move: MoveRecord) -> None:
        hidden = internals(state)
        for agent in agents:
            for thing in reachable(agent):
                if isinstance(thing, (State, MoveRecord, GameRecord)) or id(thing) in hidden:
                    found.append(type(thing).__name__)

    play(game, agents, seed=8, on_move=look)
    return found


@pytest.mark.parametrize("name", ["phantom_tic_tac_toe", "kuhn_poker"])
def test_no_path_leads_from_an_agent_to_the_hidden_state(name: str) -> None:
    game = miai.load_game(name)
    spies = [Spy(game), Spy(game)]
    assert leaks(game, list(spies)) == []
    assert all(len(spy.handed) > 5 for spy in spies)


# -- games that leak show that the search finds what there is -------------------------------------


class Whisper(TreeGame):
    """Two players say two numbers each, in secret; `leak` chooses how the state slips out."""

    def __init__(self, leak: str) -> None:
        tree: Tree = DRAW
        for ply in (3, 2, 1, 0):
            tree = Choice(ply % 2, (tree,) * 3)
        super().__init__(tree, perfect=False)
        self.leak = leak
        self.last: Any = None

    def new_initial_state(self) -> TreeState:
        return WhisperState(self)


class WhisperState(TreeState):
    game: Whisper

    def observation(self, player: int) -> Observation | None:
        data: Any = None
        match self.game.leak:
            case "list":
                data = [self._history]
            case "object":
                data = {"it": Slotted(self)}
            case "closure":
                data = [lambda: self]
            case "attribute":
                self.game.last = {"deep": [Slotted(self)]}
            case "closure attribute":
                self.game.last = lambda: self._history
        return Observation(player, data=data, legal_actions=self._legal_for(player))


@pytest.mark.parametrize("leak", ["attribute", "closure attribute"])
def test_the_search_finds_a_leak(leak: str) -> None:
    game = Whisper(leak)
    assert leaks(game, [Spy(game), Spy(game)])


@pytest.mark.parametrize("leak", ["", "list"])
def test_data_is_copied_on_the_way_to_an_agent(leak: str) -> None:
    game = Whisper(leak)
    assert leaks(game, [Spy(game), Spy(game)]) == []


@pytest.mark.parametrize("leak", ["object", "closure"])
def test_data_that_is_not_plain_is_refused_as_a_defect_of_the_game(leak: str) -> None:
    game = Whisper(leak)
    with pytest.raises(TypeError, match="not plain data"):
        play(game, [Spy(game), Spy(game)])


def test_agents_cannot_change_the_game_through_their_observations() -> None:
    class Vandal(RandomAgent):
        def observe(self, observation: Observation) -> None:
            super().observe(observation)
            if isinstance(observation.data, list):
                observation.data[0][:] = [9, 9, 9, 9]

    game = Whisper("list")
    record = play(game, [Vandal(game), RandomAgent(game)], seed=1)
    assert record.termination is Termination.TERMINAL
    said = [move.action for move in record.moves]
    assert len(said) == 4
    for ply, move in enumerate(record.moves):
        output: Any = move.observations
        assert output["0"]["data"] == output["1"]["data"] == [said[: ply + 1]]


def test_a_view_of_perfect_information_is_the_players_own() -> None:
    class Cheat(RandomAgent):
        def act(self, clock: ClockReading) -> Decision:
            decision = super().act(clock)
            self.view.state.apply_action(decision.action)
            self.view.state.apply_action(self.view.state.legal_actions()[0])
            return decision

    game = miai.load_game("tic_tac_toe")
    record = play(game, [Cheat(game), RandomAgent(game)], seed=1)
    # its own view is spoilt, so it fails at the next observation; the referee's state is not
    assert (record.termination, record.loser) == (Termination.CRASH, 0)
    assert [move.actor for move in record.moves] == [0]


# -- processes ------------------------------------------------------------------------------------

MakeSeat = Callable[..., AgentProcess]


def test_only_observations_reach_an_agent_process(
    make_seat: MakeSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    request = Channel.request

    def spy(self: Channel, message: Any, *, seconds: float | None) -> Any:
        sent.append(json.loads(json.dumps(message)))
        return request(self, message, seconds=seconds)

    monkeypatch.setattr(Channel, "request", spy)
    game = miai.load_game("phantom_tic_tac_toe")
    seat = make_seat("random", game="phantom_tic_tac_toe")
    record = play_game(game, [InProcessSeat(RandomAgent(game)), seat], seed=4)
    moves: list[Any] = [record.start_observations, *(m.observations for m in record.moves)]
    recorded = [
        [output["1"]["actor"], output["1"]["action"], output["1"]["data"]]
        for output in moves
        if "1" in output
    ]
    observations = [o for message in sent for o in message.get("observations", [])]
    assert [o[1:4] for o in observations] == recorded
    assert {o[0] for o in observations} == {1}
    assert all(o[2] is None or o[1] == 1 for o in observations), "an opponent's action crossed"
    assert [m["call"] for m in sent][:3] == ["confine", "hello", "new_game"]
    assert {m["call"] for m in sent} == {"confine", "hello", "new_game", "act", "end"}
    fields = {"id", "call", "observations", "clock"}
    assert all(set(m) == fields for m in sent if m["call"] == "act")

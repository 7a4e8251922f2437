"""The game ``program``: the example games in five languages, and programs that misbehave."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.framework.histories import at, seen_by, state_after, view_of
from tests.framework.test_match import Scripted
from tests.framework.test_programs import EXAMPLES, SPEECH, built, example_of, playing
from tests.framework.tree_games import expectiminimax
from tests.warm_command import run_miai

import miai
from miai.agent import RandomAgent
from miai.clock import Clock, TimeControl
from miai.errors import ConfigError, ConformanceError, GameFailedError, RecordError
from miai.game import Game, State
from miai.information import EnumeratedBelief
from miai.playing.match import InProcessSeat, Seat, play_game
from miai.playing.replay import replay
from miai.plugins.kinds import EVALUATOR
from miai.plugins.loader import registry
from miai.process.agent_process import AgentProcess
from miai.process.child import CONFINED
from miai.process.program_game import ProgramGame
from miai.process.sandbox import Isolation, ProcessLimits, sandbox_hindrance
from miai.record import GameRecord, Termination
from miai.record_reader import read_record
from miai.search.protocol import Seedable
from miai.testing import check_game
from miai.testing.game_checks import path_to_state
from miai_tournaments.api import TournamentStoppedError, run_tournament
from miai_tournaments.config.load import check_tournament
from miai_tournaments.store.store import Store

LIMITS = ProcessLimits(isolation=Isolation.PROCESS)


@pytest.fixture(autouse=True)
def unconfined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the start of each program that of the process that confines it."""
    if "confined" not in request.node.name:
        monkeypatch.setenv(CONFINED, "1")


# -- the examples ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the built examples."""
    return tmp_path_factory.mktemp("games")


def example(name: str, folder: Path, **parameters: Any) -> ProgramGame:
    game = miai.load_game("program", command=built(name, folder), parameters=parameters)
    assert isinstance(game, ProgramGame)
    return game


C = example_of("tic_tac_toe.c", "tic_tac_toe", {})
RUST = example_of("kuhn_poker.rs", "kuhn_poker", {})
JAVA = example_of("Pennies.java", "matching_pennies", {"rounds": 2})
JAVASCRIPT = example_of("nim.js", "", {"heaps": [1, 2, 2]})
SHELL = example_of("take_away.sh", "", {})


def differences(ours: State, theirs: State) -> Iterator[str]:
    """Yield what the two states answer differently."""
    players = range(ours.game.num_players())
    asked: Mapping[str, Any] = {
        "current_player": lambda s: int(s.current_player()),
        "acting_players": lambda s: s.acting_players(),
        "legal_actions": lambda s: [s.legal_actions_of(player) for player in players],
        "texts": lambda s: [s.action_to_string(action) for action in s.legal_actions()],
        "returns": lambda s: tuple(s.returns()),
        "rewards": lambda s: tuple(s.rewards()),
        "observations": lambda s: [s.observation(player) for player in players],
        "truncated_returns": lambda s: tuple(s.truncated_returns()),
        "history": lambda s: (s.history(), [int(actor) for actor in s.actors()]),
    }
    for name, ask in asked.items():
        if ask(ours) != ask(theirs):
            yield f"{name} after {ours.history()}: {ask(ours)}, not {ask(theirs)}"
    pairs = zip(ours.chance_outcomes(), theirs.chance_outcomes(), strict=True)
    for (action, probability), (other, expected) in pairs:
        if action != other or abs(probability - expected) > 1e-12:
            yield f"chance after {ours.history()}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "oracle", "parameters"), [C, RUST, JAVA])
def test_examples_have_the_trees_of_miais_own_games(
    name: str, oracle: str, parameters: dict[str, Any], folder: Path
) -> None:
    """Every position of both games is compared, and every action leads to the same one."""
    game, own = example(name, folder, **parameters), miai.load_game(oracle, **parameters)
    facts = [(field, getattr(own.info, field)) for field in own.info.__slots__]
    for field, value in facts:
        if field not in ("name", "title"):
            assert getattr(game.info, field) == value, field
    met: dict[Hashable, Hashable] = {}
    looked_at: set[Hashable] = set()
    views: dict[tuple[int, str], str] = {}
    frontier: list[tuple[State, State]] = [(game.new_initial_state(), own.new_initial_state())]
    while frontier:
        ours, theirs = frontier.pop()
        if not own.info.perfect_information:
            for player in range(own.num_players()):
                text = theirs.information_state_string(player)
                mine = views.setdefault((player, text), ours.information_state_string(player))
                assert mine == ours.information_state_string(player)
        known = met.setdefault(theirs.key(), ours.key())
        assert known == ours.key()
        if theirs.key() not in looked_at:
            looked_at.add(theirs.key())
            assert not list(differences(ours, theirs))
            frontier += [(ours.child(a), theirs.child(a)) for a in theirs.legal_actions()]
    assert len(set(met.values())) == len(met)
    assert len({(player, mine) for (player, _), mine in views.items()}) == len(views)
    assert len(met) == {"tic_tac_toe": 5478, "kuhn_poker": 58, "matching_pennies": 31}[oracle]


@pytest.mark.engine("node")
@pytest.mark.parametrize("heaps", [[1], [1, 1], [1, 2, 3], [2, 2, 1], [3, 4]])
def test_nim_is_won_as_bouton_proved(heaps: list[int], folder: Path) -> None:
    """C. L. Bouton, "Nim, a game with a complete mathematical theory" (1901)."""
    nim_sum = 0
    for heap in heaps:
        nim_sum ^= heap
    start = example("nim.js", folder, heaps=heaps).new_initial_state()
    assert expectiminimax(start, {}) == (1 if nim_sum else -1)


def test_taking_away_is_lost_from_multiples_of_four(folder: Path) -> None:
    known: dict[Hashable, float] = {}
    assert expectiminimax(example("take_away.sh", folder).new_initial_state(), known) == 1
    for key, worth in known.items():
        pieces, player = map(int, str(key).split())
        mover_wins = pieces % 4 != 0
        assert worth == (1 if mover_wins == (player == 0) else -1), key


@pytest.mark.parametrize(("name", "oracle", "parameters"), [C, RUST, JAVASCRIPT, SHELL])
def test_examples_pass_the_conformance_kit(
    name: str, oracle: str, parameters: dict[str, Any], folder: Path
) -> None:
    report = check_game(example(name, folder, **parameters), games=5)
    assert report.positions > 15
    assert (report.beliefs > 0) == (oracle == "kuhn_poker")
    assert not report.skipped


def played(game: Game, agents: Sequence[str], *, seed: int) -> GameRecord:
    """Play a game with random games that miai plays: those of a program are others."""
    own = {"max_plies": 1000}
    made = [
        miai.make_agent(agent, game, simulations=60, evaluator_parameters=own) for agent in agents
    ]
    return miai.play(game, made, seed=seed)


@pytest.mark.engine("cc")
def test_the_program_plays_random_games_for_searches(folder: Path) -> None:
    """The means are those of uniformly random games, and searches use them."""
    game = example("tic_tac_toe.c", folder)
    evaluator = registry().build(
        EVALUATOR, "random-rollout", game, values={"rollouts": 20_000}, game="program"
    )
    assert isinstance(evaluator, Seedable)
    # In the second the first player has one move of three that wins at once.
    states = [game.new_initial_state(), state_after(game, 0, 3, 1, 4, 8, 7)]
    evaluator.seed(1)
    values = evaluator.evaluate(states)
    assert values.shape == (2, 2)
    assert values[:, 0] == pytest.approx([0.29672, 1 / 3], abs=5 / 20_000**0.5)
    assert values.sum(axis=1) == pytest.approx([0, 0], abs=1e-6)
    evaluator.seed(1)
    assert (evaluator.evaluate(states) == values).all()
    before = game.program.questions
    agent = at(miai.make_agent("mcts", game, simulations=300), player=0)
    assert agent.act(Clock(TimeControl()).reading()).action in range(9)
    assert game.program.questions - before < 3 * 300, "an expansion and a random game each"


@pytest.mark.engine("rustc")
def test_a_view_leads_to_no_state(folder: Path) -> None:
    game = example("kuhn_poker.rs", folder)
    (seen,) = seen_by(game, 0, [2, 3])
    assert not path_to_state(view_of(game, 0, [2, 3]))
    assert len(list(EnumeratedBelief(game, 0))) == 0
    belief = EnumeratedBelief(game, 0)
    belief.observe(seen)
    assert sorted(str(world.key()) for world in belief) == ["JK", "JQ"]


# -- a game in a few lines, and what may go wrong with it -----------------------------------------

PROLOGUE = (
    SPEECH
    + """
def greet(**more):
    facts = dict(name="count", version=1, players=["a", "b"], actions=2, max_game_length=4)
    say(type="hello", protocol=1, **{**facts, **more})
def position(id, state, **more):
    answer = dict(type="state", id=id, state=state, player=len(str(state)) % 2, legal=[0, 1])
    if len(str(state)) == 4 and "returns" not in more:
        wins = state.count("1") % 2
        answer |= dict(player=-4, legal=[], returns=[1 - 2 * wins, 2 * wins - 1])
    say(**{**answer, **more})
def after(message):
    return message.get("state", "") + "".join(map(str, message.get("actions", [])))
hello = hear()
"""
)
SOUND = """
greet()
while True:
    message = hear()
    position(message["id"], after(message))
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", PROLOGUE + code]


def counting(code: str = SOUND, **parameters: Any) -> ProgramGame:
    """Return a game of four binary choices; who makes the sum odd does not matter."""
    game = miai.load_game("program", command=python(code), **parameters)
    assert isinstance(game, ProgramGame)
    return game


def randomly(game: Game, seed: int = 1) -> GameRecord:
    return miai.play(game, [RandomAgent(game) for _ in range(game.num_players())], seed=seed)


def test_a_small_game_is_sound() -> None:
    game = counting()
    check_game(game, games=5)
    assert (game.info.title, game.info.version, game.info.name) == ("count", 1, "program")
    assert repr(game).startswith("<game count v1 of program 'python")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('no license')", "exited with status 1; its last output: no license"),
        ("print('GNU Go 3.8', flush=True)\nhear()", "wrote 'GNU Go 3.8'; each line must be a JSON"),
        ("say(type='hello', protocol=2)\nhear()", "speaks version 2; its first line must be"),
        ("say(type='state')\nhear()", 'speaks something else, {"type": "state"}; its first line'),
        ("say(type='error', message='size: 1 to 9')\nhear()", "reports an error: size: 1 to 9"),
        ("sys.stdout.write('x' * 3_000_000)\nhear()", "more than 1,048,576 bytes"),
        ("greet(players=['a', 'a'])\nhear()", "players: names of players are different words"),
        ("greet(actions=['x', 'X'])\nhear()", "hello.actions, hello.chance: two are written alike"),
        ("greet(version='one')\nhear()", "hello.version: expected a whole number"),
        ("greet(min_utility=1)\nhear()", "hello.min_utility must be less than max_utility"),
        ("greet(teams=[0])\nhear()", "hello.teams must have a number for each player"),
        ("greet(max_game_length=None)\nhear()", "hello.max_game_length: "),
        ("say(type='hello', protocol=1)\nhear()", "hello.name: is required"),
    ],
)
def test_a_program_that_does_not_begin_is_refused(code: str, message: str) -> None:
    with pytest.raises(GameFailedError, match=r"program 'python.*see docs/programs\.md") as caught:
        counting(code)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


LATER = """
greet()
while True:
    message = hear()
    id, state = message["id"], after(message)
    if len(state) == 2:
        {}
    position(id, state)
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit(3)", "exited with status 3"),
        ("print('hm')", "wrote 'hm'; each line must be a JSON object"),
        ("position(id, state)", "answered wrongly: type 'state', id "),
        ("id += 1", ", where type 'state', id "),
        ("say(type='error', id=id, message='what?')", "reports an error: what?"),
        ("say(type='state', id=id, player=0)", "answer.state: is required"),
        ("position(id, state, player='x')", "answer.player: expected a whole number"),
        ("position(id, state, player=2)", "player is 2: 0 to 1, -1 chance"),
        ("position(id, state, player=-2)", "the hello does not say simultaneous"),
        ("position(id, state, player=-4)", "legal must be empty, as player is -4"),
        ("position(id, state, player=-4, legal=[])", "returns are missing"),
        ("position(id, state, player=-4, legal=[], returns=[1])", "returns has 1 numbers"),
        ("position(id, state, player=-4, legal=[], returns=[9, -9])", "must be from -1 to 1"),
        ("position(id, state, player=-4, legal=[], returns=[1, 0])", "returns sum to 1, but "),
        ("position(id, state, legal=[])", "legal has no action, and the game is not over"),
        ("position(id, state, legal=[0, 2])", "legal must have numbers of actions, 0 to 1"),
        ("position(id, state, legal=[1, 1])", "legal has an action twice"),
        ("position(id, state, legal_text=['x'])", "legal_text must have a text for each"),
        ("position(id, state, chance=[[2, 1]])", "chance must have outcomes where player is -1"),
        ("position(id, state, player=-1, legal=[])", "chance must have outcomes where"),
        ("position(id, [float('nan')])", "a JSON object: NaN is not a JSON number"),
        (
            "position(id, state, player=-1, legal=[], chance=[[2, 0.5]])",
            "the hello names no outcomes of chance",
        ),
    ],
)
def test_misbehaviour_voids_the_game(code: str, message: str) -> None:
    game = counting(LATER.format(code))
    with pytest.raises(GameFailedError, match=r"see docs/programs\.md$") as caught:
        randomly(game)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.history is not None
    assert len(caught.value.history) in (2, 3), "the actions that lead to it"


def test_a_program_that_hangs_is_not_waited_for() -> None:
    with pytest.raises(GameFailedError, match=r"'python' did not say hello in time"):
        counting("time.sleep(600)", startup_timeout=0.5)
    game = counting(LATER.format("time.sleep(600)"), answer_timeout=0.5)
    with pytest.raises(GameFailedError, match=r"did not answer 'next' \(0.5 s\) in time"):
        randomly(game)


CHANCE = 'greet(chance=["heads", "tails"])' + LATER.removeprefix("\ngreet()")


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ("[[2, 0.5], [3, 0.6]]", "the probabilities of chance sum to 1.1"),
        ("[[2, 1.0], [3, 0.0]]", "each is more than 0"),
        ("[[2, 0.5], [2, 0.5]]", "chance has an outcome twice"),
        ("[[0, 0.5], [1, 0.5]]", "chance has an outcome beyond 2 to 3"),
    ],
)
def test_chance_must_be_right(outcomes: str, message: str) -> None:
    code = f"position(message['id'], state, player=-1, legal=[], chance={outcomes}); continue"
    with pytest.raises(GameFailedError) as caught:
        randomly(counting(CHANCE.format(code)))
    assert message in str(caught.value)


def test_observations_must_be_there() -> None:
    hidden = SOUND.replace("greet()", "greet(perfect_information=False)")
    with pytest.raises(GameFailedError, match="observations must have an entry for each player"):
        counting(hidden).new_initial_state()
    listed = hidden.replace("after(message)", "after(message), observations=[{'sees': [0]}, {}]")
    unknown = listed.replace("[0]}", "'all'}")
    with pytest.raises(GameFailedError, match=r'sees: expected "action", "actor" or a list of pl'):
        counting(unknown).new_initial_state()
    with pytest.raises(GameFailedError, match="sees: a list of players is for games in which"):
        counting(listed).new_initial_state()


def test_a_program_that_dies_is_started_again_and_nothing_is_lost(tmp_path: Path) -> None:
    mark = tmp_path / "died"
    dying = f"""
greet()
for number in range(100):
    message = hear()
    if number == 2 and not os.path.exists({str(mark)!r}):
        open({str(mark)!r}, "w").close()
        sys.exit(1)
    position(message["id"], after(message))
"""
    game = counting(dying)
    record = randomly(game)
    assert record.termination is Termination.TERMINAL
    assert game.program.starts == 2
    replay(record, counting(SOUND))


def test_a_program_that_contradicts_itself_is_found() -> None:
    """Where a position is met again: by a search, and by the conformance kit."""
    fickle = SOUND.replace("greet()", "greet()\nn = 0").replace(
        'position(message["id"], after(message))',
        'n += 1\n    position(message["id"], after(message), text=str(n))',
    )
    state = counting(fickle).new_initial_state()
    state.child(0)
    with pytest.raises(GameFailedError, match="it said text 2 and then 3") as caught:
        state.child(0)
    assert 'asked {"type":"next","state":"","actions":[0]}' in str(caught.value)
    with pytest.raises(ConformanceError, match="contradicts itself"):
        check_game(counting(fickle), games=1)


# -- players in processes of their own ------------------------------------------------------------


def against_random(game: ProgramGame, agent: str, **values: Any) -> list[Seat]:
    """Return the seats of an agent in a process and of one in this process."""
    parameters = game.parameters.model_dump(mode="json")
    first = AgentProcess("program", parameters, agent, values, name=agent, limits=LIMITS)
    return [first, InProcessSeat(RandomAgent(game))]


def with_seats(game: Game, seats: Sequence[Seat], seed: int = 1) -> GameRecord:
    try:
        return play_game(game, seats, seed=seed)
    finally:
        for seat in seats:
            seat.close()


FAILS_IN_SEARCH = """
greet()
while True:
    message = hear()
    state = after(message)
    if len(state) == 4 and state[0] == "0":
        sys.exit("a defect of the rules")
    position(message["id"], state)
"""


@pytest.mark.slow
def test_a_player_who_meets_a_defect_of_the_game_does_not_forfeit() -> None:
    """The search comes to the position where the program dies; the referee looks there, too."""
    game = counting(FAILS_IN_SEARCH)
    seats = against_random(game, "mcts", simulations=500)
    with pytest.raises(GameFailedError, match="a defect of the rules") as caught:
        with_seats(game, seats)
    assert caught.value.history is not None
    assert caught.value.history[0] == 0
    assert len(caught.value.history) == 4


@pytest.mark.slow
def test_a_defect_that_the_referee_does_not_meet_is_the_players() -> None:
    """Whoever claims one to void a game that it loses gains nothing."""
    game = counting()
    seats = against_random(game, "file", file=str(LIAR), class_name="Liar")
    record = with_seats(game, seats)
    assert (record.termination, record.loser) == (Termination.CRASH, 0)
    assert "the game is broken" in record.detail


LIAR = Path(__file__).with_name("lying_agent.py")


def test_a_game_that_answers_each_process_otherwise_is_void() -> None:
    """The player's copy has other rules, so it plays what is not legal at the referee's."""
    fickle = """
greet()
while True:
    message = hear()
    position(message["id"], after(message), text=str(os.getpid()))
"""
    game = counting(fickle)
    with pytest.raises(GameFailedError, match="started again, it says otherwise about the"):
        miai.play(game, [Scripted(game, 7), RandomAgent(game)])


@pytest.mark.slow
def test_the_program_runs_in_a_players_sandbox(tmp_path: Path) -> None:
    """Searches with hidden information: the sandboxes ask programs of their own.

    The sandbox has a temporary folder of its own, and yet shows the program.
    """
    if reason := sandbox_hindrance():
        pytest.skip(reason)
    script = tmp_path / "game.py"
    script.write_text(PROLOGUE + HIDDEN)
    game = miai.load_game("program", command=[sys.executable, str(script)])
    seats = [
        AgentProcess(
            "program",
            game.parameters.model_dump(mode="json"),
            agent,
            {"simulations": 20},
            name=agent,
            limits=ProcessLimits(isolation=Isolation.SANDBOX),
        )
        for agent in ("ismcts", "pimc")
    ]
    record = with_seats(game, seats)
    assert record.termination is Termination.TERMINAL, record.detail
    own = miai.play(
        game, [miai.make_agent(agent, game, simulations=20) for agent in ("ismcts", "pimc")], seed=1
    )
    assert [move.action for move in own.moves] == [move.action for move in record.moves]


def test_a_sound_game_leaves_a_forfeit_as_it_is() -> None:
    game = counting()
    record = miai.play(game, [RandomAgent(game), Scripted(game, 1, 7)])
    assert (record.termination, record.loser) == (Termination.ILLEGAL_ACTION, 1)


@pytest.mark.slow
def test_no_process_remains() -> None:
    code = SOUND + "# leaves nothing\n"
    game = counting(code)
    seats = against_random(game, "mcts", simulations=50)
    clones = [game.new_initial_state().clone() for _ in range(100)]
    assert counting(code).program is game.program, "games of one command share a program"
    with_seats(game, seats)
    mine = (p for p in psutil.Process().children(recursive=True) if p.status() != "zombie")
    running = [process for process in mine if "# leaves nothing" in " ".join(process.cmdline())]
    assert len(running) == 1
    del game, clones, seats
    _, alive = psutil.wait_procs(running, timeout=5)
    assert not alive


def test_the_program_is_confined() -> None:
    status = """
greet()
while True:
    message = hear()
    facts = dict(line.split(":") for line in open("/proc/self/status") if "Priv" in line)
    position(message["id"], after(message), text=facts["NoNewPrivs"].strip())
"""
    assert str(counting(status).new_initial_state()) == "1"


# -- records, parameters, seeds -------------------------------------------------------------------


def test_a_record_says_which_game_it_was_and_is_replayed() -> None:
    record = read_record(randomly(counting()).to_json_lines())
    assert (record.game, record.game_version) == ("program", 1)
    assert record.game_parameters["identity"] == "count"
    assert replay(record).is_terminal()
    other = SOUND.replace("greet()", "greet(name='other')")
    wrong = {**record.game_parameters, "command": python(other)}
    with pytest.raises(GameFailedError, match="serves the game 'other', not 'count'"):
        miai.load_game("program", **wrong)
    newer = counting(SOUND.replace("greet()", "greet(version=2)"))
    with pytest.raises(RecordError, match="recorded from program version 1, replayed with"):
        replay(record, newer)


def test_players_are_told_the_game_and_its_own_parameters(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    bot = f"""
import json, sys
for line in sys.stdin:
    open({str(notes)!r}, "a").write(line)
    message = json.loads(line)
    if message["type"] == "hello":
        print('{{"type":"hello","protocol":1,"games":["count"]}}', flush=True)
    elif message["type"] == "act":
        print(json.dumps({{"type": "action", "id": message["id"], "action": 0}}), flush=True)
"""
    game = counting(parameters={"size": 5})
    record = playing([sys.executable, "-c", bot], game=game)
    assert record.termination is Termination.TERMINAL, record.detail
    hello = json.loads(notes.read_text().splitlines()[0])
    assert (hello["game"], hello["parameters"]) == ("count", {"size": 5})


def test_answers_are_remembered_and_forgotten() -> None:
    for remembered, games, questions in ((3, 3, 15), (10, 9, 10)):
        game = counting(remembered=remembered)
        for _ in range(games):
            state_after(game, 0, 1, 0, 1)
        assert game.program.questions == questions, "of 5 positions: once, and once to confirm"


DEALT = """
greet(players=["a", "b", "c"], actions=["low", "high"], chance=["r", "g"], simultaneous=True,
      perfect_information=False, max_game_length=6, utility_sum=None)
while True:
    message = hear()
    id = message["id"]
    state = after(message)
    seen = [None, None, None]
    if len(state) == 1:
        seen[0] = {"sees": "actor", "data": "rg"[int(state) - 2]}
        seen[1] = {"sees": "action"}
    if len(state) == 4:  # a sees b, b sees all, c sees nobody
        seen = [{"sees": [1]}, {"sees": "action"}, {}]
    if not state:
        position(id, state, player=-1, legal=[], chance=[[2, 0.25], [3, 0.75]], observations=seen)
    elif len(state) < 7:
        position(id, state, player=-2, legal=[[0, 1]] * 3, observations=seen, returns=[0] * 3)
    else:
        position(id, state, player=-4, legal=[], returns=[1, 0, -1], observations=seen)
"""


def observed(state: State) -> list[Any]:
    return [state.observation(player) for player in range(state.game.num_players())]


def test_players_who_act_at_once_see_what_the_program_says() -> None:
    game = counting(DEALT)
    check_game(game, games=3)
    state = game.new_initial_state()
    assert observed(state) == [None, None, None]
    state.apply_action(3)
    first, second, third = observed(state)
    assert (first.actor, first.action, first.data) == (-1, None, "g")
    assert (second.actor, second.action, second.data) == (-1, 3, None)
    assert (third.actor, third.action, third.legal_actions) == (None, None, (0, 1))
    state.apply_actions({0: 1, 1: 0, 2: 1})
    first, second, third = observed(state)
    assert (first.actor, first.action, first.actions) == (-2, 1, (1, 0, None))
    assert (second.action, second.actions) == (0, (1, 0, 1))
    assert (third.action, third.actions) == (1, ())
    for agent in ("ismcts", "pimc"):
        assert played(game, [agent, "ismcts", "pimc"], seed=1).termination == Termination.TERMINAL


HIDDEN = SOUND.replace("greet()", "greet(perfect_information=False)").replace(
    "after(message))", "after(message), observations=[{'sees': 'action'}] * 2)"
)


PLAYOUTS = """
greet(playouts=True)
while True:
    message = hear()
    if message["type"] == "playouts":
        say(type="returns", id=message["id"], returns={})
    else:
        position(message["id"], after(message))
"""


@pytest.mark.parametrize(
    ("returns", "message"),
    [
        ("[]", "returns must have a list for each state, a number a player"),
        ("[[2, -2]]", "returns must be from -1 to 1"),
        ("sys.exit('tired')", "exited with status 1; its last output: tired"),
    ],
)
def test_random_games_of_a_program_must_be_right(returns: str, message: str) -> None:
    game = counting(PLAYOUTS.format(returns))
    with pytest.raises(GameFailedError) as caught:
        miai.play(game, [miai.make_agent("mcts", game, simulations=20), RandomAgent(game)])
    assert message in str(caught.value)


def test_positions_may_be_any_json_and_actions_written_otherwise() -> None:
    code = """
greet(max_game_length=1)
while True:
    message = hear()
    if message["type"] == "start":
        position(message["id"], {"at": [1.5, None, "\\u00e9"]}, player=1, legal=[1, 0],
                 legal_text=["up", "down"], text="start")
    else:
        assert message["state"] == {"at": [1.5, None, "\\u00e9"]}, message
        position(message["id"], 0, player=-4, legal=[], returns=[0, 0])
"""
    game = counting(code)
    state = game.new_initial_state()
    assert state.legal_actions() == [0, 1]
    assert [state.action_to_string(action) for action in (0, 1)] == ["down", "up"]
    assert state.string_to_action("UP") == 1
    assert str(state) == "start"
    assert state.child(1).returns() == (0.0, 0.0)
    check_game(game, games=2)


# -- configs, the command line, the browser -------------------------------------------------------

BREAKS = """
greet(name={name!r})
while True:
    message = hear()
    state = after(message)
    if state[:3] == "000" and not os.path.exists({fixed!r}):
        sys.exit("out of luck")
    position(message["id"], state)
"""


def breaking(tmp_path: Path, *, name: str = "count") -> dict[str, Any]:
    """Return a tournament whose game has a defect, until the file ``fixed`` is there."""
    code = BREAKS.format(name=name, fixed=str(tmp_path / "fixed"))
    script = tmp_path / "game.py"
    script.write_text(PROLOGUE + code)
    players = [{"name": name, "agent": "random"} for name in ("one", "other")]
    return {
        "tournament": {"name": "counting", "rounds": 8, "seed": 3},
        "run": {"workers": 1, "executor": "serial"},
        "limits": {"isolation": "process"},
        "game": {"program": [sys.executable, str(script)], "size": 3},
        "players": players,
    }


@pytest.mark.slow
def test_a_tournament_halts_where_its_game_fails_and_goes_on_later(tmp_path: Path) -> None:
    config, lines = breaking(tmp_path), list[str]()
    tables = check_tournament(config, source="config", folder=tmp_path, text="")
    assert tables.game.parameters.model_dump()["parameters"] == {"size": 3}
    with pytest.raises(TournamentStoppedError, match=r"was void twice in a row: .*out of luck"):
        run_tournament(config, tmp_path / "run", show=lines.append)
    with Store.read(tmp_path / "run") as store:
        first = store.results()
    assert 0 < len(first) < 16
    assert {(row.loser, row.termination, row.detail) for row in first} == {(None, "terminal", "")}
    (tmp_path / "fixed").touch()
    run_tournament(config, tmp_path / "run")
    with Store.read(tmp_path / "run") as store:
        last = store.results()
    assert len(last) == 16
    assert {row.game_id: row for row in first}.items() <= {row.game_id: row for row in last}.items()
    breaking(tmp_path, name="other")
    del tables
    gc.collect()  # while a game lives, so does its program
    with pytest.raises(ConfigError, match=r"game\.identity: .*count.*other"):
        run_tournament(config, tmp_path / "run")


def test_a_config_names_a_game_or_a_program(tmp_path: Path) -> None:
    config = breaking(tmp_path)
    both = {**config, "game": {**config["game"], "name": "tic_tac_toe"}}
    with pytest.raises(ConfigError, match="give the name of a game or a program, not both"):
        check_tournament(both, source="config", folder=tmp_path, text="")
    twice = {**config, "game": {**config["game"], "command": "./nim"}}
    with pytest.raises(ConfigError, match="game: command: the program is the command; remove one"):
        check_tournament(twice, source="config", folder=tmp_path, text="")
    dated = {**config, "game": {**config["game"], "day": datetime(2026, 1, 1, tzinfo=UTC)}}
    with pytest.raises(ConfigError, match=r"game\.parameters: .*day.* is of type datetime"):
        check_tournament(dated, source="config", folder=tmp_path, text="")
    missing = {**config, "game": {"program": ["./nothing"]}}
    with pytest.raises(ConfigError, match=r"game: the program '\./nothing' was not found"):
        check_tournament(missing, source="config", folder=tmp_path, text="")


@pytest.mark.slow
def test_a_game_is_played_and_checked_from_the_command_line(tmp_path: Path) -> None:
    shell = str(EXAMPLES / "take_away.sh")
    checked = run_miai(["check", shell, "--games", "2"])
    assert checked.returncode == 0, checked.stderr
    assert "<game take_away v1 of program 'take_away.sh'>: no violation in 2" in checked.stdout
    record = tmp_path / "game.jsonl"
    words = ["--first", "mcts", "--first.simulations", "50", "--second", "random", "--seed", "1"]
    result = run_miai(["play", shell, *words, "--record", str(record)])
    assert result.returncode == 0, result.stderr
    assert "First wins" in result.stdout
    assert read_record(record.read_text()).game_parameters["identity"] == "take_away"
    script = tmp_path / "game.py"
    script.write_text(PROLOGUE + LATER.format("sys.exit('a defect')"))
    twice = run_miai(["play", shell, "--set", "command=./nim", *words])
    assert twice.returncode == 2
    assert twice.stderr == f"miai: --set command: the program {shell} is the command\n"
    broken = run_miai(
        ["play", f"{sys.executable} {script}", "--a", "random", "--b", "random", "--quiet"]
    )
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr.count("\n") == 1
    assert "program 'python' of count exited with status 1" in broken.stderr
    assert "a defect" in broken.stderr
    stranger = run_miai(["play", shell, "--third", "random"])
    assert "take_away is played by first and second" in stranger.stderr
    missing = run_miai(["play", shell, "second"])
    assert missing.stderr.endswith("Write: miai play ... --first human --second mcts\n")

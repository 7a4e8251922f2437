"""Games at the server's tables: played by requests, to the end, and over a restart."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from tests.framework.histories import view_of
from tests.slow import with_slow
from tests.web.server import Browser, Events, is_over, is_turn, let_in, running
from tests.whole_texts import assert_expected

import miai
from miai.agent import Decision
from miai.api import renderer_for
from miai.errors import ConfigError, RecordError
from miai.files import Journal
from miai.plain import Json
from miai.playing.match import InProcessSeat
from miai.playing.replay import replay
from miai.playing.session import decision_in_place, hint_line
from miai.plugins.kinds import AGENT
from miai.plugins.loader import registry
from miai.record import MoveRecord
from miai.render import PlainRenderer
from miai.web.analysis import analysis_of, thoughts_of
from miai.web.lobby import FormError, fields_of, picture_of, setting_of
from miai.web.tables import Chair, GameTable, Setting


def begun(browser: Browser, table: str, events: Events) -> int:
    """Play the first move; return the number of the position that it answers."""
    number: int = events.until(is_turn)["frame"]["number"]
    assert browser.move(table, number, 4).status == 200
    return number


def test_a_game_against_an_agent_is_played_to_its_end_and_kept(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", seed="3")
    state = miai.load_game("tic_tac_toe").new_initial_state()
    with browser.watching(table) as events:
        while True:
            news = events.until(lambda n: is_turn(n) or is_over(n))
            if is_over(news):
                break
            frame = news["frame"]
            assert frame["number"] == len(news["moves"]) + 1
            action = frame["moves"][-1]["action"]
            assert browser.move(table, frame["number"], action).status == 200
            events.next()
    for text in news["moves"]:
        state.apply_action(state.string_to_action(text))
    assert state.is_terminal()
    assert news["result"] == state.result_to_string().capitalize()
    replay = browser.ask(table.replace("tables", "records")).text
    assert "random" in replay
    assert "tic_tac_toe" in browser.ask("/").text


def test_only_the_answer_to_the_last_position_counts(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe")
    with browser.watching(table) as events:
        first = events.until(is_turn)["frame"]["number"]
        for number, action, problem in (
            (first - 1, 4, "the position has changed"),
            (first, 9, "that is not a legal move"),
            (first, True, "say a move, resign or undo"),
        ):
            reply = browser.move(table, number, action)
            assert reply.status == 409
            assert problem in reply.json["problem"]
        assert browser.move(table, first, 4).status == 200
        events.until(lambda n: is_turn(n) and n["frame"]["number"] > first)
        assert browser.move(table, first, 4).status == 409, "a double click"


def test_everybody_is_told_what_may_not_be_done(visitor: Browser) -> None:
    table = visitor.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
    guest, onlooker = Browser(visitor.port), let_in(visitor.port)
    vacant = visitor.new_table("tic_tac_toe", players__0__agent="me", players__1__agent="guest")
    visitor.invite(guest, table)
    undo, pause = {"number": 1, "kind": "undo"}, {"kind": "pause"}
    told = []
    for asker, path, said in (
        (onlooker, f"{table}/answers", {}),
        (onlooker, f"{table}/hints", {}),
        (guest, f"{table}/pace", pause),
        (visitor, f"{vacant}/answers", {}),
        (visitor, f"{table}/answers", []),
        (visitor, f"{table}/answers", undo),
        (visitor, f"{table}/answers", {"number": True}),
        (visitor, f"{table}/hints", {}),
        (visitor, f"{table}/invitations/0", {}),
        (guest, f"{table}/invitations/1", {}),
        (visitor, f"{table}/pace", {"kind": "stop"}),
        (visitor, f"{table}/pace", []),
        (visitor, f"{table}/pace", pause),
    ):
        if asker is not onlooker:
            with asker.watching(table) as events:  # the game begins
                events.next()
        reply = asker.post(path, said)
        what = re.sub(r"^/tables/\w+/", "", path)
        told.append(f"{what} {said}: {reply.status} {reply.json['problem']}")
    assert_expected("web-refusals.txt", "\n".join(told))
    for game in ("go", "tic_tac_toe"):
        assert "players.1.simulations" in visitor.ask(f"/games/{game}/players/1/mcts").text
    reply = visitor.ask("/games/go/players/1/mtcs")
    assert reply.status == 404
    assert "Did you mean &#39;mcts&#39;" in reply.text


def test_a_table_is_what_its_journal_tells(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    chairs = [Chair(agent="human", browser="b"), Chair(agent="human", invitation="key")]
    clock = {"kind": "fischer", "seconds": 60.0, "increment": 2.0}
    setting = Setting(game="tic_tac_toe", parameters={}, chairs=chairs, seed=1, clock=clock)
    GameTable("table", setting, path, hidden=()).create()
    assert path.stat().st_mode & 0o777 == 0o600
    rows = ((0, 4, "b2", 1.5), (1, 3, "a2", 9.0), (1, 0, "a3", 2.25), (2, 8, "c1", 9.0))
    moves = [
        MoveRecord(ply=ply, actor=ply % 2, action=action, text=text, seconds=seconds)
        for ply, action, text, seconds in rows
    ]
    entries = [{"move": asdict(move)} for move in moves]
    Journal(path).append([*entries, {"sit": [1, "c"]}, {"undo": 2}])
    table = GameTable.open(path, hidden=())
    assert table.moves == [moves[0], moves[2]], "the second was interrupted, the last taken back"
    assert table.setting.chairs == [Chair(agent="human", browser=name) for name in "bc"]
    assert [table.player_of(name) for name in ("b", "c", "", "d")] == [0, 1, -1, -1]
    # Its clocks: 60 - 1.5 + 2 and 60 - 2.25 + 2 seconds.
    assert_expected("web-table.html", dumps([table.news(-1), table.page(-1)], indent=1))
    first, second, onlooker = [table.news(player) | {"chairs": []} for player in (0, 1, -1)]
    assert first == second == onlooker
    for ask, refusal in ((table.analyse, "the analysis is shown when"), (table.estimate, "no est")):
        with pytest.raises(ConfigError, match=refusal):
            ask(0)
    Journal(path).replace([{"schema": "miai.table/2"}])
    with pytest.raises(RecordError, match="is not a table's journal: of another version"):
        GameTable.open(path, hidden=())


@pytest.mark.parametrize("player", [-1, 0])
def test_a_suspended_hidden_game_shows_its_own_side(tmp_path: Path, player: int) -> None:
    chairs = [Chair(agent="human", browser="b"), Chair(agent="ismcts")]
    setting = Setting(game="phantom_tic_tac_toe", parameters={}, chairs=chairs, seed=1)
    table = GameTable("table", setting, tmp_path / "table.jsonl", hidden=())
    table.create([MoveRecord(ply=0, actor=0, action=4, text="b2")])
    table.stage = "suspended"
    own = player == 0
    assert_expected(f"web-table-{player}.html", dumps(table.page(player), indent=1))
    assert [table.estimate_of(player), table.can_analyse(player)] == ["belief" * own, False]
    if own:
        assert table.estimate(0)["title"] == "1 possible world"
    two = replace(setting, chairs=[chairs[0], Chair(agent="human", browser="c")])
    between = GameTable("two", two, tmp_path / "two.jsonl", hidden=())
    go = GameTable("go", replace(two, game="go"), tmp_path / "go.jsonl", hidden=())
    for each in (between, go):
        each.create()
        assert not each.estimate_of(player), "what one of two people knows is for neither"


@pytest.mark.parametrize(
    "game", ["tic_tac_toe", pytest.param("phantom_tic_tac_toe", marks=pytest.mark.slow)]
)
def test_a_hint_is_a_legal_move_from_what_the_player_knows(browser: Browser, game: str) -> None:
    table = browser.new_table(game, seed="5")
    early = browser.post(f"{table}/hints", {})
    assert (early.status, early.json) == (409, {"problem": "there is no hint here"})
    with browser.watching(table) as events:
        news = events.until(is_turn)
        assert news["hints"]
        reply = browser.post(f"{table}/hints", {})
        assert reply.status == 200, reply.text
        legal = {move["action"]: move["text"] for move in news["frame"]["moves"]}
        known, hidden = ("alpha-beta", r"utility \+0\.00"), ("ismcts", r"win rate \d+\.\d %")
        adviser, value = known if game == "tic_tac_toe" else hidden
        suggested = re.escape(f"{adviser} suggests {legal[reply.json['action']]}: ")
        assert re.fullmatch(suggested + value, reply.json["text"])
        assert reply.json["thoughts"]["who"] == "x"
        assert browser.post(f"{table}/hints", {}).json == reply.json, "it changes nothing"


def test_a_restart_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    with running(folder) as port:
        browser = let_in(port)
        table = browser.new_table("phantom_tic_tac_toe", seed="1")
        with browser.watching(table) as events:
            number = begun(browser, table, events)
            before = events.until(lambda n: is_turn(n) and n["frame"]["number"] > number)
    with running(folder) as port:
        browser.port = port
        assert table in browser.ask("/").text
        with browser.watching(table) as events:
            after = events.until(is_turn)
            assert after["frame"] == before["frame"]
            number = after["frame"]["number"]
            browser.post(f"{table}/answers", {"number": number, "kind": "resign"})
            assert events.until(is_over)["result"] == "O wins by resignation"


@pytest.mark.slow
def test_the_first_page_after_a_restart_needs_no_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "games"
    with running(folder) as port:
        browser = let_in(port)
        table = browser.new_table("phantom_tic_tac_toe", seed="1")
        with browser.watching(table) as events:
            number = begun(browser, table, events)
            seen = events.until(lambda n: is_turn(n) and n["frame"]["number"] > number)["frame"]
        assert seen["picture"].startswith("<svg")
        assert seen["picture"] not in browser.ask(table).text, "the rules are loaded"
    still = next(folder.glob("*.still"))
    assert still.stat().st_mode & 0o777 == 0o600

    def fail(*given: object, **more: object) -> None:
        raise AssertionError("the rules are loaded")

    with running(folder) as port:
        browser.port = port
        onlooker = let_in(port)
        with monkeypatch.context() as patch:
            patch.setattr("miai.web.tables.load_game", fail)
            assert seen["picture"] in browser.ask(table).text
            assert "x: <b>you</b>" in browser.ask(table).text
            assert seen["picture"] not in onlooker.ask(table).text
            assert "hidden until the game is over" in onlooker.ask(table).text
        with browser.watching(table) as events:
            number = events.until(is_turn)["frame"]["number"]
            before = still.read_bytes()
            legal = [move["action"] for move in events.last["frame"]["moves"]]
            browser.move(table, number, legal[0])
            events.until(lambda n: n["frame"]["number"] > number)
    with running(folder) as port:
        browser.port = port
        still.write_bytes(before)
        assert seen["picture"] not in browser.ask(table).text, "the game has gone on since"


FORMS = """\
game.board_size=99
game.komi=many
players.1.agent=mcts&players.1.simulations=-5
players.1.agent=nobody
game.board_size=19&players.1.agent=rank:alphago-50
players.1.agent=me
seed=-1
clock.kind=absolute
clock.kind=sundial
clock.kind=absolute&clock.seconds=9&clock.increment_per=turn
"""


def test_a_form_says_what_is_wrong_beside_the_field(visitor: Browser) -> None:
    told = []
    for line in FORMS.splitlines():
        entered = dict(parse_qsl(line))
        whole = {"players.0.agent": "me", "players.1.agent": "random", **entered}
        reply = visitor.form("/games/go", whole)
        assert reply.status == 200
        mistakes = re.findall(r'class="mistake"[^>]*>([^<]+)<', reply.text)
        told.append(f"{line}: {'; '.join(mistakes)}")
        for name, value in entered.items():
            assert name.endswith(".agent") or value in reply.text, "what was entered is still there"
    assert_expected("web-mistakes.txt", "\n".join(told))


@pytest.mark.parametrize("points", ["C3 B2", "[C3, B2]", '["C3", "B2"]', "C3,B2"])
def test_a_list_of_points_needs_no_quotes(visitor: Browser, points: str) -> None:
    seats = {"players__0__agent": "guest", "players__1__agent": "me"}
    entered = {"game__board_size": "5", "game__handicap_points": points}
    table = visitor.new_table("go", **seats, **entered)
    with visitor.watching(table) as events:
        rows = [line for line in events.next()["frame"]["text"].splitlines() if line[:1].isspace()]
    black = [line.split()[0] for line in rows if "X" in line]
    assert black == ["3", "2"]


CLOCK = {"clock__kind": "absolute", "clock__seconds": "300"}


def test_ranges_and_choices_are_those_of_the_parameters(visitor: Browser) -> None:
    form = visitor.ask("/games/go").text
    said = dict(re.findall(r'id="game\.(\w+)-help"[^>]*>([^<]*)<', form))
    assert said["board_size"].strip() == "Points on a side (1 to 25 points)"
    assert said["komi"].strip().endswith("(-625 to 625 points)")
    (choices,) = re.findall(r'<select[^>]* name="game\.suicide".*?</select>', form, re.DOTALL)
    assert re.findall(r'<option value="(\w*)"', choices) == ["", "true", "false"]
    assert re.search(r'<input[^>]* name="game\.max_moves"[^>]* max="10000"', form)


def test_both_clocks_are_shown_and_the_mover_s_runs(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", **CLOCK)
    spectator = let_in(browser.port)
    with browser.watching(table) as events:
        news = events.until(is_turn)
        assert news["clocks"]["ticking"] == [0]
        assert 200 < news["clocks"]["left"][0] <= 300
        time.sleep(1.2)
        number = news["frame"]["number"]
        assert browser.move(table, number, 4).status == 200
        later = events.until(lambda n: is_turn(n) and n["frame"]["number"] > number)
        mine, theirs = later["clocks"]["left"]
        assert 200 < mine <= 298.9
        assert 200 < theirs <= 300
        time.sleep(0.5)
        with spectator.watching(table) as public:
            left, theirs_then = public.next()["clocks"]["left"]
            assert 0.4 < mine - left < 100
            assert theirs_then == theirs


@pytest.mark.parametrize(
    ("per", "low", "high"), with_slow([("action", 100, 130), ("turn", 0, 30)], ("turn", 0, 30))
)
def test_an_increment_is_added_per_action_or_per_turn(
    browser: Browser, per: str, low: int, high: int
) -> None:
    """A sense is not the end of a turn."""
    clock = {"clock__kind": "fischer", "clock__seconds": "30", "clock__increment": "100"}
    clock["clock__increment_per"] = per
    table = browser.new_table("rbc", **clock)
    with browser.watching(table) as events:
        number = events.until(is_turn)["frame"]["number"]
        assert browser.move(table, number, 27).status == 200
        later = events.until(lambda n: is_turn(n) and n["frame"]["number"] > number)
        assert low < later["clocks"]["left"][0] <= high


def test_after_a_restart_the_clock_of_who_is_to_move_runs(tmp_path: Path) -> None:
    chairs = {"players__0__agent": "me", "players__1__agent": "guest"}
    with running(tmp_path) as port:
        own, other = Browser(port), Browser(port)
        own.enter()
        table = own.new_table("tic_tac_toe", **chairs, **CLOCK)
        own.invite(other, table)
        with own.watching(table) as mine, other.watching(table) as theirs:
            number = mine.until(is_turn)["frame"]["number"]
            assert own.move(table, number, 4).status == 200
            theirs.until(is_turn)
    with running(tmp_path) as port:
        other.port = port
        with other.watching(table) as theirs:
            assert theirs.until(is_turn)["clocks"]["ticking"] == [1]


def test_spectators_learn_that_the_players_have_started(browser: Browser) -> None:
    spectator = let_in(browser.port)
    table = browser.new_table("tic_tac_toe")
    with spectator.watching(table) as public:
        assert public.until(lambda news: news["stage"] == "playing")["moves"] == []


def test_the_clock_of_somebody_who_plays_a_hidden_game_is_its_own(browser: Browser) -> None:
    table = browser.new_table("phantom_tic_tac_toe", **CLOCK)
    spectator = let_in(browser.port)
    with browser.watching(table) as events, spectator.watching(table) as public:
        clocks = events.until(is_turn)["clocks"]
        mine, theirs = clocks["left"]
        assert 200 < mine <= 300
        assert theirs is None
        assert clocks["ticking"] == [0]
        assert public.next()["clocks"] == {"left": [None, None], "ticking": []}


def test_a_form_makes_a_setting() -> None:
    clock = {"kind": "byo-yomi", "seconds": 9.5, "periods": 3, "period_seconds": 2.0}
    entered = {f"clock.{name}": str(value) for name, value in clock.items()}
    entered |= {"players.0.agent": "guest", "players.1.agent": "rank:mcts-100", "seed": " 7 "}
    chairs = [Chair(agent="human"), Chair(agent="mcts", parameters={"simulations": 100})]
    made = setting_of("tic_tac_toe", entered, browser="b")
    assert made == Setting(game="tic_tac_toe", parameters={}, chairs=chairs, seed=7, clock=clock)


def test_parameters_in_tables_are_fields_of_the_form() -> None:
    agent = registry().get(AGENT, "alphazero", game="go")
    fields = {field.name: field for field in fields_of(agent, "go", "players.1", {}, {})}
    assert fields["players.1.search"].choices == ("puct", "gumbel")
    assert fields["players.1.search.considered"].label == "search: considered"
    assert set(fields["players.1.adviser"].choices) == {"network", "none", "solver"}
    given = {
        "players.0.agent": "me",
        "players.1.agent": "alphazero",
        "players.1.search": "gumbel",
        "players.1.search.considered": "8",
    }
    setting = setting_of("go", given, browser="b")
    assert setting.chairs[0] == Chair(agent="human", browser="b")
    assert setting.chairs[1].parameters == {"search": {"kind": "gumbel", "considered": 8}}
    with pytest.raises(FormError) as caught:
        setting_of("go", {**given, "players.1.network.threads": "0"}, browser="b")
    assert caught.value.mistakes == {"players.1.network.threads": "0 is too small; at least 1"}
    with pytest.raises(FormError, match="Did you mean 'solver'") as caught:
        setting_of("go", {**given, "players.1.adviser": "slover"}, browser="b")
    assert set(caught.value.mistakes) == {"players.1.adviser"}


def test_a_game_without_pictures_is_shown_by_its_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 'id="tic_tac_toe-board-3x3"' in picture_of("tic_tac_toe")
    monkeypatch.setattr("miai.web.lobby.renderer_for", lambda game: PlainRenderer())
    letter = re.sub(r"<svg[^>]*>", "<svg>", picture_of("pig"))
    assert letter == (
        '<svg><defs></defs><text x="50" y="66" font-size="48" font-family="sans-serif" '
        'text-anchor="middle" fill="#808890">P</text></svg>'
    )


# -- what is shown beside a board: thoughts of agents, values, estimates, hints; the pace of games -


def moved(browser: Browser, table: str, move: str) -> None:
    """Play a move, and wait until it is one's turn again."""
    with browser.watching(table) as events:
        news = events.until(is_turn)
        number = news["frame"]["number"]
        (action,) = [m["action"] for m in news["frame"]["moves"] if m["text"] == move]
        assert browser.move(table, number, action).status == 200
        events.until(lambda n: is_turn(n) and n["frame"]["number"] > number)


def test_what_an_agent_recorded_is_shown_with_places_and_shares() -> None:
    game = miai.load_game("tic_tac_toe")
    state = game.new_initial_state()
    for text in ("a3", "b2"):
        state.apply_action(state.string_to_action(text))
    top = [[8, 30, 0.5], [4, 10, -0.5], [1, 0, None]]
    statistics = {"value": 0.25, "top": top, "priors": [[8, 0.5]], "pv": [8, 7, 4, 6]}
    statistics["value_unit"] = "expected-utility"
    found = [
        thoughts_of(statistics, state, 0, renderer_for(game)),
        thoughts_of({"priors": [[1, 0.625], [8, 7]]}, state, 1, renderer_for(game)),
    ]
    assert_expected("thoughts.json", dumps(found, indent=1))


def test_nothing_is_written_over_the_last_move() -> None:
    game = miai.load_game("tic_tac_toe")
    top: dict[str, Json] = {"top": [[4, 30, 0.5], [8, 10, 0.1]], "pv": [4, 8]}
    rows: list[tuple[int, int, dict[str, Json]]] = [(0, 0, {}), (1, 4, top)]
    moves = [
        MoveRecord(ply=ply, actor=actor, action=action, text="", statistics=statistics)
        for ply, (actor, action, statistics) in enumerate(rows)
    ]
    thoughts = analysis_of(game, moves, renderer_for(game))["thoughts"]
    for places in (thoughts["considered"], thoughts["line"]):
        assert [(place["action"], place["box"] is None) for place in places] == [
            (4, True),
            (8, False),
        ]


def test_people_who_play_each_other_get_hints_once_both_allow_them(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", players__1__agent="guest")
    guest = Browser(browser.port)
    browser.invite(guest, table)
    with browser.watching(table) as events:
        number = events.until(is_turn)["frame"]["number"]
        for asker, allow, who in (
            (browser, True, "x"),
            (guest, True, "x and o"),
            (guest, False, "x"),
        ):
            said = {"number": 0, "kind": "hints", "allow": allow}
            assert asker.post(f"{table}/answers", said).status == 200
            news = events.until(lambda n, who=who: n["allowing"]["who"] == f"allowed by {who}")
            assert (news["allowing"]["own"], news["hints"]) == (True, who == "x and o")
            assert browser.post(f"{table}/hints", {}).status == (200 if news["hints"] else 409)
        assert news["frame"]["number"] == number


def test_an_adviser_decides_from_what_a_player_has_observed() -> None:
    game = miai.load_game("tic_tac_toe")
    view = view_of(game, 0, [6, 4, 3, 2])
    seat = InProcessSeat(miai.make_agent("mcts", game))
    decision = decision_in_place(seat, view, seed=1)
    assert decision.action == 0, "a3 wins"
    assert hint_line(view, "mcts", decision) == "mcts suggests a3: win rate 100.0 %"
    assert hint_line(view, "x", Decision(8)) == "x suggests c1"
    for lost in (Decision(-1, resign=True), Decision(6)):
        assert hint_line(view, "x", lost) == "x would resign"


def test_thoughts_in_a_hidden_game_wait_for_its_end(browser: Browser) -> None:
    opponent = {"players__1__agent": "ismcts", "players__1__simulations": "50"}
    table = browser.new_table("phantom_tic_tac_toe", **opponent)
    moved(browser, table, "b2")
    with browser.watching(table) as events:
        news = events.until(is_turn)
        assert not news["analysis"]
        assert browser.ask(f"{table}/analysis").status == 409
        answer = {"number": news["frame"]["number"], "kind": "resign"}
        assert browser.post(f"{table}/answers", answer).status == 200
        assert events.until(is_over)["analysis"]
    assert browser.ask(f"{table}/analysis").json["thoughts"]["who"] == "o"


def test_a_belief_is_drawn_from_the_player_s_observations(browser: Browser) -> None:
    table = browser.new_table("phantom_tic_tac_toe", seed="2")
    with browser.watching(table) as events:
        assert events.until(is_turn)["estimate"] == "belief"
    assert browser.ask(f"{table}/estimate").json["title"] == "1 possible world"
    moved(browser, table, "b2")
    seen = browser.ask(f"{table}/estimate").json
    assert seen["title"] == "16 possible worlds", "8 cells, and o may have tried b2"
    assert seen["picture"].count("<svg") == 1
    assert browser.ask(f"{table}/estimate").json == seen
    stranger = let_in(browser.port)
    assert stranger.ask(f"{table}/estimate").status == 409


def test_a_game_between_agents_is_paused_stepped_suspended_and_continued(tmp_path: Path) -> None:
    agents = {"players__0__agent": "random", "players__1__agent": "random"}
    with running(tmp_path) as port:
        browser = let_in(port)
        table = browser.new_table("tic_tac_toe", **agents)
        assert browser.post(f"{table}/pace", {"kind": "pause"}).json == {}
        with browser.watching(table) as events:
            for count in range(1, 4):
                news = events.until(lambda n, count=count: len(n["moves"]) == count)
                assert news["paused"] is True
                assert browser.post(f"{table}/pace", {"kind": "step"}).status == 200
    with running(tmp_path) as port:
        browser.port = port
        assert browser.post(f"{table}/pace", {"kind": "pause"}).json == {}
        with browser.watching(table) as events:
            again = events.until(lambda n: len(n["moves"]) >= 4)
            assert again["moves"][:3] == news["moves"]
            assert browser.post(f"{table}/pace", {"kind": "continue"}).status == 200
            news = events.until(is_over)
            assert (news["paused"], news["undo"], news["hints"]) == (False, False, False)


def test_the_lobby_has_titles_and_the_games_to_continue(browser: Browser) -> None:
    table = browser.new_table("go", **{"game.board_size": "5"})
    lobby = browser.ask("/").text
    going = lobby.split("<h2>Continue</h2>")[1].split("</section>")[0]
    assert f'<a href="{table}">Go</a>' in going
    shown = dict(re.findall(r"<b>([^<]+)</b><small>([^<]+)</small>", lobby))
    assert (shown["Matching pennies"], shown["RBC"]) == ("matching_pennies", "rbc")
    assert '<li data-game="go" data-groups="go lately"><a href="/games/go">' in lobby
    assert 'data-groups="rbc"><a href="/games/rbc">' in lobby
    facts = browser.ask("/facts").json
    told = {game: " ".join(facts[game].values()) for game in ("go", "pig", "kuhn_poker")}
    assert told == {"go": "2 no no no", "pig": "3 no yes no", "kuhn_poker": "2 yes yes no"}
    at_once = [game for game, own in facts.items() if own["simultaneous"] == "yes"]
    assert at_once == ["goofspiel", "matching_pennies", "prisoners_dilemma", "rock_paper_scissors"]


def test_the_form_of_go_shows_five_rules_and_no_json(browser: Browser) -> None:
    form = browser.ask("/games/go").text
    rules = form.split("<legend>Rules</legend>")[1].split("</fieldset>")[0]
    first, more = rules.split("<summary>More rules</summary>")
    assert first.count("<label") == 5
    assert more.count("<label") > 5
    assert not re.search(r'(value|placeholder)="(\[|\{)', rules)


def test_a_refused_move_says_why_as_over_gtp(browser: Browser) -> None:
    table = browser.new_table(
        "go",
        **{"game.board_size": "5", "players.1.agent": "me"},
        **{"players.0.agent": "random", "seed": "3"},
    )
    with browser.watching(table) as events:
        news = events.until(is_turn)
        (taken,) = news["moves"]

        def why_not(text: str) -> str:
            answer = {"number": news["frame"]["number"], "kind": "typed", "text": text}
            reply = browser.post(f"{table}/answers", answer)
            assert reply.status == 409
            said: str = reply.json["problem"]
            return said

        assert why_not(taken) == f"{taken} is occupied"
        assert "Z99" in why_not("Z99")


def test_an_invitation_that_was_taken_is_not_offered(browser: Browser) -> None:
    table = browser.new_table("tic_tac_toe", **{"players.1.agent": "guest"})
    with browser.watching(table) as events:
        assert events.until(lambda news: news["stage"] == "waiting")["empty"] == [1]
        browser.invite(Browser(browser.port), table)
    with browser.watching(table) as events:
        assert events.until(lambda news: news["stage"] != "waiting")["empty"] == []


def test_two_friends_agree_on_a_draw_and_on_a_rematch(browser: Browser, tmp_path: Path) -> None:
    ann, guest = "<i>Ann\u202e", Browser(browser.port)
    table = browser.new_table("tic_tac_toe", **{"players.1.agent": "guest", "name": ann})
    browser.invite(guest, table, name="x" * 99)
    long = "x" * 23 + "\u2026"
    assert f"x: <b>&lt;i&gt;Ann? (you)</b></span>, <span>o: <b>{long}" in browser.ask(table).text

    def offer(who: Browser, kind: str) -> int:
        return who.post(f"{table}/offers", {"kind": kind}).status

    with browser.watching(table) as own, guest.watching(table) as other:
        number = own.until(is_turn)["frame"]["number"]
        assert (own.last["chairs"], own.last["offer"]) == (["<i>Ann? (you)", long], "draw")
        assert [offer(browser, "rematch"), offer(browser, "draw")] == [409, 200]
        assert other.until(lambda news: news["offered"])["offered"] == [False]
        assert offer(guest, "decline") == 200
        assert own.until(lambda news: not news["offered"])["stage"] == "playing"
        offer(guest, "draw")
        browser.move(table, number, 4)  # which declines
        own.until(lambda news: len(news["moves"]) == 1)
        assert (own.last["offered"], offer(browser, "draw"), offer(guest, "draw")) == ([], 200, 200)
        assert own.until(is_over)["result"] == other.until(is_over)["result"] == "Draw by agreement"
        assert offer(let_in(browser.port), "rematch") == 403
        assert {offer(who, "rematch") for who in (guest, guest, browser)} == {200}
        while not other.next()["rematch"]:
            pass
    name = table.removeprefix("/tables/")
    record = GameTable.open(tmp_path / "games" / f"{name}.jsonl", hidden=()).record
    assert record is not None
    assert (record.termination, record.returns) == ("agreement", (0.0, 0.0))
    assert [player.name for player in record.players] == ["<i>Ann?", long]
    replay(record)
    swapped = f"x: <b>{long} (you)</b></span>, <span>o: <b>&lt;i&gt;Ann?<"
    assert swapped in guest.ask(f"/tables/{other.last['rematch']}").text
    assert guest.ask(f"{table}/replay").status == 200, "the first game stays open to the guest"

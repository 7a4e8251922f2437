"""What is shown beside a board: thoughts of agents, values, estimates, hints; the pace of games."""

from __future__ import annotations

from json import dumps
from pathlib import Path

from tests.framework.histories import view_of
from tests.web.server import Browser, is_over, is_turn, let_in, running
from tests.whole_texts import assert_expected

import miai
from miai.agent import Decision
from miai.api import renderer_for
from miai.playing.hints import decision_in_place, hint_agent_of, hint_line
from miai.playing.match import InProcessSeat
from miai.web.analysis import thoughts_of


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


def test_an_adviser_decides_from_what_a_player_has_observed() -> None:
    game = miai.load_game("tic_tac_toe")
    view = view_of(game, 0, [6, 4, 3, 2])
    agent, parameters = hint_agent_of(game, [("human", {}), ("random", {})])
    seat = InProcessSeat(miai.make_agent(agent, game, **parameters))
    decision = decision_in_place(seat, view, seed=1)
    assert decision.action == 0, "a3 wins"
    assert hint_line(view, agent, decision) == "mcts suggests a3: win rate 100.0 %"
    assert hint_line(view, "x", Decision(8)) == "x suggests c1"
    for lost in (Decision(-1, resign=True), Decision(6)):
        assert hint_line(view, "x", lost) == "x would resign"
    thinker = ("alpha-beta", {"depth": 3})
    assert hint_agent_of(game, [("random", {}), thinker, ("mcts", {})]) == thinker
    assert hint_agent_of(miai.load_game("kuhn_poker"), []) == ("ismcts", {})


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

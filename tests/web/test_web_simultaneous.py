"""Tables at which people act at once: neither sees the other's choice before both have chosen."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.slow import with_slow
from tests.web.server import Browser, is_over, is_turn, running

from miai.record import MoveRecord
from miai.web.tables import GameTable


def answer(browser: Browser, table: str, news: Any, action: int) -> None:
    reply = browser.move(table, news["frame"]["number"], action)
    assert reply.status == 200, reply.text


def sit(own: Browser, other: Browser, game: str, **values: str) -> str:
    """Return a new table of a browser, at which another one sits as well."""
    chairs = {"players__0__agent": "me", "players__1__agent": "guest"}
    table = own.new_table(game, **chairs, **values)
    own.invite(other, table)
    return table


@pytest.mark.parametrize(("first", "second"), with_slow([(0, 1), (1, 0)], (1, 0)))
def test_neither_sees_the_other_s_choice_first(tmp_path: Path, first: int, second: int) -> None:
    folder = tmp_path / "games"
    with running(folder) as port:
        browsers = own, other = Browser(port), Browser(port)
        own.enter()
        table = sit(own, other, "prisoners_dilemma", game__rounds="2")
        with own.watching(table) as mine, other.watching(table) as theirs:
            watched = (mine, theirs)
            before = [events.until(is_turn) for events in watched]
            answer(browsers[first], table, before[first], 1)
            waiting = watched[first].until(lambda news: not is_turn(news))
            assert waiting["moves"] == []
            assert waiting["frame"]["hint"] == "You chose defect."
            assert waiting["frame"]["picture"] == before[first]["frame"]["picture"]
            reply = browsers[first].move(table, before[first]["frame"]["number"], 0)
            assert reply.status == 409, "a choice is final"
            page = browsers[second].ask(table).text
            assert "defect" not in page.replace("defect</button>", "")
            answer(browsers[second], table, before[second], 0)
            after = [e.until(lambda n: is_turn(n) and len(n["moves"]) == 2) for e in watched]
            texts = ["", ""]
            texts[first], texts[second] = "defect", "cooperate"
            played = [f"first {texts[0]}", f"second {texts[1]}"]
            assert [news["moves"] for news in after] == [played, played]
            answer(browsers[first], table, after[first], 1)
    # The server stops between two choices. The one that was made is asked again.
    with running(folder) as port:
        for browser in browsers:
            browser.port = port
        with own.watching(table) as mine, other.watching(table) as theirs:
            watched = (mine, theirs)
            again = [e.until(lambda n: is_turn(n) and len(n["moves"]) == 2) for e in watched]
            for player in (second, first):
                answer(browsers[player], table, again[player], 0)
            news = mine.until(is_over)
            assert news["moves"] == [*played, "first cooperate", "second cooperate"]
            gains = [3.0, 3.0]
            gains[first] += 5
            assert news["result"] == f"First gains {gains[0]:g} and second gains {gains[1]:g}"
            assert "cooperate" in own.ask(table.replace("tables", "records")).text


@pytest.mark.parametrize("hidden", [False, True])
def test_the_clock_stops_for_who_has_chosen(browser: Browser, hidden: bool) -> None:
    other = Browser(browser.port)
    clock = {"clock__kind": "absolute", "clock__seconds": "300"}
    rules = {"game__imp_info": str(hidden).lower(), "game__points_order": "ascending"}
    table = sit(browser, other, "goofspiel", **clock, **rules)
    with browser.watching(table) as mine, other.watching(table) as theirs:
        asked = mine.until(is_turn)
        time.sleep(0.3)
        answer(browser, table, asked, 1)
        mine.until(lambda news: not is_turn(news))
        theirs.until(is_turn)
        time.sleep(0.3)
        with browser.watching(table) as seen, other.watching(table) as seen_by_other:
            clocks, others = seen.next()["clocks"], seen_by_other.next()["clocks"]
        assert clocks["ticking"] == ([] if hidden else [1])
        assert others["ticking"] == ([1] if hidden else [0, 1])
        assert 299.8 > clocks["left"][0] > others["left"][1] + 0.1


def test_an_interrupted_choice_in_a_journal_is_taken_again(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    with running(folder) as port:
        browsers = own, other = Browser(port), Browser(port)
        own.enter()
        table = sit(own, other, "prisoners_dilemma", game__rounds="1")
    (path,) = folder.rglob(f"{table.rsplit('/', 1)[1]}.jsonl")
    with path.open("a", encoding="utf-8") as file:
        # As if the server had been killed after it wrote the first of two moves.
        move = MoveRecord(ply=0, actor=0, action=0, text="cooperate", seconds=1.0)
        file.write(json.dumps({"move": asdict(move)}) + "\n")
    assert GameTable.open(path, hidden=[]).moves == []
    for _ in range(2):  # the journal is read once more after the game, with both entries
        with running(folder) as port:
            for browser in browsers:
                browser.port = port
            with own.watching(table) as mine, other.watching(table) as theirs:
                if mine.next()["stage"] != "over":
                    watched = (mine, theirs)
                    asked = [events.until(is_turn) for events in watched]
                    assert [news["moves"] for news in asked] == [[], []]
                    for player, action in ((0, 1), (1, 0)):
                        answer(browsers[player], table, asked[player], action)
                news = mine.until(is_over)
                assert news["moves"] == ["first defect", "second cooperate"]


@pytest.mark.parametrize(("game", "seat"), [("tic_tac_toe", 0), ("prisoners_dilemma", 1)])
def test_a_decision_is_taken_back_with_the_opponent_s_part(
    browser: Browser, game: str, seat: int
) -> None:
    seats = {f"players__{seat}__agent": "me", f"players__{1 - seat}__agent": "random"}
    table = browser.new_table(game, **seats)
    with browser.watching(table) as events:
        first = events.until(is_turn)
        assert not first["undo"]
        answer(browser, table, first, 0)
        later = events.until(lambda n: is_turn(n) and len(n["moves"]) == 2)
        assert later["undo"]
        number = later["frame"]["number"]
        assert browser.post(f"{table}/answers", {"number": number, "kind": "undo"}).status == 200
        again = events.until(lambda n: is_turn(n) and n["moves"] == [])
        assert again["frame"] == first["frame"]
        answer(browser, table, again, 1)
        events.until(lambda n: is_turn(n) and len(n["moves"]) == 2)


@pytest.mark.slow
def test_a_form_asks_for_as_many_players_as_the_parameters_say(browser: Browser) -> None:
    values = {"game.players": "3", "game.num_cards": "3", "players.0.agent": "random"}
    form = browser.form("/games/goofspiel", {**values, "players.1.agent": "random"}).text
    assert "choose who plays for player3" in form
    assert 'name="players.2.agent"' in form
    chairs = {f"players__{player}__agent": "random" for player in range(3)}
    table = browser.new_table("goofspiel", game__players="3", game__num_cards="3", **chairs)
    with browser.watching(table) as events:
        assert len(events.until(is_over)["moves"]) == 2 + 6  # two prizes are turned up


@pytest.mark.slow
def test_a_game_of_three_is_played_on_from_a_whole_decision(browser: Browser) -> None:
    chairs = {f"players__{player}__agent": "random" for player in range(3)}
    rules = {"game__players": "3", "game__num_cards": "4", "game__points_order": "ascending"}
    table = browser.new_table("goofspiel", **rules, **chairs)
    with browser.watching(table) as events:
        moves = events.until(is_over)["moves"]
    place = f"/records/{table.rsplit('/', 1)[1]}/play?ply=4"
    form = browser.ask(place).text
    assert "after ply 3" in form
    assert "player1, player2 and player3 are next to act" in form
    assert 'name="players.2.agent"' in form
    again = browser.form(place, {f"players.{player}.agent": "random" for player in range(3)})
    assert again.status == 303, again.text
    with browser.watching(again.headers["location"]) as events:
        news = events.until(is_over)
    assert news["moves"][:3] == moves[:3]
    assert len(news["moves"]) == 9

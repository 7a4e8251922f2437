"""Replays: a frame for every ply, everybody's view, what agents said, and files to take along."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.pages import Node, read_page
from tests.tournaments.support import config_text, player, refused, tournament

from miai import EnumeratedBelief, load_game, make_agent, play
from miai.errors import RecordError
from miai.game import Game
from miai.pages import replay
from miai.pages.replay import certain_text, decision_of, frames_of
from miai.pages.replay_page import replay_page
from miai.record import GameRecord, MoveRecord
from miai.render import PlainRenderer, renderer_for
from miai.values import Evaluation
from miai_tournaments.store.store import Store


def record_of(
    name: str, *agents: tuple[str, dict[str, Any]], limit: int | None = None, **parameters: Any
) -> GameRecord:
    game = load_game(name, **parameters)
    made = [make_agent(agent, game, **values) for agent, values in agents]
    return play(game, made, seed=5, move_limit=limit)


RANDOM: tuple[str, dict[str, Any]] = ("random", {})
MCTS: tuple[str, dict[str, Any]] = ("mcts", {"simulations": 30})


def frames(page: Node) -> list[Node]:
    found = list(page.all("section", class_="frame"))
    assert [node.attributes["id"] for node in found] == [f"p{i}" for i in range(len(found))]
    return found


def check_page(record: GameRecord, *, views: int, **options: Any) -> Node:
    page = read_page(replay_page(record, "g1", **options))
    shown = frames(page)
    assert len(shown) == len(record.moves) + 1
    for node, move in zip(shown[1:], record.moves, strict=True):
        assert node.one("h2").one("b").text() == move.text
    for node in shown:
        assert len(list(node.all("figure"))) == views
    assert page.one("input", id="slider").attributes["max"] == str(len(record.moves))
    links = page.one("ol", id="moves")
    assert len(list(links.all("a"))) == len(shown)
    return page


def files(page: Node) -> dict[str, bytes]:
    return {
        link.attributes["download"]: base64.b64decode(link.attributes["href"].partition(",")[2])
        for link in page.all("a")
        if "download" in link.attributes
    }


def test_a_game_without_pictures_is_text_and_says_what_the_search_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "renderer_for", lambda game: PlainRenderer())
    record = record_of("tic_tac_toe", MCTS, MCTS)
    page = check_page(record, views=1)
    game = load_game("tic_tac_toe")
    state = game.new_initial_state()
    for node, move in zip(frames(page)[1:], record.moves, strict=True):
        before = state.clone()
        state.apply_action(move.action)
        assert node.one("pre").text() == str(state)
        output: Any = move.statistics
        rows = list(node.one("table").one("tbody").all("tr"))
        assert [row.one("th").text() for row in rows] == [
            before.action_to_string(action) for action, _, _ in output["top"]
        ]
        assert [next(row.all("td")).text() for row in rows] == [f"{n}" for _, n, _ in output["top"]]
        line = node.one("p", class_="line-of-play").text()
        assert line.startswith(f"expected: {before.action_to_string(output['pv'][0])}")
    graph = page.one("svg", class_="graph")
    assert len(list(graph.all("circle"))) == len(record.moves)
    assert files(page)["g1.jsonl"].decode() == record.to_json_lines()


def test_a_value_graph_is_of_the_first_players_view() -> None:
    record = record_of("tic_tac_toe", MCTS, MCTS)
    graph = read_page(replay_page(record, "g1")).one("svg", class_="graph")
    heights = {}
    for link in graph.all("a"):
        circle = link.one("circle")
        heights[int(link.attributes["href"][2:])] = float(circle.attributes["cy"])
    values = [
        float(str(move.statistics["value"])) * (1 if move.actor == 0 else -1)
        for move in record.moves
    ]
    shown = [heights[i + 1] for i in range(len(values))]
    order = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert [shown[i] for i in order] == sorted(shown)
    assert (len(set(shown)) > 1) == (len(set(values)) > 1)


def evaluated(*entries: dict[str, Any]) -> Node:
    """Return the page of a game in which the players report entries in turn."""
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    for move in record.moves:
        own = entries[move.actor]
        move.statistics = {**own, "top": [[move.action, 9, own["value"]]]}
    return read_page(replay_page(record, "g1"))


def test_a_value_is_shown_in_its_unit() -> None:
    def said(page: Node) -> list[str]:
        parts = [node.one("div", class_="said") for node in frames(page)[1:3]]
        heads = [[cell.text() for cell in part.all("th")][2] for part in parts]
        cells = [[cell.text() for cell in part.all("td")][1] for part in parts]
        lines = [part.one("p").text() for part in parts]
        return [*lines, *heads, *cells]

    page = evaluated(
        {"value": 0.5, "value_unit": "expected-utility"},
        {"value": -312.4, "value_unit": "centipawns"},
    )
    assert said(page) == [
        "win rate 75.0 % for the player who moved",
        "evaluation -3.12 pawns for the player who moved",
        *("win rate", "evaluation", "75.0 %", "-3.12 pawns"),
    ]
    headings = [node.text() for node in page.all("h2")]
    assert "Win rate in %, for x" in headings
    assert "Evaluation in pawns, for x" in headings
    assert len(list(page.all("svg", class_="graph"))) == 2
    before_units = evaluated({"value": 0.5}, {"value": 0.25})
    assert said(before_units)[0] == "utility +0.50 for the player who moved"
    assert len(list(before_units.all("svg", class_="graph"))) == 1


def test_the_graph_shows_pawns_for_the_first_player() -> None:
    page = evaluated(*({"value": 200, "value_unit": "centipawns"},) * 2)
    graph = page.one("svg", class_="graph")
    heights = {
        link.attributes["href"]: float(link.one("circle").attributes["cy"])
        for link in graph.all("a")
    }
    assert heights["#p1"] < heights["#p2"]  # the second player's advantage points down
    assert {"-2", "0", "2"} <= {node.text() for node in graph.all("text")}


def test_go_is_drawn_and_offered_as_sgf() -> None:
    record = record_of("go", MCTS, ("fast-random", {}), board_size=5)
    page = check_page(record, views=1)
    assert files(page)["g1.sgf"].startswith(b"(;")
    game = load_game("go", board_size=5)
    state: Any = game.new_initial_state()
    for move, node in zip(record.moves, frames(page)[1:], strict=True):
        state.apply_action(move.action)
        stones = int((state.board.stones() != 0).sum())
        svg = node.one("figure").one("svg")
        if uses := [use for use in svg.all("use") if use.attributes["href"].startswith("#v")]:
            svg = page.one("g", id=uses[0].attributes["href"][1:])
        dots = max((path.attributes["d"].count("h0") for path in svg.all("path")), default=0)
        assert dots == stones, move.ply


def test_a_game_of_go_on_nine_lines_takes_less_than_a_megabyte() -> None:
    record = record_of("go", ("fast-random", {}), ("fast-random", {}), board_size=9)
    assert len(record.moves) > 60
    assert len(replay_page(record, "g1")) < 1_000_000


def test_hidden_moves_are_shown_beside_the_truth_with_the_number_of_worlds() -> None:
    record = record_of("phantom_tic_tac_toe", RANDOM, RANDOM)
    page = check_page(record, views=3)
    game = load_game("phantom_tic_tac_toe")
    state = game.new_initial_state()
    beliefs = [EnumeratedBelief(game, p) for p in range(2)]
    for number, node in enumerate(frames(page)):
        if number:
            state.apply_action(record.moves[number - 1].action)
        truth = node.one("figure", data_view="truth")
        assert len(list(truth.one("svg").all("circle"))) == str(state).count("o")
        for p, belief in enumerate(beliefs):
            observation = state.observation(p)
            if observation is not None:
                belief.observe(observation)
            figure = node.one("figure", data_view=str(p))
            worlds = figure.one("p", class_="worlds").attributes["data-worlds"]
            assert int(worlds) == len(belief)
            assert len(list(figure.all("svg"))) == 2  # what it knows, and its belief
    assert "view:" in page.one("div", id="controls").text()


def test_beliefs_can_be_left_out_and_grow_too_large() -> None:
    record = record_of("phantom_tic_tac_toe", RANDOM, RANDOM)
    assert not list(check_page(record, views=3, worlds=0).all("p", class_="worlds"))


def test_a_game_with_chance_has_frames_for_its_outcomes() -> None:
    record = record_of("kuhn_poker", RANDOM, RANDOM)
    assert any(move.actor < 0 for move in record.moves)
    check_page(record, views=3)


def test_blind_chess_shows_truth_knowledge_and_belief() -> None:
    pytest.importorskip("miai_rbc")
    record = record_of("rbc", ("rbc-random", {}), ("rbc-random", {}), limit=12)
    page = check_page(record, views=3, worlds=5000)
    for node in frames(page):
        figures = [node.one("figure", data_view=view) for view in ("truth", "0", "1")]
        assert len(list(figures[0].all("svg"))) == 1
        assert all(len(list(figure.all("svg"))) == 2 for figure in figures[1:])
    history = json.loads(files(page)["g1.json"])
    assert history["type"] == "GameHistory"


def test_the_truth_is_drawn_for_every_viewer() -> None:
    chess = pytest.importorskip("chess")
    game = load_game("rbc")
    renderer: Any = renderer_for(game)
    state: Any = game.new_initial_state()
    svg = renderer.svg_state(state)
    assert svg.count('href="#white-pawn"') == svg.count('href="#black-pawn"') == 8
    assert svg.count("<use") == 1 + len(chess.Board().piece_map())


# -- odd records ------------------------------------------------------------------------------


def test_agents_may_report_any_statistics() -> None:
    game = load_game("tic_tac_toe")
    state = game.new_initial_state()
    odd: Any = {
        "value": "high",
        "pv": [0, 0, "x"],
        "top": [[1, "many", None], "no", [2], [3, 4, 5]],
        "priors": 7,
        "<script>": {"a": ["</script>"]},
        "long": "x" * 10_000,
        "flag": True,
    }
    found = decision_of(MoveRecord(ply=0, actor=0, action=0, text="", statistics=odd), state)
    assert found.evaluation is None
    assert len(found.line) == 2
    assert [candidate.visits for candidate in found.candidates] == [None, 4.0]
    assert all(len(text) <= 200 for _, text in found.figures)
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    record.moves[0].statistics = odd
    record.players[0].name = "<script>alert(1)</script>\u202e"
    record.detail = "</script><img src=x onerror=alert(1)>"
    page = read_page(replay_page(record, '"><b>'))
    assert len(list(page.all("script"))) == 1


def test_numbers_beyond_the_axis_are_omitted() -> None:
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    for move, value in zip(record.moves, (10**400, -(10**400), 1e308, -1e308, 0.5), strict=False):
        move.statistics = {"value": value, "top": [[move.action, value, value]]}
    state = load_game("tic_tac_toe").new_initial_state()
    found = [decision_of(move, state).evaluation for move in record.moves[:5]]
    assert found == [None] * 4 + [Evaluation(0.5)]
    read_page(replay_page(record, "x"))


def test_a_record_that_contradicts_its_game_is_refused() -> None:
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    record.moves[1].action = record.moves[0].action
    with pytest.raises(RecordError, match="ply 1"):
        replay_page(record, "g1")
    record.game_version = 99
    with pytest.raises(RecordError, match="version 99"):
        replay_page(record, "g1")


def test_frames_leave_the_game_alone() -> None:
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    game: Game = load_game("tic_tac_toe")
    found = list(frames_of(record, game, worlds=0))
    assert [f.before.move_number() for f in found if f.before] == list(range(len(record.moves)))


def test_certain_is_what_all_worlds_share() -> None:
    assert certain_text(["x.o\n...", "x..\n..."]) == "x.?\n..."
    assert certain_text(["x", "xy"]) == ""
    assert certain_text([]) == ""


def test_the_command_writes_a_replay_and_knows_near_names(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    players = (player("ann"), player("bob"))
    config.write_text(config_text(*players, tournament={"rounds": 1}, run={"workers": 1}))
    tournament("run", config, "--out", tmp_path / "run", "--executor", "serial")
    with Store.read(tmp_path / "run") as store:
        row = store.results()[0]
    tournament("replay", tmp_path / "run", row.game_id)
    page = read_page(tmp_path / "run" / "report" / "replays" / f"{row.game_id}.html")
    assert len(frames(page)) == row.moves + 1
    tournament("replay", tmp_path / "run", row.game_id, "--out", tmp_path / "one.html")
    assert len(frames(read_page(tmp_path / "one.html"))) == row.moves + 1
    output = refused("replay", tmp_path / "run", row.game_id[:-1] + "z")
    assert "Did you mean" in output
    assert f"'{row.game_id}'" in output

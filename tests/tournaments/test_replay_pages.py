"""Replays: a frame for every ply, everybody's view, what agents said, and files to take along."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.tournaments.pages import Node, elements_of, positions_of, read_page, scripts
from tests.tournaments.support import config_text, player, refused, tournament

from miai import EnumeratedBelief, load_game, make_agent, play
from miai.errors import RecordError
from miai.information import PlayerView
from miai.pages import replay_frames
from miai.pages.replay_frames import certain_text, decision_of
from miai.pages.replay_page import moves_markup, replay_page
from miai.record import GameRecord, MoveRecord, ending_text
from miai.render import PlainRenderer
from miai.values import Evaluation
from miai_go.sgf.writing import SgfRecords
from miai_tournaments.store.store import Store


def record_of(
    name: str, *agents: tuple[str, dict[str, Any]], limit: int | None = None, **parameters: Any
) -> GameRecord:
    game = load_game(name, **parameters)
    made = [make_agent(agent, game, **values) for agent, values in agents]
    return play(game, made, seed=5, move_limit=limit)


RANDOM: tuple[str, dict[str, Any]] = ("random", {})
MCTS: tuple[str, dict[str, Any]] = ("mcts", {"simulations": 30})


def links_of(page: Node) -> list[Node]:
    """Return the links of the list of moves."""
    return list(page.one("div", id="moves").all("a"))


def check_page(record: GameRecord, *, views: int, **options: Any) -> Node:
    page = read_page(replay_page(record, "g1", **options))
    shown = positions_of(page)
    assert len(shown) == len(record.moves) + 1
    for node, move in zip(shown[1:], record.moves, strict=True):
        assert node.one("h2").one("b").text() == move.text
    for node in shown:
        assert len(list(node.all("figure"))) == views
    ending = ending_text(record, load_game(record.game))
    assert shown[-1].one("p", class_="ending").text() == f"The game ends: {ending}"
    assert f"{ending}; returns" in page.one("header").text()
    assert page.one("input", id="slider").attributes["max"] == str(len(record.moves))
    links = links_of(page)
    assert [link.attributes["href"] for link in links] == [f"#p{i}" for i in range(len(shown))]
    assert [link.text() for link in links[1:]] == [move.text for move in record.moves]
    return page


def test_comments_and_variations_are_beside_their_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay_frames, "renderer_for", lambda game: PlainRenderer())
    text = (
        "(;SZ[5]C[root];B[aa](;W[bb]C[one];B[cc](;)(;W[dd]))(;W[cc]C[two];B[dd](;W[ee])(;W[ab])))"
    )
    (record,) = SgfRecords().read(text.encode(), source="x.sgf")
    read = positions_of(read_page(replay_page(record, "g1")))
    lines = ["", "A5", "A5 B4", "A5 B4 C3"]
    lines += ["A5 C3", "A5 C3 D2", "A5 C3 D2 E1", "A5 C3 D2 A4", "A5 B4 C3 D2"]
    for node, line in zip(read, lines, strict=True):
        state = load_game("go", **record.game_parameters).new_initial_state()
        for move in line.split():
            state.apply_action(state.string_to_action(move))
        assert node.one("figure").text() == PlainRenderer().render(PlayerView.at(state, 0))
    said = [[part.text() for part in node.one("decision").all("p")] for node in read]
    ways = [f"variation: {line}" for line in ("C3 D2 E1", "A4 ", "D2 ")]
    assert said == [["root"], ways[:1], ["one"], ways[2:], ["two"], [ways[1]], [], [], []]
    links = [a.attributes["href"] for node in read for a in node.one("decision").all("a")]
    assert links == ["#p4", "#p8", "#p7"]
    (record,) = SgfRecords().read(b"(;SZ[5];B[aa](;)(;W[dd]))", source="x.sgf")
    assert positions_of(read_page(replay_page(record, "g1")))[1].one("decision").text() == ways[2]


def files(page: Node) -> dict[str, bytes]:
    return {
        link.attributes["download"]: base64.b64decode(link.attributes["href"].partition(",")[2])
        for link in page.all("a")
        if "download" in link.attributes
    }


def test_a_game_without_pictures_is_text_and_says_what_the_search_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay_frames, "renderer_for", lambda game: PlainRenderer())
    record = record_of("tic_tac_toe", MCTS, MCTS)
    page = check_page(record, views=1)
    game = load_game("tic_tac_toe")
    state = game.new_initial_state()
    for node, move in zip(positions_of(page)[1:], record.moves, strict=True):
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
    assert len(dots(graph)) == len(record.moves)
    assert files(page)["g1.jsonl"].decode() == record.to_json_lines()


def dots(graph: Node) -> list[tuple[float, float]]:
    """Return the points of a graph, of all players."""
    paths = [path.attributes["d"] for path in graph.all("path", class_="dots")]
    found = [match for path in paths for match in re.findall(r"M([\d.]+) ([\d.]+)h0", path)]
    return [(float(x), float(y)) for x, y in found]


def evaluated(*entries: dict[str, Any]) -> Node:
    """Return the page of a game in which the players report entries in turn."""
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    for move in record.moves:
        own = entries[move.actor]
        move.statistics = {**own, "top": [[move.action, 9, own["value"]]]}
    return read_page(replay_page(record, "g1"))


def test_a_value_is_shown_in_its_unit() -> None:
    def said(page: Node) -> list[str]:
        parts = [node.one("div", class_="said") for node in positions_of(page)[1:3]]
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


def test_values_of_a_lost_king_do_not_flatten_the_graph() -> None:
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    values = [150, -100_000, -100, 250, 99_999]
    for move, value in zip(record.moves, values, strict=False):
        sign = 1 if move.actor == 0 else -1
        move.statistics = {"value": sign * value, "value_unit": "centipawns"}
    graph = read_page(replay_page(record, "g1")).one("svg", class_="graph")
    cursor = graph.one("line", class_="cursor").attributes
    width, height = float(graph.attributes["data-right"]), float(cursor["y2"])
    heights = [y for _, y in sorted(dots(graph))]
    assert len(heights) == 3
    assert heights[2] < heights[0] < heights[1]  # 2.5, 1.5 and -1 pawns
    assert heights[1] - heights[2] > height / 3
    beyond = list(graph.all("path", class_="fill"))
    assert sorted(path.one("title").text() for path in beyond) == [
        "+999.99 pawns after ply 5",
        "-1000 pawns after ply 2",
    ]
    labels = [float(node.text()) for node in graph.all("text") if "." in node.text()]
    assert all(abs(label) < 5 for label in labels)
    for path in beyond:
        matched = re.fullmatch(r"M([\d.]+) ([\d.]+)l-4 (-?[\d.]+)h8z", path.attributes["d"])
        assert matched is not None
        x, y, down = map(float, matched.groups())
        assert 0 < x < width
        assert y in (0, height)
        assert down > 0 if y == 0 else down < 0  # a triangle inside, its tip at the edge


def test_moves_are_listed_by_turn() -> None:
    def rows(name: str, *moves: tuple[int, str]) -> list[list[str]]:
        listed = [
            MoveRecord(ply=ply, actor=actor, action=0, text=text)
            for ply, (actor, text) in enumerate(moves)
        ]
        table = elements_of(moves_markup(listed, load_game(name).info))
        lines = [[c.text() for c in row.children if isinstance(c, Node)] for row in table.all("tr")]
        assert lines[1] == ["0", "start"]
        return [lines[0], *lines[2:]]

    assert rows("tic_tac_toe", (0, "a1"), (1, "b2"), (0, "c3")) == [
        ["#", "x", "o"],
        ["1", "a1", "b2"],
        ["2", "c3", ""],
    ]
    turns = (0, "sense e4"), (0, "e2e4"), (1, "sense -"), (1, "pass"), (0, "sense d5")
    assert rows("rbc", *turns) == [
        ["#", "white", "black"],
        ["1", "sense e4 e2e4", "sense - pass"],
        ["2", "sense d5", ""],
    ]
    assert rows("go", (1, "D4"), (0, "Q16"), (1, "C3")) == [
        ["#", "black", "white"],
        ["1", "", "D4"],
        ["2", "Q16", "C3"],
    ]
    assert rows("kuhn_poker", (-1, "JQ"), (0, "p"), (1, "b"), (0, "b")) == [
        ["#", "chance", "first", "second"],
        ["1", "JQ", "p", "b"],
        ["2", "", "b", ""],
    ]


def test_a_legend_explains_the_signs_of_a_game() -> None:
    page = read_page(replay_page(record_of("phantom_tic_tac_toe", RANDOM, RANDOM), "g1"))
    items = list(page.one("ul", class_="signs").all("li"))
    assert "refused: the opponent's mark was there" in [item.text() for item in items]
    assert all(len(list(item.all("svg"))) == 1 for item in items)
    poker = read_page(replay_page(record_of("kuhn_poker", RANDOM, RANDOM), "g1"))
    assert not list(poker.all("ul", class_="signs"))


def test_the_heading_names_all_players() -> None:
    for players, heading in (
        (2, "random (first) against random (second)"),
        (3, "random (first), random (second), random (third)"),
    ):
        record = record_of("pig", *[RANDOM] * players, players=players, goal=4)
        assert read_page(replay_page(record, "g1")).one("h1").text() == heading


def test_go_is_drawn_and_offered_as_sgf() -> None:
    record = record_of("go", MCTS, ("fast-random", {}), board_size=5)
    page = check_page(record, views=1)
    assert files(page)["g1.sgf"].startswith(b"(;")
    game = load_game("go", board_size=5)
    state: Any = game.new_initial_state()
    for move, node in zip(record.moves, positions_of(page)[1:], strict=True):
        state.apply_action(move.action)
        stones = int((state.board.stones() != 0).sum())
        svg = node.one("figure").one("svg")
        drawn = max((path.attributes["d"].count("h0") for path in svg.all("path")), default=0)
        assert drawn == stones, move.ply


def test_a_long_game_is_a_small_page_with_the_elements_of_one_position() -> None:
    record = record_of("go", ("fast-random", {}), ("fast-random", {}), board_size=9)
    assert len(record.moves) > 60
    written = replay_page(record, "g1")
    assert len(written) < 100_000
    page = read_page(written)
    last = positions_of(page)[-1]
    assert len(list(page.all("figure"))) == 1
    assert page.one("section", id="position").text() == last.one("position").text()
    assert len(list(page.all())) < 3 * len(record.moves) + 200


def test_hidden_moves_are_shown_beside_the_truth_with_the_number_of_worlds() -> None:
    record = record_of("phantom_tic_tac_toe", RANDOM, RANDOM)
    page = check_page(record, views=3)
    game = load_game("phantom_tic_tac_toe")
    state = game.new_initial_state()
    beliefs = [EnumeratedBelief(game, p) for p in range(2)]
    for number, node in enumerate(positions_of(page)):
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
    assert not list(check_page(record, views=3, worlds=0).all("p", class_="worlds"))


def test_a_game_with_chance_has_frames_for_its_outcomes() -> None:
    record = record_of("kuhn_poker", RANDOM, RANDOM)
    assert any(move.actor < 0 for move in record.moves)
    check_page(record, views=3)


def test_blind_chess_shows_truth_knowledge_and_belief() -> None:
    pytest.importorskip("miai_rbc")
    record = record_of("rbc", ("rbc-random", {}), ("rbc-random", {}), limit=12)
    page = check_page(record, views=3, worlds=5000)
    for node in positions_of(page):
        figures = [node.one("figure", data_view=view) for view in ("truth", "0", "1")]
        assert len(list(figures[0].all("svg"))) == 1
        assert all(len(list(figure.all("svg"))) == 2 for figure in figures[1:])
    history = json.loads(files(page)["g1.json"])
    assert history["type"] == "GameHistory"


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
    found = decision_of(odd, state)
    assert found.evaluation is None
    assert len(found.line) == 2
    assert [candidate.visits for candidate in found.candidates] == [None, 4.0]
    assert all(len(text) <= 200 for _, text in found.figures)
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    record.moves[0].statistics = odd
    record.players[0].name = "<script>alert(1)</script>\u202e"
    record.detail = "</script><img src=x onerror=alert(1)>"
    page = read_page(replay_page(record, '"><b>'))
    assert len(scripts(page)) == 1
    assert len(positions_of(page)) == len(record.moves) + 1
    assert "</script>" not in page.one("script", id="positions").text()


def test_numbers_beyond_the_axis_are_omitted() -> None:
    record = record_of("tic_tac_toe", RANDOM, RANDOM)
    for move, value in zip(record.moves, (10**400, -(10**400), 1e308, -1e308, 0.5), strict=False):
        move.statistics = {"value": value, "top": [[move.action, value, value]]}
    state = load_game("tic_tac_toe").new_initial_state()
    found = [decision_of(move.statistics, state).evaluation for move in record.moves[:5]]
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


def test_certain_is_what_all_worlds_share() -> None:
    assert certain_text(["x.o\n...", "x..\n..."]) == "x.?\n..."
    assert certain_text(["x", "xy"]) == ""
    assert certain_text([]) == ""


@pytest.mark.slow
def test_the_command_writes_a_replay_and_knows_near_names(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    players = (player("ann"), player("bob"))
    config.write_text(config_text(*players, tournament={"rounds": 1}, run={"workers": 1}))
    tournament("run", config, "--out", tmp_path / "run", "--executor", "serial")
    with Store.read(tmp_path / "run") as store:
        row = store.results()[0]
    tournament("replay", tmp_path / "run", row.game_id)
    page = read_page(tmp_path / "run" / "report" / "replays" / f"{row.game_id}.html")
    assert len(positions_of(page)) == row.moves + 1
    tournament("replay", tmp_path / "run", row.game_id, "--out", tmp_path / "one.html")
    assert len(positions_of(read_page(tmp_path / "one.html"))) == row.moves + 1
    tournament("analyze", tmp_path / "run", row.game_id, "--out", tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text())["judged"] == row.moves
    output = refused("replay", tmp_path / "run", row.game_id[:-1] + "z")
    assert "Did you mean" in output
    assert f"'{row.game_id}'" in output

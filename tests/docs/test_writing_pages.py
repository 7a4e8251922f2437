"""Pages on writing plugins, searches, evaluators and renderers: their code runs, and is right."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.child_imports import environment_with, install
from tests.docs.page_parts import blocks, page, run
from tests.framework.histories import TTT, state_after, view_of
from tests.tournaments import support as tournaments

import miai
from miai import play
from miai.plugins import hooks
from miai.plugins.kinds import KINDS
from miai.plugins.registry import Component, Registry
from miai.search.agent import SearchAgent
from miai.search.mcts import Mcts, MctsParameters
from miai.testing import check_agent, check_game, check_renderer

NETWORK = """<ir_version: 9, opset_import: ["": 17]>
net (float[n,3,3,3] planes) => (float[n,1] value, float[n,9] logits) {
    flat = Flatten(planes)
    logits = Gemm(flat, nothing, bias)
    raw = MatMul(flat, lead)
    value = Tanh(raw)
}"""
POOL = "miai_pool.py"
PAGE = page("plugins")


def code_of(name: str, number: int = 0) -> dict[str, Any]:
    """Run a block of a page; return the names that it defines."""
    names: dict[str, Any] = {}
    exec(compile(blocks(page(name), "python")[number], f"{name}.md", "exec"), names)
    return names


def component_of(name: str, kind: str, registered: str) -> Component[Any]:
    """Return the component that a page's plugin registers."""
    own = Registry().for_plugin("page")
    code_of(name)["miai_register"](own)
    return own.get(kind, registered)


def test_the_search_of_the_page_finds_what_alpha_beta_does() -> None:
    component = component_of("write-a-search", "search", "lookahead")
    search = component.build(TTT, values={"depth": 9})
    proof = miai.make("search", "alpha-beta", TTT, nodes=0)
    for history in ("b2 a1 c3 b3", "a1 b2 c3 a3", "b2 b1 a2 c2"):
        state = state_after(TTT, *history.split())
        result = search.search(state)
        assert result.value == proof.search(state).value
        assert result.value == -proof.search(state.child(result.action)).value
        assert search.search(state, seconds=0.0).action in state.legal_actions()
    check_agent(lambda game: SearchAgent(game, component.build(game, values={})), TTT, games=1)
    pig = miai.load_game("pig", players=2, goal=6)
    chance = component.build(pig, values={"depth": 2}).search(pig.new_initial_state())
    # Of 36 pairs of rolls 23 reach six without a one; after a one the other's six loses.
    assert chance.value == pytest.approx((23 - 1) / 36)


@pytest.mark.slow
def test_the_command_of_the_page_plays_by_the_search(tmp_path: Path) -> None:
    variable, _, words = blocks(page("write-a-search"), "sh")[0].strip().partition(" ")
    (code,) = blocks(page("write-a-search"), "python")
    (tmp_path / "lookahead.py").write_text(code, encoding="utf-8")
    assert "X wins" in run(words, tmp_path, **dict([variable.split("=")]))


def test_the_evaluator_of_the_page_says_what_the_network_does(tmp_path: Path) -> None:
    """Of a network that counts own marks less the other's, and prefers the first corner."""
    onnx = pytest.importorskip("onnx")
    model = onnx.parser.parse_model(NETWORK)
    arrays = {"nothing": np.zeros((27, 9)), "bias": 2.0 * np.eye(9)[0]}
    arrays["lead"] = np.repeat([0, 0.5, -0.5], 9)[:, None]  # planes: empty, own, other
    for name, array in arrays.items():
        tensor = onnx.numpy_helper.from_array(array.astype(np.float32), name)
        model.graph.initializer.append(tensor)
    onnx.save(model, path := tmp_path / "net.onnx")

    component = component_of("write-an-evaluator", "evaluator", "onnx")
    evaluator = component.build(TTT, values={"path": str(path)})
    states = [state_after(TTT), state_after(TTT, "b2"), state_after(TTT, "a3", "b2")]
    lead = math.tanh(0.5)  # of x, while o is to move
    assert evaluator.evaluate(states) == pytest.approx(np.array([(0, 0), (lead, -lead), (0, 0)]))
    share = math.exp(2) / (math.exp(2) + 8)
    first, _, third = evaluator.prior(states)
    assert first == pytest.approx([share, *[(1 - share) / 8] * 8])
    assert third == pytest.approx(np.full(7, 1 / 7))  # the corner is taken
    puct = MctsParameters(selection="puct", simulations=40)
    visits = Mcts(TTT, puct, evaluator=evaluator).search(states[0]).visits
    assert max(visits, key=visits.__getitem__) == 0


def test_the_board_of_the_page_is_drawn_and_clicked() -> None:
    renderer = code_of("write-a-renderer")["TicTacToeRenderer"](TTT, None)
    assert check_renderer(TTT, lambda game: renderer).positions > 10
    state = state_after(TTT, "b2")
    clicks = renderer.clicks(view := view_of(TTT, 1, state.history()))
    assert renderer.render(view).replace(" ", "") == f"{state}\nmove2"
    boxes = {region.name: region.box for region in clicks.regions}
    for action in state.legal_actions():
        (ring,) = ElementTree.fromstring(renderer.svg_state(state.child(action))).iter("circle")
        x, y, width, height = boxes[clicks.actions[action][0]]
        assert (float(ring.attrib["cx"]), float(ring.attrib["cy"])) == (
            x + width / 2,
            y + height / 2,
        )


def test_the_cards_of_the_page_hide_the_other_s() -> None:
    kind = code_of("write-a-renderer", 1)["KuhnRenderer"]
    game = miai.load_game("kuhn_poker")
    assert check_renderer(game, kind).positions > 10
    assert kind(game).render(view_of(game, 1, (4, 2, 0))) == "cards: J ?\npass"


# -- the page on plugins --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_commands_of_a_new_plugin_run(tmp_path: Path) -> None:
    """In their order; pip installs into a folder that later commands see, and goes offline."""
    begin = PAGE.index("## Start a plugin")
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE[begin : PAGE.index("## An agent in")], re.DOTALL)
    environment = environment_with(tmp_path / "site")
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", "site"]
    for line in block.splitlines():
        program, *words = line.split()
        more = offline if program == "pip" else []
        run([sys.executable, "-m", program, *words, *more], tmp_path, **environment)


@pytest.mark.slow
def test_its_agent_of_a_file_plays(tmp_path: Path) -> None:
    page = PAGE[PAGE.index("## An agent in") : PAGE.index("## Components")]
    (command,) = re.findall(r"```sh\n(miai .*?)\n```", page)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "my_agent.py").write_text(code)
    run(command, tmp_path)


@pytest.mark.slow
def test_its_executor_plays_the_games_of_the_others(tmp_path: Path) -> None:
    (code,) = re.findall(rf"```python\n# {POOL}\n(.*?)```", PAGE, re.DOTALL)
    site = tmp_path / "site"
    install(site, "pool", "miai_pool", miai_pool=code)
    environment = environment_with(site, COLUMNS="200")
    config = tmp_path / "games.toml"
    config.write_text(tournaments.config_text(*tournaments.RANDOMS[:2], tournament={"rounds": 1}))
    found = []
    for name in ("serial", "pool"):
        words = ("run", config, "--out", tmp_path / name, "--executor", name, "--workers", 1)
        tournaments.tournament(*words, env=environment)
        found.append(tournaments.games_of(tmp_path / name))
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_its_game_of_simultaneous_decisions_keeps_the_rules() -> None:
    page = PAGE[PAGE.index("## Players who act at once") : PAGE.index("## Values and")]
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "fingers.py", "exec"), names)
    game = names["Fingers"]()
    assert check_game(game, games=3).positions == 3 * 7
    state = game.new_initial_state()
    state.apply_actions({0: 1, 1: 0})
    assert state.rewards() == (-3.0, 3.0)
    record = play(game, [miai.make_agent("mcts", game, simulations=20) for _ in range(2)])
    assert record.loser is None


def test_it_names_every_kind_and_hook() -> None:
    for kind in KINDS:
        assert f"`{kind.name}`" in PAGE
    for hook in (name for name in dir(hooks) if name.startswith("miai_")):
        assert f"`{hook}(" in PAGE

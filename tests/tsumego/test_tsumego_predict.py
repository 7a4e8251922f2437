"""Boards with chances: blocks that are asked about, pictures, and the commands."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from tests.tsumego.small_nets import small_net
from typer.testing import CliRunner

from miai.errors import MiaiError
from miai_go.tsumego.commands import network_commands

torch = pytest.importorskip("torch")

from miai.errors import WeightsError  # noqa: E402
from miai_go.nets.network import tensors_of  # noqa: E402
from miai_go.tsumego.networks.net_files import (  # noqa: E402
    save_net,
)

SGF = """(;GM[1]SZ[9]AB[ac][bc][cc][dc][ec][eb][ea]AW[ab][bb][cb][db][da]AW[gg];B[hh])"""
"""White in the corner with room at A9 to C9; one white stone that nothing surrounds."""


@pytest.fixture
def app() -> typer.Typer:
    group = typer.Typer()
    network_commands.add_commands(group)
    return group


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    net = small_net("zone", planes="extended", height=1, width=16)
    path = tmp_path / "net.safetensors"
    save_net(path, tensors_of(net.network), net.header)
    return path


def run(app: typer.Typer, *arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_predict_reports_every_block(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    file = tmp_path / "corner.sgf"
    file.write_text(SGF)
    rows = json.loads(run(app, "predict", file, "--weights", weights, "--json"))
    assert len(rows) == 3
    white = next(row for row in rows if "A8" in row["block"])
    assert sorted(white["block"]) == ["A8", "B8", "C8", "D8", "D9"]
    assert 0 < white["attacker_first"] < 1
    lone = next(row for row in rows if row["block"] == ["G3"])
    assert lone["attacker_first"] is None
    assert "wall" in lone["reason"]


def test_a_network_with_infinite_answers_is_refused(
    app: typer.Typer, weights: Path, tmp_path: Path
) -> None:
    file = tmp_path / "corner.sgf"
    file.write_text(SGF)
    net = small_net("zone", planes="extended", height=1, width=16)
    tensors = tensors_of(net.network)
    tensors["hidden.bias"][:] = 10
    tensors["value.weight"][:, ::2] = 3e38
    tensors["value.weight"][:, 1::2] = -3e38
    save_net(weights, tensors, net.header)
    with pytest.raises(WeightsError, match=r"net\.safetensors: its answers are not finite"):
        run(app, "predict", file, "--weights", weights, "--json")


def test_predict_draws_both_first_movers(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    file, picture = tmp_path / "corner.sgf", tmp_path / "corner.svg"
    file.write_text(SGF)
    text = run(app, "predict", file, "--weights", weights, "--svg", picture)
    assert "attacker first" in text
    assert "defender first" in text
    tree = ElementTree.fromstring(picture.read_text())
    spaces = {"s": "http://www.w3.org/2000/svg"}
    boards = tree.findall("s:svg", spaces)
    assert len(boards) == 2
    for board in boards:
        assert len(board.findall("s:circle/s:title", spaces)) == 13  # one dot a stone


def test_predict_follows_the_main_line(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    file = tmp_path / "corner.sgf"
    file.write_text(SGF)
    arguments = ("predict", file, "--weights", weights, "--json", "--moves")
    assert len(json.loads(run(app, *arguments, 1))) == 4
    with pytest.raises(MiaiError, match="1 moves"):
        run(app, *arguments, 2)

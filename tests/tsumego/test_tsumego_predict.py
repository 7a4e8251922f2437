"""Boards with chances: blocks that are asked about, pictures, and the commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from tests.tsumego.small_nets import small_net
from tests.whole_texts import assert_expected
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


def test_predictions_are_listed_and_drawn(app: typer.Typer, weights: Path, tmp_path: Path) -> None:
    """For every block or with the reason why not, once a move is played, and as a picture."""
    file, picture = tmp_path / "corner.sgf", tmp_path / "corner.svg"
    file.write_text(SGF)
    words = ("predict", file, "--weights", weights)
    text = run(app, *words, "--svg", picture) + run(app, *words, "--moves", 1, "--json")
    assert_expected("tsumego/predicted.txt", text)
    assert_expected("tsumego/predicted.svg", picture.read_text("utf-8"))
    with pytest.raises(MiaiError, match="1 moves"):
        run(app, *words, "--moves", 2)


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

"""The pages on life and death: each command of theirs runs, in small."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.docs.page_parts import ROOT, blocks, page
from typer.testing import CliRunner

from miai.cli.app import build_app
from miai_go.rules.board import BLACK_STONE, WHITE_STONE
from miai_go.tsumego.networks.array_nets import read_array_net
from miai_go.tsumego.zones import find_zone

SHORT = (
    *("--set", "run.steps=4", "--set", "optimiser.batch=16", "--set", "optimiser.warm_steps=2"),
    "--set",
)
SMALL = {
    "tsumego data make": ("--positions", "400", "--workers", "1", "--problems", "shipped"),
    "tsumego train configs/tsumego-net": (*SHORT, "network.parameters={width=8,blocks=1}"),
    "tsumego train configs/tsumego-zone": (*SHORT, "network.parameters={width=16,height=1}"),
    "tsumego generate": ("--count", "3", "--empty", "5-6"),
}
"""What is added to a command, by its words, so that it takes seconds; the last option counts."""


def commands(name: str) -> list[list[str]]:
    """Return the command lines of a page's blocks, without ``miai``."""
    lines = [line.removeprefix("$ ") for line in "".join(blocks(page(name), r"\w*")).splitlines()]
    found = [shlex.split(line.partition("  #")[0]) for line in lines if line.startswith("miai ")]
    return [words[1:] for words in found if not any("..." in word for word in words)]


def in_small(words: list[str]) -> list[str]:
    text = " ".join(words[1:])
    more = [options for start, options in SMALL.items() if text.startswith(start)]
    quick = [word for word in words if word != "--families"]  # all of them take ten seconds
    return [*quick, *(more[0] if more else ())]


def tell(words: list[str]) -> str:
    """Return what a command prints."""
    done = CliRunner().invoke(build_app(), in_small(words))
    assert done.exception is None, (words, done.output, done.exception)
    return done.stdout


@pytest.mark.slow
def test_problems_are_listed_made_and_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked, *others = commands("tsumego")
    message = {" ".join(words[1:3]): tell(words) for words in others}
    assert {"tsumego list", "tsumego generate", "solve problems.sgf"} <= set(message)
    assert "critical" in message["solve problems.sgf"]
    shutil.copy("problems.sgf", "one.sgf")
    again = tell(asked).replace("one.sgf", "problems.sgf")
    assert without_times(again) == without_times(message["solve problems.sgf"])


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d\d s", "", text)


@pytest.mark.slow
def test_positions_become_a_network_that_predicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    tell(["go", "tsumego", "generate", "--out", "position.sgf", "--count", "1"])
    way = commands("tsumego-net")
    assert [words[2] for words in way] == [
        *("data", "data", "train", "train", "eval", "quantize", "predict")
    ]
    for words in way:
        made = sorted(Path("runs").glob("*/checkpoints/*/weights.safetensors"))
        tell([str(made[-1]) if _is_weights(word) else word for word in words])
    assert Path("small.safetensors").stat().st_size > 0
    shown: dict[str, Any] = {}
    (code,) = blocks(page("tsumego-net"), "python")
    exec(code, shown)
    board = np.zeros((9, 9), np.int8)
    board[0, 4] = board[1, 4] = board[2, :5] = BLACK_STONE
    board[0, 3] = board[1, :4] = WHITE_STONE
    message = shown["chances"](read_array_net(Path("small.safetensors")), find_zone(board, 3))
    assert message.shape == (2,)
    assert ((message > 0) & (message < 1)).all()
    assert Path("position.svg").read_text(encoding="utf-8").startswith("<svg")


def _is_weights(word: str) -> bool:
    return word == "WEIGHTS" or word.endswith("/weights.safetensors")

"""The page on learning Go: its way is gone in small, its plugin works, its tables are true."""

from __future__ import annotations

import importlib.util
import re
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from tests.child_imports import environment_with, install
from tests.docs.page_parts import ROOT, commands, page, rows, run, section
from tests.go_learning.go_data_games import random_moves, sgf_of
from typer.testing import CliRunner

from miai.cli.app import build_app
from miai.plugins.loader import registry
from miai_go.learning.data.dataset import GoDataset
from miai_go.learning.data.stored_games import StoredGame
from miai_go.learning.training import run_folder as journal
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import WeightsHeader
from miai_go.rules.coordinates import SYMMETRIES
from miai_go.rules.symmetry import point_tables, turned_planes

PAGE = page("go-learning")
WAYS, PLUGIN = PAGE.split("\n## A new encoder or network\n")

TOWER = ("network.parameters={height=1,width=8}", "optimiser.batch=32", "run.steps=4")
SMALL: dict[str, tuple[str, ...]] = {
    "sl": (*TOWER, "run.device=cpu", "run.precision=fp32"),
    "rollout": ("patterns.epochs=1",),
    "rl": (
        *("game.games=4", "game.rounds=1", "game.max_moves=20", "optimiser.batch=32"),
        *("match.every=1", "match.games=2", TOWER[0]),
    ),
    "value": (
        *("game.games=30", "game.max_moves=20", "game.last_random=10", "game.validation=0.4"),
        *("optimiser.batch=16", "run.steps=2", TOWER[0]),
    ),
    "zero": (
        *(*TOWER, "selfplay.rounds=1", "selfplay.games=4", "selfplay.at_once=2"),
        *("search.simulations=4", "search.considered=4", "game.max_moves=8"),
        *("ladder.every=1", "ladder.games=2", "ladder.simulations=2"),
    ),
}
"""What is added to the trainings of the page, by their name, so that they take seconds."""
SMALL_SIZES = (
    *("network.start=''", "network.norms=batch", "data.size=[7,9,13]"),
    "network.parameters={height=1,width=8,value='pooled'}",
)
ROLLOUT = "runs/go-rollout/weights.safetensors"
COPIED = {"go-sl": "policy", "go-teacher": "teacher", "go-rl": "policy-rl", "go-value": "value"}
COPIED |= {"go-sizes": "sizes"}
"""What the weights of a config are copied to."""


def in_small(words: list[str]) -> list[str]:
    if words[:2] == ["go", "train"]:
        settings = SMALL[words[2]] + (SMALL_SIZES if "sizes" in words[3] else ())
        return [*words, *(word for setting in settings for word in ("--set", setting))]
    if words[:3] == ["go", "data", "annotate"]:
        return [*words, "--simulations", "2", "--workers", "1"]
    if words[:3] == ["go", "data", "play"]:
        games = ("4",) if "--sizes" in words else ("8", "--sizes", "7,9,13", "--max-moves", "24")
        few = ("--games-a-shard", "8", "--simulations", "2", "--fast-simulations", "1")
        return [*words, *few, "--workers", "1", "--games", *games]
    return [*words, "--set", "max_moves=8"] if words[0] == "play" else words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Configs, and games to learn from."""
    folder = tmp_path_factory.mktemp("learning")
    (folder / "configs").symlink_to(ROOT / "configs")
    (folder / "games").mkdir()
    for seed in range(80):
        data = sgf_of(random_moves(seed, length=24), seed=seed)
        (folder / "games" / f"{seed}.sgf").write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def message(folder: Path) -> dict[str, str]:
    """What the commands of both ways print, in their order."""
    torch.set_num_threads(1)
    assert journal  # writes to the standard error of its import, so not to that of a CliRunner
    app, out = build_app(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in commands(WAYS):
            done = CliRunner().invoke(app, in_small(words))
            assert done.exception is None, (words, done.output, done.exception)
            out[" ".join(words[: 3 if words[0] == "go" else 2])] = done.stdout
            if copy := COPIED.get(Path(words[3]).stem) if words[:2] == ["go", "train"] else None:
                (made,) = re.findall(r"^weights: (.+)$", done.stdout, re.MULTILINE)
                shutil.copy(made, f"{copy}.safetensors")
    return out


@pytest.mark.slow
def test_the_page_leads_from_games_to_players(folder: Path, message: dict[str, str]) -> None:
    assert set(message) == {
        "go data import",
        "go data annotate",
        "go data play",
        "go eval sizes.safetensors",
        *(f"go train {kind}" for kind in SMALL),
        "go eval policy.safetensors",
        f"go eval {ROLLOUT}",
        "play go",
    }
    for kind in SMALL:
        assert "weights: " in message[f"go train {kind}"]
    assert "waiting for data" in message["go train sl"]
    assert "top1" in message["go eval policy.safetensors"]
    assert "calibration" in message["go eval policy.safetensors"]
    assert WeightsHeader.read(folder / "sizes.safetensors").sizes == (7, 9, 13)
    made = [record.command for record in WeightsHeader.read(folder / "value.safetensors").history]
    assert [command.split()[3] for command in made] == ["sl", "value"]


@pytest.mark.slow
def test_a_rollout_policy_is_measured_as_at_the_end_of_its_training(
    message: dict[str, str],
) -> None:
    trained = re.search(r"top-1 accuracy ([\d.]+)% on (\d+) positions", message["go train rollout"])
    assert trained
    figures = re.search(r"positions (\d+)  top1 ([\d.]+)", message[f"go eval {ROLLOUT}"])
    assert figures
    assert int(figures[1]) == int(trained[2]) > 0
    assert float(figures[2]) == pytest.approx(float(trained[1]) / 100, abs=1e-3)


@pytest.mark.slow
def test_a_run_s_folder_holds_what_the_table_says(folder: Path, message: dict[str, str]) -> None:
    assert message
    table, named = section(PAGE, "A run"), set()
    for cell in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE):
        named |= {path.split("/")[0] for path in re.findall(r"`([^`]+)`", cell)}
    assert {path.name for path in (folder / "runs" / "go-sl").iterdir()} == named - {"games"}
    assert (folder / "runs" / "go-value" / "games").is_dir()
    assert (folder / "runs" / "go-rollout" / "weights.safetensors").is_file()
    zero = {path.name for path in (folder / "runs" / "go-zero-5x5").iterdir()}
    assert named <= zero
    assert "ladder.csv" in zero
    (checkpoint,) = (folder / "runs" / "go-sl" / "checkpoints").iterdir()
    assert {path.name for path in checkpoint.iterdir()} == {
        Path(path).name for path in re.findall(r"`checkpoints/step-\d{9}/(\S+)`", table)
    }


@pytest.mark.slow
def test_it_names_every_component_config_and_training() -> None:
    named, components = rows(PAGE), registry()
    for kind in ("go.encoder", "go.network"):
        assert {component.name for component in components.components(kind)} <= named, kind
    for name in ("policy", "alphago", "alphazero"):
        assert components.get("search", name, game="go")
        assert name in named
    configs = {path.name for path in (ROOT / "configs").glob("go-*.toml")}
    assert configs == set(re.findall(r"`configs/(go-[\w-]+\.toml)`", PAGE))
    assert {name for name in SMALL if f"`{name}`" in PAGE} == set(SMALL)


@pytest.mark.slow
def test_the_keys_that_it_names_are_there() -> None:
    from miai_go.learning.training.reinforce import ReinforceConfig
    from miai_go.learning.training.supervised import SupervisedConfig
    from miai_go.learning.training.zero_config import ZeroConfig

    tables: dict[str, set[str]] = {}
    for model in (SupervisedConfig, ReinforceConfig, ZeroConfig):
        for table, field in model.model_fields.items():
            assert field.annotation is not None
            tables.setdefault(table, set()).update(field.annotation.model_fields)
    named = re.findall(r"`(\w+)\.(\w+)(?: = .+?)?`", WAYS)
    named = [
        (table, key)
        for table, key in named
        if key not in ("md", "toml", "csv", "svg", "safetensors")
    ]
    players = ("network", "precision")  # a parameter of players, not of trainings
    checked = [(table, key) for table, key in named if table in tables and (table, key) != players]
    assert len(checked) > 8
    for table, key in checked:
        assert key in tables[table], f"{table}.{key}"
    threads = {
        path.name: tomllib.loads(path.read_text("utf-8"))["run"]["threads"]
        for path in (ROOT / "configs").glob("go-*.toml")
        if "\n[run]\n" in path.read_text("utf-8")
    }
    assert threads.pop("go-sizes.toml") > 1  # as the page says of them
    assert set(threads.values()) == {1}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's plugin, as an installer would leave it."""
    folder = tmp_path_factory.mktemp("plugin")
    files = re.findall(r"```python\n# (\S+)\n(.*?)```", PLUGIN, re.DOTALL)
    assert len(files) == 4
    for name, text in files:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    install(folder, "edges", "miai_edges.plugin")
    return folder


@pytest.mark.slow
def test_the_page_s_plugin_is_found_and_trained(
    folder: Path, message: dict[str, str], site: Path
) -> None:
    assert message
    environment = environment_with(site, OMP_NUM_THREADS="1")
    for words in commands(PLUGIN):
        steps = ["--set", "run.steps=4", "--set", "optimiser.batch=32"] if words[0] == "go" else []
        run(["miai", *words, *steps], folder, **environment)
    header = WeightsHeader.read(
        folder / "runs/edges/checkpoints/step-000000004/weights.safetensors"
    )
    assert (header.network, header.encoder, header.planes) == ("two-layers", "edges", 19)
    assert header.network_parameters == {"hidden": 64}
    assert header.outputs == ("policy", "value")


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", range(SYMMETRIES))
def test_the_page_s_encoder_keeps_its_promise(site: Path, symmetry: int) -> None:
    spec = importlib.util.spec_from_file_location("edges", site / "miai_edges" / "encoder.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    encoder = module.EdgesEncoder(9, None)
    assert isinstance(encoder, Encoder)
    assert encoder.scales.dtype == np.float32
    assert encoder.scales.shape == (encoder.planes,)
    game = StoredGame(9, np.array(random_moves(5), np.int16), 15, 1, 0.5)
    turned = replace(game, moves=point_tables(9)[symmetry][game.moves])
    first, second = (
        next(data.batches(100, symmetries=False, shuffle=False)).planes
        for data in (GoDataset.of_games([g], encoder=encoder) for g in (game, turned))
    )
    assert first is not None
    assert second is not None
    every = np.full(len(first), symmetry, np.uint8)
    assert np.array_equal(turned_planes(first, every), second)
    assert first[0, -1, 0].max() == 0
    assert first[0, -1, 4, 4] == 4

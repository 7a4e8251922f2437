"""``miai go train`` and ``miai go eval``: train networks, and measure them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from miai.cli.options import AsJson, ConfigPath, Options, add_command, print_json
from miai.errors import ConfigError
from miai.files import removed_if_refused
from miai_go.errors import require_torch

if TYPE_CHECKING:
    from pydantic import BaseModel

    from miai_go.learning.training.measuring import EvaluationSettings, GameMeasures, SplitSettings
    from miai_go.learning.training.run_folder import TrainingPlan

ResultT = TypeVar("ResultT")

OutFolder = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the run (default: runs/NAME)."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="TABLE.KEY=VALUE", help="Override a setting of the config (repeatable)."
    ),
]


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    train = typer.Typer(
        help="Train networks. Stop with Ctrl-C; the same command resumes.", no_args_is_help=True
    )
    train.command("sl")(train_sl)
    train.command("rollout")(train_rollout)
    train.command("rl")(train_rl)
    train.command("value")(train_value)
    train.command("zero")(train_zero)
    group.add_typer(train, name="train")
    measuring = "miai_go.learning.training.measuring"
    add_command(group, "eval", evaluate, settings=Options(f"{measuring}:EvaluationSettings"))
    held_out = Options(f"{measuring}:SplitSettings", {"split": "validation"})
    add_command(group, "calibrate", calibrate, games=held_out)


def train_sl(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Train a network on moves and results of recorded games (supervised)."""
    require_torch("training")
    from miai_go.learning.training.supervised import SupervisedConfig, train_supervised

    result = train_by_config(train_supervised, SupervisedConfig, "train sl", config, out, settings)
    print(f"{result.measures.line()}  (waiting for data: {result.loading_share:.1%} of the time)")
    print(f"weights: {result.weights}")


def train_rollout(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Train the rollout policy, a table of patterns, on recorded games."""
    from miai_go.learning.training.rollout_policy import RolloutConfig
    from miai_go.learning.training.rollout_policy import train_rollout as train

    result = train_by_config(train, RolloutConfig, "train rollout", config, out, settings)
    print(f"top-1 accuracy {result.test.top_1:.1%} on {result.test.positions} positions")
    print(f"weights: {result.weights}")


def train_rl(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Train a policy by policy gradient on games against its earlier versions."""
    require_torch("training")
    from miai_go.learning.training.reinforce import ReinforceConfig, train_by_gradient

    result = train_by_config(train_by_gradient, ReinforceConfig, "train rl", config, out, settings)
    print(f"rounds: {result.rounds}, steps: {result.steps}\nweights: {result.weights}")


def train_value(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Train a value network on one position from each game of self-play."""
    require_torch("training")
    from miai_go.learning.training.value import ValueConfig
    from miai_go.learning.training.value import train_value as train

    result = train_by_config(train, ValueConfig, "train value", config, out, settings)
    print(f"{result.measures.line()}\nweights: {result.weights}")


def train_zero(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Run AlphaGo Zero's loop: rounds of self-play by tree search and training on it."""
    require_torch("training")
    from miai_go.learning.training.zero import train_zero as train
    from miai_go.learning.training.zero_config import ZeroConfig

    result = train_by_config(train, ZeroConfig, "train zero", config, out, settings)
    print(f"rounds: {result.rounds}, steps: {result.steps}\nweights: {result.weights}")


def evaluate(
    weights: Annotated[str, typer.Argument(help="Weights file, or the name of shipped weights.")],
    sources: Annotated[list[Path], typer.Argument(help="Shard sets, or SGF files and folders.")],
    settings: EvaluationSettings,
    as_json: AsJson = False,
) -> None:
    """Measure move prediction, values and their calibration on recorded games.

    A rollout policy has no values, so only its move prediction is measured. It never fills an own
    eye; recorded moves that do are counted as `unseen`, and its cross-entropy leaves them out.
    """
    from miai_go.nets.patterns import is_pattern_policy
    from miai_go.shipped import find_weights

    path = find_weights(weights)
    if is_pattern_policy(path):
        if settings.precision is not None:
            raise ConfigError(f"{path}: a rollout policy has no precision; leave it out")
        _show_rollout(path, sources, settings, as_json=as_json)
        return
    from miai_go.learning.training.measuring import evaluate_weights

    measures = evaluate_weights(
        weights,
        sources,
        split=settings.split,
        limit=settings.positions or None,
        precision=settings.precision,
        note=lambda line: print(line, file=sys.stderr),
    )
    if as_json:
        tables = {title.replace(" ", "_"): rows for title, rows in _tables(measures)}
        print(json.dumps({**measures.figures(), **tables}, indent=2, allow_nan=False))
    else:
        print(measures.line())
        for title, rows in _tables(measures):
            print_table(title, rows)


def calibrate(
    weights: Annotated[str, typer.Argument(help="Weights file, or the name of shipped weights.")],
    sources: Annotated[list[Path], typer.Argument(help="Shard sets, or SGF files and folders.")],
    out: Annotated[Path, typer.Option("--out", help="Weights file to write.")],
    games: SplitSettings,
    as_json: AsJson = False,
) -> None:
    """Fit the values of a network to the results of games that it did not learn from.

    The log odds of winning are multiplied by one factor; moves and the order of values stay.
    """
    require_torch("training")
    from miai_go.learning.training.calibrating import calibrate as fit
    from miai_go.nets.inference import export_beside

    result = fit(weights, sources, out, split=games.split)
    names = ("before", "after")
    figures = {
        "factor": result.factor,
        "positions": result.positions,
        "value_error": dict(zip(names, result.errors, strict=True)),
        "cross_entropy": dict(zip(names, result.cross_entropies, strict=True)),
    }
    if as_json:
        print_json({"file": out.name, **figures})
        return
    print(
        f"{out}: log odds times {result.factor:.4f}; on {figures['positions']} positions the value "
        f"error was {result.errors[0]:.4f} and is {result.errors[1]:.4f}, the cross-entropy of "
        f"results was {result.cross_entropies[0]:.4f} and is {result.cross_entropies[1]:.4f}"
    )
    if (export := export_beside(out)).exists():
        print(f"{export} is of other weights now: make it again with miai go export")


def train_by_config(
    train: Callable[[TrainingPlan[Any]], ResultT],
    model: type[BaseModel],
    command: str,
    config: Path,
    out: Path | None,
    settings: list[str] | None,
    *,
    example: str | None = None,
) -> ResultT:
    """Train by a config; a training that is refused at once leaves no folder.

    Args:
      command: the words after ``miai go`` that train so.
      example: as `load_plan` takes it.
    """
    from miai_go.learning.training.run_folder import SCAFFOLDING, load_plan, run_folder

    with removed_if_refused(run_folder(config, out), SCAFFOLDING):
        plan = load_plan(
            config, model, command=command, assignments=settings or (), out=out, example=example
        )
        print(
            f"run folder: {plan.folder}; stop with Ctrl-C, the same command resumes",
            file=sys.stderr,
        )
        return train(plan)


def _show_rollout(
    path: Path, sources: list[Path], settings: EvaluationSettings, *, as_json: bool
) -> None:
    from miai_go.learning.training.rollout_policy import evaluate_rollout

    limit = settings.positions or None
    report = evaluate_rollout(path, sources, split=settings.split, limit=limit)
    figures = {
        "positions": report.positions,
        "top1": report.top_1,
        "cross_entropy": report.cross_entropy,
        "unseen": report.unseen,
    }
    if as_json:
        print_json(figures)
    else:
        print("  ".join(f"{name} {value:.4g}" for name, value in figures.items()))


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows of figures below a title and their names; nothing if there are none."""
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    print(f"\n{title}")
    print("  ".join(f"{name:>13}" for name in names))
    for row in rows:
        print("  ".join(_cell(row.get(name, float("nan"))) for name in names))


def _tables(measures: GameMeasures) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    if parts := measures.parts():
        yield "by size", [{"board": name, **part.figures()} for name, part in parts.items()]
    yield "by ply", measures.by_ply()
    yield "calibration", measures.calibration()


def _cell(value: float | str) -> str:
    return f"{value:>13}" if isinstance(value, str) else f"{value:13.5g}"

"""``miai go tsumego data|train|eval|quantize|predict``: from problems to networks."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from miai_go.learning.life_dataset import LabelledPositions
    from miai_go.learning.life_making import SetCounts
    from miai_go.learning.life_measuring import Baselines, LifeMeasures
    from miai_go.learning.measuring import Row
    from miai_go.life.problems import Problem
    from miai_go.nets.life_predicting import PredictedFate


_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Set = Annotated[Path, typer.Argument(metavar="SET", help="Set of `data make`.")]
_LINE_SECONDS: Final = 60.0
_MAX_WORKERS: Final = 64


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    data = typer.Typer(help="Positions with proved answers.", no_args_is_help=True)
    data.command("make")(make)
    data.command("show")(show)
    group.add_typer(data, name="data")
    group.command("train")(train)
    group.command("eval")(evaluate)
    group.command("quantize")(quantize)
    group.command("predict")(predict)


def make(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the set.")],
    positions: Annotated[
        int, typer.Option("--positions", min=1, help="Minimum number of positions.")
    ] = (500_000),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=_MAX_WORKERS, help="Worker processes.")
    ] = 2,
    problems: Annotated[
        str,
        typer.Option(
            "--problems", help="Problems to begin with: random, shipped, or a path of SGF."
        ),
    ] = "random",
    least_empty: Annotated[
        int,
        typer.Option(
            "--least-empty",
            min=4,
            max=20,
            help="Minimum number of empty points in a fight; a room has 4 or more.",
        ),
    ] = 6,
    most_empty: Annotated[
        int,
        typer.Option("--most-empty", min=4, max=20, help="Maximum number of empty points."),
    ] = 14,
    boards: Annotated[
        int, typer.Option("--boards", min=1, help="Maximum boards of a problem.")
    ] = 20,
) -> None:
    """Make positions with proved answers; the same command continues an interrupted run.

    Positions grow from each critical problem by moves that change whether the target is alive,
    critical or dead. Each board is solved for both first movers. The set does not depend on the
    number of workers.
    """
    from miai.progress import progress_beside
    from miai_go.learning.life_making import MakingSettings, make_set

    sources = _problems(problems)
    settings = MakingSettings(
        problems=_problem_set_name(problems, sources),
        seed=seed,
        least_empty=least_empty,
        most_empty=most_empty,
        boards=boards,
    )
    with progress_beside("Make positions", unit="positions", total=positions) as progress:

        def show(made: SetCounts) -> None:
            status = f"{made.problems} problems"
            progress.reach(made.positions, status, every=_LINE_SECONDS)

        made = make_set(
            out,
            settings=settings,
            positions=positions,
            workers=workers,
            problems=sources,
            progress=show,
        )
    print(
        f"{out}: {made.positions} positions of {made.problems} problems "
        f"({made.sources} examined; {made.copies} duplicates dropped)"
    )
    if made.positions < positions:
        print(f"the problems yield fewer positions than the {positions} requested")


def show(
    folder: _Set,
    folds: Annotated[int, typer.Option("--folds", min=2, max=1000)] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of split and sample.")] = 0,
    sample: Annotated[
        int,
        typer.Option(
            "--sample",
            min=0,
            max=100_000,
            help="Positions to find nearest neighbours of; 0 for none.",
        ),
    ] = 300,
    as_json: _Json = False,
) -> None:
    """Show counts of a set, and the distance of held-out positions to the rest, for both splits."""
    import numpy as np

    from miai_go.learning.life_dataset import SPLITS, LabelledPositions, find_neighbours, folds_of

    positions = LabelledPositions.open(folder)
    side, safe = positions.columns["side"], positions.safe()
    counts: dict[str, Any] = {
        "positions": len(positions),
        "problems": positions.problems,
        "safe_attacker_first": float(safe[side == 0].mean()),
        "safe_defender_first": float(safe[side == 1].mean()),
        "digest": positions.digest,
    }
    nearest: dict[str, list[tuple[str, int]]] = {}
    for by in SPLITS if sample else ():
        split = folds_of(positions, folds=folds, seed=seed, by=by)
        train, test = np.flatnonzero(split != 0), np.flatnonzero(split == 0)
        near = find_neighbours(positions, train, test, sample=sample, seed=seed)
        nearest[by] = near.table()
    if as_json:
        print(json.dumps({**counts, "nearest": {k: dict(v) for k, v in nearest.items()}}, indent=2))
        return
    for name, value in counts.items():
        print(f"{name:20} {value:.3f}" if isinstance(value, float) else f"{name:20} {value}")
    for kind, table in nearest.items():
        print(f"\nnearest training position, split by {kind}: differing points, positions")
        print("  ".join(f"{distance}: {count}" for distance, count in table))


def train(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The config file, TOML.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of the run (default: runs/NAME)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="TABLE.KEY=VALUE", help="Override a value of the file; repeatable."
        ),
    ] = None,
) -> None:
    """Train a network; the same command continues an interrupted run."""
    _needs_torch("training")
    from miai_go.learning.life_training import load_tsumego_plan, train_net

    plan = load_tsumego_plan(config, assignments=tuple(settings or ()), out=out)
    print(f"run in {plan.folder}; Ctrl-C stops, the same command continues", file=sys.stderr)
    learnt = train_net(plan)
    print(f"held out: {learnt.measures.line()}\nweights: {learnt.weights}")


def evaluate(
    weights: Annotated[list[Path], typer.Argument(help="Weights of one or several folds.")],
    data: Annotated[Path, typer.Option("--data", metavar="SET", help="Set of `data make`.")],
    views: Annotated[
        int, typer.Option("--views", min=1, max=8, help="Number of symmetries to average.")
    ] = 1,
    positions: Annotated[
        int, typer.Option("--positions", min=0, help="Maximum positions of a fold; 0 for all.")
    ] = 0,
    sample: Annotated[
        int,
        typer.Option(
            "--sample", min=1, max=100_000, help="Positions to find nearest neighbours of."
        ),
    ] = 300,
    as_json: _Json = False,
) -> None:
    """Measure networks on the positions held out from their training.

    The weights of all folds together are measured on the whole set.
    """
    _needs_torch("eval")
    from miai_go.learning.life_dataset import LabelledPositions
    from miai_go.learning.life_measuring import LifeMeasures, find_baselines, measure_file
    from miai_go.nets.life_weights import NetHeader

    opened = LabelledPositions.open(data)
    for each in weights:
        _warn_of_other_set(each, opened, data)
    measured = [measure_file(w, opened, views=views, limit=positions or None) for w in weights]
    together = LifeMeasures.joined(measured)
    baselines = find_baselines(opened, NetHeader.read(weights[0]), sample=sample)
    if as_json:
        print(json.dumps(_evaluation(together, measured, baselines), indent=2))
        return
    for path, measures in zip(weights, measured, strict=True):
        print(f"{path.name}: {measures.line()}")
    if len(weights) > 1:
        print(f"together: {together.line()}")
    print(f"calibration error {together.calibration_error():.4f}")
    print(f"more frequent answer, by first mover: {baselines.majority:.1%}")
    print(f"nearest training position: {baselines.neighbour:.1%}; differing points, positions:")
    print("  ".join(f"{distance}: {count}" for distance, count in baselines.neighbours.table()))
    for title, rows in (
        ("by first mover", together.by_side()),
        ("by empty points", together.by_size()),
        ("calibration", together.calibration()),
    ):
        _print_table(title, rows)


def quantize(
    weights: Annotated[Path, typer.Argument(help="Weights of a training run.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Quantised weights, .safetensors.")
    ] = None,
    bits: Annotated[
        int, typer.Option("--bits", min=2, max=8, help="Bits of a weight in --out.")
    ] = 5,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="SET", help="Set to measure 8 to 2 bits on.")
    ] = None,
    positions: Annotated[
        int, typer.Option("--positions", min=0, help="Maximum held-out positions; 0 for all.")
    ] = 20_000,
    as_json: _Json = False,
) -> None:
    """Quantise a network to a few bits for each weight, and measure the loss."""
    _needs_torch("quantize")
    from miai_go.errors import WeightsError
    from miai_go.learning.life_measuring import quantised_table
    from miai_go.nets.life_weights import BITS, load_net, quantize_net

    if out is None and data is None:
        raise WeightsError("nothing to do: use --out for a file, --data for the table, or both")
    summary: dict[str, Any] = {}
    if data is not None:
        from miai_go.learning.life_dataset import LabelledPositions

        opened = LabelledPositions.open(data)
        _warn_of_other_set(weights, opened, data)
        table = quantised_table(weights, opened, bits=BITS, limit=positions or None)
        summary["table"] = [asdict(row) for row in table]
        if not as_json:
            rows: list[Row] = [{"bits": r.bits, "bytes": r.size, **r.figures} for r in table]
            _print_table("bits a weight", rows)
    if out is not None:
        quantize_net(load_net(weights), bits, out)
        summary |= {"file": out.name, "bits": bits, "bytes": out.stat().st_size}
        if not as_json:
            print(f"{out}: {bits} bits a weight, {out.stat().st_size} bytes")
    if as_json:
        print(json.dumps(summary, indent=2))


def predict(
    file: Annotated[Path, typer.Argument(metavar="FILE.sgf", help="Position or game.")],
    weights: Annotated[
        Path | None, typer.Option("--weights", help="Weights file (default: the shipped one).")
    ] = None,
    moves: Annotated[
        int, typer.Option("--moves", min=0, help="Moves of the main line to play first.")
    ] = 0,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Picture to write.")
    ] = None,
    color: Annotated[
        bool | None, typer.Option("--color/--no-color", help="Colours (default: on a terminal).")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Show each block's chance to live and its vital moves, for either first mover.

    A block that is not enclosed by a safe wall gets a reason instead.
    """
    from miai.errors import ConfigError
    from miai.files import write_text, writing
    from miai_go.nets.life_predicting import Predictor, rows_of, svg_of, text_of
    from miai_go.sgf.reading import board_of
    from miai_go.shipped import TSUMEGO

    stones = board_of(file, moves=moves)
    fates = Predictor(weights or TSUMEGO).fates(stones)
    if svg is not None:
        with writing(f"--svg {svg}", ConfigError):
            svg.parent.mkdir(parents=True, exist_ok=True)
            write_text(svg, svg_of(stones, fates))
    if as_json:
        print(json.dumps([_fate(fate, len(stones)) for fate in fates], indent=2))
        return
    coloured = sys.stdout.isatty() if color is None else color
    for first in (0, 1):
        print(text_of(stones, fates, first=first, color=coloured), end="\n\n")
    print("\n".join(rows_of(len(stones), fates)))


def _problems(named: str) -> tuple[Problem, ...]:
    """Return the problems of a set; none if they are random."""
    from miai_go.errors import DataError, ProblemError
    from miai_go.life.problems import problems_of, shipped_problems

    if named == "random":
        return ()
    if named == "shipped":
        return shipped_problems()
    problems = []
    for problem in problems_of(Path(named)):
        if isinstance(problem, ProblemError):
            print(f"left out: {problem}", file=sys.stderr)
        else:
            problems.append(problem)
    if not problems:
        raise DataError(
            f"{named}: contains no problem; use random, shipped, or a path of SGF problems"
        )
    return tuple(problems)


def _problem_set_name(named: str, problems: tuple[Problem, ...]) -> str:
    """Return a name for problems that changes with them."""
    if not problems:
        return named
    total = hashlib.sha256()
    for problem in problems:
        total.update(f"{problem.size} {problem.target} ".encode() + problem.stones.tobytes())
    return f"{Path(named).name} {total.hexdigest()[:16]}"


def _warn_of_other_set(weights: Path, positions: LabelledPositions, data: Path) -> None:
    """Warn if a network was trained on another set than the one to measure it on."""
    from miai_go.nets.life_weights import NetHeader

    header = NetHeader.read(weights)
    if header.held_out is not None and header.data != positions.digest:
        print(
            f"{weights}: trained on the set {header.data}, but {data} is {positions.digest}: "
            "held-out positions may have been in the training data",
            file=sys.stderr,
        )


def _evaluation(
    together: LifeMeasures, measured: Sequence[LifeMeasures], baselines: Baselines
) -> dict[str, Any]:
    return {
        **together.figures(),
        "calibration_error": together.calibration_error(),
        "folds": [measures.figures() for measures in measured],
        "baseline_majority": baselines.majority,
        "baseline_neighbour": baselines.neighbour,
        "nearest": dict(baselines.neighbours.table()),
        "by_first": together.by_side(),
        "by_empty": together.by_size(),
        "calibration": together.calibration(),
    }


def _fate(fate: PredictedFate, size: int) -> dict[str, Any]:
    from miai_go.rules.coordinates import vertex

    moves = [None if move is None else vertex(move, size) for move in fate.moves]
    return {
        "block": [vertex(point, size) for point in fate.points],
        "color": ("black", "white")[fate.color - 1],
        "attacker_first": None if fate.chances is None else fate.chances[0],
        "defender_first": None if fate.chances is None else fate.chances[1],
        "moves": moves if fate.critical else [None, None],
        "reason": fate.reason,
    }


def _print_table(title: str, rows: Sequence[Row]) -> None:
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    print(f"\n{title}")
    print("  ".join(f"{name:>10}" for name in names))
    for row in rows:
        cells = [row.get(name, float("nan")) for name in names]
        print("  ".join(f"{c:>10}" if isinstance(c, str) else f"{c:10.5g}" for c in cells))


def _needs_torch(what: str) -> None:
    from miai_go.errors import require_torch

    require_torch(what)

"""``miai go tsumego data|train|eval|quantize|ordering|predict``: from problems to networks."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from miai.cli.options import AsJson, ConfigPath, Options, add_command, print_json
from miai.errors import ConfigError, WeightsError
from miai_go.commands.training import OutFolder, Overrides, print_table, train_by_config
from miai_go.errors import DataError, ProblemError, require_torch

if TYPE_CHECKING:
    from miai_go.learning.training.measuring import MeasureRow
    from miai_go.tsumego.components import OrderingPlan
    from miai_go.tsumego.data.labelled_positions import LabelledPositions
    from miai_go.tsumego.data.position_sets import MakingSettings, SetCounts
    from miai_go.tsumego.networks.accuracy import LifeMeasures
    from miai_go.tsumego.networks.ordering_training import OrderingFit, Samples
    from miai_go.tsumego.networks.predictor import PredictedFate
    from miai_go.tsumego.problem_sgf import Problem
    from miai_go.tsumego.solver.ordering_net import OrderingNet


_Set = Annotated[Path, typer.Argument(metavar="SET", help="Folder of a position set.")]
_EXAMPLE: Final = "configs/tsumego-net.toml"
_LINE_SECONDS: Final = 60.0
_ORDERING_LINE_SECONDS: Final = 10.0
_MAX_WORKERS: Final = 64


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    data = typer.Typer(help="Make and inspect position sets.", no_args_is_help=True)
    settings = Options("miai_go.tsumego.data.position_sets:MakingSettings")
    add_command(data, "make", make, settings=settings)
    data.command("show")(show)
    group.add_typer(data, name="data")
    group.command("train")(train)
    group.command("eval")(evaluate)
    group.command("quantize")(quantize)
    plan = Options("miai_go.tsumego.components:OrderingPlan")
    add_command(group, "ordering", ordering, plan=plan)
    group.command("predict")(predict)


def make(
    settings: MakingSettings,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the set.")],
    positions: Annotated[
        int, typer.Option("--positions", min=1, help="Minimum number of positions.")
    ] = (500_000),
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=_MAX_WORKERS, help="Number of worker processes.")
    ] = 2,
) -> None:
    """Make positions with proved answers. Repeat an interrupted command to resume it.

    From each critical problem, level by level, the moves are played that change whether the target
    is alive, critical or dead; each board is proved for both first movers. The number of workers
    does not change the result.
    """
    from miai.progress import make_progress
    from miai_go.tsumego.data.position_sets import make_set

    problems = _problems(settings.problems)
    settings = settings.model_copy(update={"problems": _named(settings.problems, problems)})
    view = make_progress("Make positions", unit="positions", aside=not sys.stdout.isatty())

    def show(counts: SetCounts) -> None:
        if not view.total:
            view.begin(done=counts.positions, total=positions)
        view.reach(counts.positions, f"{counts.problems} problems", every=_LINE_SECONDS)

    try:
        counts = make_set(
            out,
            settings=settings,
            positions=positions,
            workers=workers,
            problems=problems,
            progress=show,
        )
    finally:
        view.close()
    print(
        f"{out}: {counts.positions} positions from {counts.problems} of {counts.sources} problems; "
        f"{counts.copies} duplicates dropped"
    )
    if counts.positions < positions:
        print(f"the problems have no more positions; {positions} were requested")


def show(folder: _Set, as_json: AsJson = False) -> None:
    """Show the counts of a set."""
    from miai_go.tsumego.data.labelled_positions import LabelledPositions

    positions = LabelledPositions.open(folder)
    side, safe = positions.columns["side"], positions.safe()
    counts: dict[str, Any] = {
        "positions": len(positions),
        "problems": positions.problems,
        "safe_attacker_first": float(safe[side == 0].mean()),
        "safe_defender_first": float(safe[side == 1].mean()),
        "digest": positions.digest,
    }
    if as_json:
        print_json(counts)
        return
    for name, value in counts.items():
        print(f"{name:20} {value:.3f}" if isinstance(value, float) else f"{name:20} {value}")


def train(config: ConfigPath, out: OutFolder = None, settings: Overrides = None) -> None:
    """Train a network. Stop it with Ctrl-C; the same command resumes."""
    require_torch("training")
    from miai_go.tsumego.networks.net_training import TsumegoConfig, train_net

    result = train_by_config(
        train_net, TsumegoConfig, "tsumego train", config, out, settings, example=_EXAMPLE
    )
    print(f"held out: {result.measures.line()}\nweights: {result.weights}")


def evaluate(
    weights: Annotated[list[Path], typer.Argument(help="Weights files, one per fold.")],
    data: Annotated[
        Path, typer.Option("--data", metavar="SET", help="Folder of the position set.")
    ],
    views: Annotated[
        int, typer.Option("--views", min=1, max=8, help="Number of symmetries to average over.")
    ] = 1,
    positions: Annotated[
        int, typer.Option("--positions", min=0, help="Maximum positions per fold; 0 for all.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure networks on their held-out positions.

    The weights of all folds together cover the whole set.
    """
    require_torch("eval")
    from miai_go.tsumego.data.labelled_positions import LabelledPositions
    from miai_go.tsumego.networks.accuracy import LifeMeasures, majority_accuracy, measure_file
    from miai_go.tsumego.networks.net_files import NetHeader

    opened = LabelledPositions.open(data)
    for each in weights:
        _warn_of_another_set(each, opened, data)
    measured = [measure_file(w, opened, views=views, limit=positions or None) for w in weights]
    together = LifeMeasures.joined(measured)
    majority = majority_accuracy(opened, NetHeader.read(weights[0]))
    if as_json:
        print_json(_evaluation(together, measured, majority))
        return
    for path, measures in zip(weights, measured, strict=True):
        print(f"{path.name}: {measures.line()}")
    if len(weights) > 1:
        print(f"together: {together.line()}")
    print(f"calibration error {together.calibration_error():.4f}")
    print(f"more common answer per first mover: {majority:.1%}")
    for title, rows in (
        ("by first mover", together.by_side()),
        ("by empty points of the zone", together.by_size()),
        ("calibration", together.calibration()),
    ):
        print_table(title, rows)


def quantize(
    weights: Annotated[Path, typer.Argument(help="Trained weights file.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="File for the quantized weights (.safetensors)."
        ),
    ] = None,
    bits: Annotated[
        int, typer.Option("--bits", min=2, max=8, help="Bits per weight of --out.")
    ] = 5,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="SET", help="Position set to measure 8 to 2 bits on."),
    ] = None,
    positions: Annotated[
        int, typer.Option("--positions", min=0, help="Maximum held-out positions; 0 for all.")
    ] = 20_000,
    as_json: AsJson = False,
) -> None:
    """Quantize a network to a few bits per weight, and measure the loss of accuracy."""
    require_torch("quantize")
    from miai_go.tsumego.networks.accuracy import quantised_table
    from miai_go.tsumego.networks.net_files import BITS, load_net, quantize_net

    if out is None and data is None:
        raise WeightsError("nothing to do: give --out for a file, --data for the table, or both")
    summary: dict[str, Any] = {}
    if data is not None:
        from miai_go.tsumego.data.labelled_positions import LabelledPositions

        opened = LabelledPositions.open(data)
        _warn_of_another_set(weights, opened, data)
        table = quantised_table(weights, opened, bits=BITS, limit=positions or None)
        summary["table"] = table
        if not as_json:
            rows: list[MeasureRow] = [
                {"bits": r["bits"], "bytes": r["size"], **r["figures"]} for r in table
            ]
            print_table("bits per weight", rows)
    if out is not None:
        quantize_net(load_net(weights), bits, out)
        summary |= {"file": out.name, "bits": bits, "bytes": out.stat().st_size}
        if not as_json:
            print(f"{out}: {bits} bits per weight, {out.stat().st_size} bytes")
    if as_json:
        print_json(summary)


def ordering(
    plan: OrderingPlan,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File for the network.")],
    as_json: AsJson = False,
) -> None:
    """Train a network that predicts proof sizes, for `miai go solve --network`.

    Each round searches random zones, then searches positions from these searches alone, and trains
    the network on results and proof sizes. The network orders the searches of the next round. The
    final network trains on the last two rounds with a network.
    """
    from miai.progress import make_progress

    require_torch("training")
    import torch

    from miai.tensors import TrainingRecord
    from miai_go.tsumego.networks.ordering_training import joined, learn, sample

    torch.set_num_threads(1)
    network: OrderingNet | None = None
    parts: list[Samples] = []
    fits: list[OrderingFit] = []
    view = make_progress(
        "Train the ordering network", unit="positions", aside=not sys.stdout.isatty() or as_json
    )
    for number in range(1, plan.rounds + 1):
        view.begin(done=0, total=plan.positions)

        def show(done: int, number: int = number) -> None:
            view.reach(done, f"round {number}", every=_ORDERING_LINE_SECONDS)

        # Each round has zones of its own.
        drawn = plan.seed * 1_000 + number
        parts.append(sample(plan.positions, seed=drawn, network=network, progress=show))
        view.close()
        # The first round searched without a network: its positions are left out once there are
        # others.
        recent = joined(parts[1:][-2:] or parts)
        network, fit = learn(recent, seed=plan.seed, width=plan.width, steps=plan.steps)
        fits.append(fit)
        if not as_json:
            print(_fit_line(number, fit), flush=True)
    if network is None:
        return
    command = " ".join(f"--{name} {value}" for name, value in plan.model_dump().items())
    record = TrainingRecord(command=f"miai go tsumego ordering {command}", seed=plan.seed)
    network.write(out, history=(record,))
    if as_json:
        summary = {"file": out.name, "bytes": out.stat().st_size}
        print_json({**summary, "rounds": [asdict(fit) for fit in fits]})
    else:
        print(f"{out}: {out.stat().st_size} bytes")


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
    as_json: AsJson = False,
) -> None:
    """Predict each block's probability to live, for both first movers, and the deciding moves.

    Only blocks within a safe wall are evaluated; for the others a reason is given.
    """
    from miai.files import write_text, writing
    from miai_go.sgf.reading import board_of
    from miai_go.tsumego.networks.predictor import Predictor, rows_of, svg_of, text_of
    from miai_go.tsumego.shipped import NETWORK

    stones = board_of(file, moves=moves)
    fates = Predictor(weights or NETWORK).fates(stones)
    if svg is not None:
        with writing(f"--svg {svg}", ConfigError):
            svg.parent.mkdir(parents=True, exist_ok=True)
            write_text(svg, svg_of(stones, fates))
    if as_json:
        print_json([_fate(fate, len(stones)) for fate in fates])
        return
    for first in (0, 1):
        print(text_of(stones, fates, first=first), end="\n\n")
    print("\n".join(rows_of(len(stones), fates)))


def _problems(named: str) -> tuple[Problem, ...]:
    """Return the given problems to start from; none for random ones."""
    from miai_go.tsumego.problem_sgf import problems_of, shipped_problems

    if named == "random":
        return ()
    if named == "shipped":
        return shipped_problems()
    problems = []
    for problem in problems_of(Path(named)):
        if isinstance(problem, ProblemError):
            print(f"skipped: {problem}", file=sys.stderr)
        else:
            problems.append(problem)
    if not problems:
        raise DataError(f"{named}: contains no problem; give random, shipped, or SGF files")
    return tuple(problems)


def _named(named: str, problems: tuple[Problem, ...]) -> str:
    """Return a name with a digest of the problems."""
    if not problems:
        return named
    total = hashlib.sha256()
    for problem in problems:
        total.update(f"{problem.size} {problem.target} ".encode() + problem.stones.tobytes())
    return f"{Path(named).name} {total.hexdigest()[:16]}"


def _warn_of_another_set(weights: Path, positions: LabelledPositions, data: Path) -> None:
    """Warn if a network was trained on another set than it is measured on."""
    from miai_go.tsumego.networks.net_files import NetHeader

    header = NetHeader.read(weights)
    if header.held_out is not None and header.data != positions.digest:
        print(
            f"{weights}: trained on the set {header.data}, but {data} is {positions.digest}; "
            "held-out positions may have been training positions",
            file=sys.stderr,
        )


def _evaluation(
    together: LifeMeasures, measured: Sequence[LifeMeasures], majority: float
) -> dict[str, Any]:
    return {
        **together.figures(),
        "calibration_error": together.calibration_error(),
        "folds": [measures.figures() for measures in measured],
        "baseline_majority": majority,
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


def _fit_line(number: int, fit: OrderingFit) -> str:
    return (
        f"round {number}: trained on {fit.samples} positions; accuracy {fit.right:.1%} on "
        f"{fit.held_out} held-out positions (more common answer {fit.commoner:.1%}); explained "
        f"variance of proof sizes {fit.proof:.0%}, of disproof sizes {fit.disproof:.0%}"
    )

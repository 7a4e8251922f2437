"""``miai go weights`` and ``miai go export``: what weights files contain, and networks as ONNX."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import typer

from miai.cli.options import AsJson, Options, add_command, print_json
from miai.errors import MissingExtraError, WeightsError
from miai.files import sync_folder, writing
from miai_go.errors import require_torch

if TYPE_CHECKING:
    from miai.tensors import FileHeader
    from miai_go.nets.network_parameters import ExportParameters
    from miai_go.nets.oracle import Answers

_ONNX: Final = ".onnx"

TOLERANCES: Final = {"fp32": 1e-4, "int8": 0.25}
"""Maximum difference of a probability, a value or an owner."""


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    commands = typer.Typer(help="Weights of networks.", no_args_is_help=True)
    commands.command("list")(list_weights)
    commands.command("show")(show)
    commands.command("checksum")(checksum)
    group.add_typer(commands, name="weights")
    parameters = Options("miai_go.nets.network_parameters:ExportParameters")
    add_command(group, "export", export, parameters=parameters)


def list_weights(as_json: AsJson = False) -> None:
    """List the weights that come with the distribution."""
    from miai_go.shipped import PURPOSES, shipped_names

    files = {name: _file(name) for name in shipped_names()}
    cards = {name: read_card(path) for name, path in files.items()}
    if as_json:
        rows = [
            {
                "name": name,
                "purpose": PURPOSES.get(name, ""),
                "bytes": files[name].stat().st_size,
                **card.header.model_dump(mode="json"),
            }
            for name, card in cards.items()
        ]
        print_json(rows)
        return
    if not cards:
        print("no weights are shipped; make some with: miai go train")
    for name, card in cards.items():
        megabytes = f"{files[name].stat().st_size / 1e6:.2f} MB"
        print("; ".join(filter(None, (f"{name}: {card.summary}", megabytes, PURPOSES.get(name)))))


def show(
    file: Annotated[str, typer.Argument(help="Weights file, .onnx included, or a shipped name.")],
    as_json: AsJson = False,
) -> None:
    """Show the network of a weights file, its input and answers, and its training."""
    path = _file(file)
    card, size = read_card(path), path.stat().st_size
    if as_json:
        row = {"file": path.name, "bytes": size, "parameters": card.parameters}
        print_json({**row, **card.header.model_dump(mode="json")})
        return
    print(f"{path.name}: {size} bytes")
    for name, text in card.rows.items():
        if text:
            print(f"{name:9}{text}")
    for number, step in enumerate(card.header.history, 1):
        print(f"step {number}   {step.command}")
        trained = f"{step.steps} steps, seed {step.seed}" if step.steps else ""
        config = f"config {step.config}" if step.config else ""
        print(f"         {'; '.join(filter(None, (trained, config, step.date, step.data)))}")


def checksum(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Weights files or shipped names; default: all that are shipped."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check shipped files as a whole, and others against the digests in their headers.

    The SHA-256 that is printed is that of the whole file, as `sha256sum` prints it. An .onnx file
    has no digest in its header: unless it is shipped, it is only read.
    """
    from miai_go.learning.data.shard_files import digest_of
    from miai_go.shipped import FOLDER, shipped_sums

    sums = shipped_sums()
    rows = []
    for path in map(_file, files) if files is not None else [FOLDER / name for name in sums]:
        shipped = path.resolve().parent == FOLDER.resolve()
        if not shipped:
            read_card(path)  # raises if the digest is another
        digest = digest_of(path) if path.is_file() else ""
        if shipped and digest != sums.get(path.name):
            raise WeightsError(f"{path}: is not the file that was shipped; install miai-go again")
        rows.append({"file": path.name, "sha256": digest})
    if as_json:
        print_json(rows)
        return
    for row in rows:
        print(f"{row['sha256']}  {row['file']}")


def export(
    file: Annotated[str, typer.Argument(help="Weights file or a shipped name.")],
    onnx: Annotated[Path, typer.Option("--onnx", help="File to write.")],
    parameters: ExportParameters,
    as_json: AsJson = False,
) -> None:
    """Write a network as ONNX, provided that its answers are close to the network's own.

    Probabilities, values and ownership may differ by at most 0.0001 for fp32 and 0.25 for int8, a
    score by that times the number of points on the board.
    """
    path = _file(file)
    if onnx.suffix != _ONNX:
        raise WeightsError(f"--onnx {onnx}: name a file that ends in {_ONNX}")
    if path.suffix == _ONNX:
        raise WeightsError(f"{path}: is ONNX already; export from its .safetensors file")
    try:
        comparison = export_checked(path, onnx, parameters)
    except MissingExtraError as error:
        raise MissingExtraError(f"miai go export: {error}") from error
    if as_json:
        print_json({"file": onnx.name, **asdict(comparison)})
        return
    figures = ", ".join(f"{name} {gap:.2g}" for name, gap in comparison.differences.items())
    print(
        f"{onnx}: {onnx.stat().st_size} bytes; greatest differences on {comparison.positions} "
        f"positions: {figures} (tolerance {comparison.tolerance:g})"
    )


def _file(name: str) -> Path:
    from miai_go.shipped import find_weights

    return find_weights(name)


# The content of a file


class WeightsCard(NamedTuple):
    """A description of a weights file.

    Attributes:
      summary: a few words: network, board, answers.
      rows: names and texts; an empty text is not shown.
      header: the header of the file.
      parameters: how many numbers it holds; None if unknown.
    """

    summary: str
    rows: Mapping[str, str]
    header: FileHeader
    parameters: int | None


def read_card(path: Path) -> WeightsCard:
    """Return the description of a file, whose digest is checked.

    Raises:
      WeightsError: it is not a weights file, or is damaged.
      MissingExtraError: it is ONNX, and ONNX Runtime is not installed.
    """
    from miai.tensors import read_metadata
    from miai_go.nets.inference import load_oracle, network_header
    from miai_go.nets.network import WeightsHeader
    from miai_go.nets.patterns import PatternHeader, PatternPolicy
    from miai_go.rules.sizes import board_names

    header: PatternHeader | WeightsHeader
    if path.suffix != _ONNX and PatternHeader.KEY in read_metadata(path):
        policy = PatternPolicy.load(path)
        header, count = policy.header, policy.weights.size
        boards = board_names(range(header.sizes[0], header.sizes[1] + 1))
        rows = {"features": ", ".join(header.features), "board": boards, "answers": "policy"}
        summary = f"patterns for {boards}, policy of rollouts"
    else:
        count = None
        if path.suffix == _ONNX:
            header = load_oracle(path, size=network_header(path).sizes[0]).header
        else:
            header, tensors = WeightsHeader.read_all(path)
            count = sum(array.size for array in tensors.values())
        board, answers, (low, high) = board_names(header.sizes), header.outputs, header.komi
        rows = {
            "network": f"{header.network} {_listed(header.network_parameters)}",
            "encoder": f"{header.encoder} {_listed(header.encoder_parameters)}"
            f"({header.planes} planes)",
            "board": f"{board}, komi {low:g} to {high:g}",
            "answers": ", ".join(answers),
        }
        summary = f"{header.network} for {board}, {rows['answers']}"
    rows["weights"] = "" if count is None else f"{count} numbers"
    rows |= {"licence": header.licence or "unknown", "digest": header.sha256}
    return WeightsCard(summary, rows, header, count)


def _listed(values: Mapping[str, Any]) -> str:
    return "".join(f"{name}={value} " for name, value in values.items())


# Export


@dataclass(frozen=True, slots=True)
class ExportComparison:
    """Differences between an exported network's answers and the network's own.

    Attributes:
      precision: fp32 or int8.
      positions: number of positions, from games of the network against itself on each size of
        board that it was trained for.
      tolerance: the maximum allowed.
      differences: the greatest, by answer; of the policy in probability, of the score in points.
    """

    precision: str
    positions: int
    tolerance: float
    differences: dict[str, float]


def export_checked(source: Path, target: Path, parameters: ExportParameters) -> ExportComparison:
    """Write a weights file's network as ONNX, and compare its answers with torch's.

    Raises:
      MissingExtraError: torch, onnx, onnxscript or ONNX Runtime is not installed.
      WeightsError: the weights cannot be read or the file not written, or the answers differ by
        more than the tolerance; `target` is then unchanged.
    """
    require_torch("exporting")
    from miai_go.nets.inference import load_oracle
    from miai_go.nets.network import load_weights
    from miai_go.nets.onnx_export import export_onnx, own_games

    weights, precision, seed = load_weights(source), parameters.precision, parameters.seed
    with writing(target, WeightsError):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            # Written beside the target and moved there only if the answers are close enough.
            draft = Path(folder) / target.name
            export_onnx(weights, draft, precision=precision, seed=seed)
            count, greatest = 0, dict[str, float]()
            sizes = weights.header.sizes
            for size in sizes:
                own = load_oracle(source, size=size, precision="fp32")
                exported = load_oracle(draft, size=size)
                # Another seed than that of the positions on which int8 is calibrated.
                share = -(-parameters.positions // len(sizes))
                planes = own_games(weights, own.encoder, share, seed=seed + 1)
                differences = _differences(own.infer(planes), exported.infer(planes))
                _check(differences, precision, source, size=size)
                count += len(planes)
                for name, difference in differences.items():
                    greatest[name] = max(difference, greatest.get(name, 0.0))
            draft.replace(target)
            sync_folder(target.parent)
    return ExportComparison(precision, count, TOLERANCES[precision], greatest)


def _check(
    differences: Mapping[str, float], precision: Literal["fp32", "int8"], source: Path, *, size: int
) -> None:
    for name, difference in differences.items():
        allowed = TOLERANCES[precision] * (size**2 if name == "score" else 1)
        if not difference <= allowed:
            raise WeightsError(
                f"{source}: as ONNX in {precision} its {name} on {size}x{size} differs by "
                f"{difference:.3g}, more than {allowed:g}, so nothing is written; "
                + ("use fp32" if precision == "int8" else "report it to its authors")
            )


def _differences(one: Answers, other: Answers) -> dict[str, float]:
    import numpy as np

    def comparable(answers: Answers) -> dict[str, Any]:
        arrays: dict[str, Any] = dict(answers.arrays())
        if answers.policy is not None:
            logits = answers.policy.astype(np.float64)
            powers = np.exp(logits - logits.max(1, keepdims=True))
            arrays["policy"] = powers / powers.sum(1, keepdims=True)
        return arrays

    first, second = comparable(one), comparable(other)
    return {n: float(np.abs(first[n] - second[n]).max()) for n in first if n in second}

"""``miai go weights`` and ``miai go export``: what weights files hold, and networks as ONNX."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from miai_go.errors import WeightsError

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_ONNX: Final = ".onnx"


class Precision(StrEnum):
    """Precision of an exported network."""

    FP32 = "fp32"
    INT8 = "int8"


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    commands = typer.Typer(help="Weights of networks.", no_args_is_help=True)
    commands.command("list")(list_weights)
    commands.command("show")(show)
    commands.command("checksum")(checksum)
    group.add_typer(commands, name="weights")
    group.command("export")(export)


def list_weights(as_json: _Json = False) -> None:
    """List the weights that come with the distribution."""
    from miai_go.commands.exporting import read_card
    from miai_go.shipped import find_weights, shipped_names

    files = {name: find_weights(name, default=name) for name in shipped_names()}
    cards = {name: read_card(path) for name, path in files.items()}
    if as_json:
        rows = [
            {"name": name, "bytes": files[name].stat().st_size, **card.data}
            for name, card in cards.items()
        ]
        print(json.dumps(rows, indent=2))
        return
    if not cards:
        print("no weights are shipped; make some with: miai go train")
    for name, card in cards.items():
        print(f"{name}: {card.summary}; {files[name].stat().st_size / 1e6:.2f} MB")


def show(
    file: Annotated[str, typer.Argument(help="A weights file, .onnx too, or a shipped name.")],
    as_json: _Json = False,
) -> None:
    """Show what weights are, what they take and answer, and what made them."""
    from miai_go.commands.exporting import read_card

    path = _file(file)
    card, size = read_card(path), path.stat().st_size
    if as_json:
        row = {"file": path.name, "bytes": size, "parameters": card.parameters}
        print(json.dumps({**row, **card.data}, indent=2))
        return
    print(f"{path.name}: {size} bytes")
    for name, text in card.rows.items():
        if text:
            print(f"{name:9}{text}")
    for number, made in enumerate(card.history, 1):
        print(f"made {number}   {made.command}")
        print(
            f"         {made.steps} steps, seed {made.seed}, config {made.config or 'not told'}, "
            f"{made.date or 'no date'}" + (f"; from {made.data}" if made.data else "")
        )


def checksum(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Weights files or shipped names; by default all that are shipped."),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Compare what weights files hold with the digests in their headers.

    The SHA-256 that is printed is of the whole file, as `sha256sum` prints it.
    """
    from miai_go.commands.exporting import read_card
    from miai_go.learning.shard_files import digest_of
    from miai_go.shipped import shipped_names

    rows = []
    for name in files if files is not None else shipped_names():
        path = _file(name)
        read_card(path)  # raises where the digest is another
        rows.append({"file": path.name, "sha256": digest_of(path)})
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    if not rows:
        print("no weights are shipped; name a file")
    for row in rows:
        print(f"{row['sha256']}  {row['file']}")


def export(
    file: Annotated[str, typer.Argument(help="A weights file or a shipped name.")],
    onnx: Annotated[Path, typer.Option("--onnx", help="File to write.")],
    precision: Annotated[Precision, typer.Option("--precision")] = Precision.FP32,
    positions: Annotated[
        int,
        typer.Option("--positions", min=32, max=65536, help="Positions to compare."),
    ] = 256,
    seed: Annotated[int, typer.Option("--seed", help="Seed of their games.")] = 0,
    as_json: _Json = False,
) -> None:
    """Write a network as ONNX, if its answers are close to the network's own.

    Probabilities, values and ownership may differ by at most 0.0001 for fp32 and 0.25 for int8, a
    score by that many times the number of points on the board.
    """
    from miai_go.commands.exporting import export_checked
    from miai_go.errors import MissingExtraError

    path = _file(file)
    if onnx.suffix != _ONNX:
        raise WeightsError(f"--onnx {onnx}: name a file that ends in {_ONNX}")
    if path.suffix == _ONNX:
        raise WeightsError(f"{path}: is ONNX already; export from its .safetensors file")
    try:
        checked = export_checked(path, onnx, precision.value, positions=positions, seed=seed)
    except MissingExtraError as error:
        raise MissingExtraError(f"miai go export: {error}") from error
    if as_json:
        print(json.dumps({"file": onnx.name, **checked.as_dict()}, indent=2))
        return
    told = ", ".join(f"{name} {figure:.2g}" for name, figure in checked.differences.items())
    print(
        f"{onnx}: {onnx.stat().st_size} bytes; greatest differences on {checked.positions} "
        f"positions: {told} (tolerance {checked.tolerance:g})"
    )


def _file(name: str) -> Path:
    from miai_go.shipped import find_weights

    return find_weights(name, default=name)

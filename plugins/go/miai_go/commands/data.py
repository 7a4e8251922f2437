"""``miai go data``: download, import and inspect recorded games."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from miai.cli.options import AsJson, Options, add_command, print_json

if TYPE_CHECKING:
    from miai_go.learning.data.annotating import AnnotationSettings
    from miai_go.learning.data.dataset import GoDataset
    from miai_go.learning.data.importing import GameFilters, ImportReport
    from miai_go.learning.selfplay.tree_games import SelfPlayOrder, SelfPlaySettings
    from miai_go.nets.network_parameters import NetworkWorkers
    from miai_go.nets.oracle import NetworkOracle


_MAX_BAD: Final = 20
"""Bad files listed as text; --json lists more."""
_GamesAShard = Annotated[int, typer.Option("--games-a-shard", min=1, help="Games per shard.")]


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    commands = typer.Typer(
        help="Import, make, annotate and inspect games to learn from.", no_args_is_help=True
    )
    commands.command("list")(list_datasets)
    commands.command("download")(download)
    filters = Options("miai_go.learning.data.importing:GameFilters")
    add_command(commands, "import", import_sources, filters=filters)
    network = Options("miai_go.nets.network_parameters:NetworkWorkers")
    settings = Options("miai_go.learning.data.annotating:AnnotationSettings")
    add_command(commands, "annotate", annotate_games, network=network, settings=settings)
    self_play = "miai_go.learning.selfplay.tree_games"
    order, settings = (Options(f"{self_play}:{n}") for n in ("SelfPlayOrder", "SelfPlaySettings"))
    add_command(commands, "play", play_games, order=order, settings=settings)
    commands.command("stats")(show_statistics)
    group.add_typer(commands, name="data")


def list_datasets(as_json: AsJson = False) -> None:
    """List public collections of games."""
    from dataclasses import asdict

    from miai_go.learning.data.collections import COLLECTIONS

    datasets = list(COLLECTIONS.values())
    if as_json:
        print_json([asdict(dataset) for dataset in datasets])
        return
    for dataset in datasets:
        sizes = ", ".join(f"{size}x{size}" for size in dataset.sizes)
        print(f"{dataset.name}: {dataset.summary}")
        print(f"    {dataset.page}  ({sizes}; licence: {dataset.licence})")
        print(f"    {dataset.instructions}")


def download(
    name: Annotated[
        str, typer.Argument(help="Name of a public collection; see miai go data list.")
    ],
    sha256: Annotated[
        str, typer.Option("--sha256", help="Expected SHA-256 of the archive, in hexadecimal.")
    ] = "",
    trust_first: Annotated[
        bool,
        typer.Option(
            "--trust-first", help="Accept an unknown SHA-256 and note it for later downloads."
        ),
    ] = False,
) -> None:
    """Download an archive of a public collection over https and check its SHA-256."""
    from miai.progress import show_activity
    from miai_go.errors import DataError
    from miai_go.learning.data.collections import fetch, public_collection

    dataset = public_collection(name)
    if not dataset.url:
        raise DataError(f"{name} has no single archive at an https address: {dataset.instructions}")
    path = Path(dataset.url.rpartition("/")[2])
    with show_activity(f"download {name}") as show:
        digest = fetch(
            dataset.url,
            path,
            sha256=sha256,
            trust_first=trust_first,
            progress=lambda count: show(f"{count / 1e6:.1f} MB"),
        )
    print(f"{path}: SHA-256 {digest}; next: miai go data import {path} --out DIR")


def import_sources(
    sources: Annotated[
        list[Path],
        typer.Argument(help="SGF files, game records (.jsonl), folders, .tar, .tar.gz, .zip ..."),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the shard set; an existing set is extended.")
    ],
    filters: GameFilters,
    games_a_shard: _GamesAShard = 20_000,
    as_json: AsJson = False,
) -> None:
    """Import games from SGF, or records of tournaments, into a set of memory-mapped shards.

    Bad files are counted, listed and skipped. Games that the set already has are skipped, so
    repeating an interrupted import resumes it.
    """
    began = time.perf_counter()
    report, written = _import(sources, out, filters, games_a_shard)
    seconds = time.perf_counter() - began
    if as_json:
        row = {**report.as_dict(), "written": written, "seconds": round(seconds, 3)}
        print_json(row)
    else:
        _print_report(report, out, written, seconds)


def annotate_games(
    source: Annotated[Path, typer.Argument(help="Shard set, or SGF files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the annotated shard set.")],
    network: NetworkWorkers,
    settings: AnnotationSettings,
) -> None:
    """Add values of a search, and the owners of points at the end, to recorded games.

    Each search begins without a tree. Owners are added where both players passed and the area
    agrees with the recorded margin. Repeat an interrupted command to resume it. Train on the result
    with data.root_share.
    """
    from miai.progress import show_activity
    from miai_go.learning.data.annotating import AnnotationPlan, annotate
    from miai_go.search.forest import NetworkValuer
    from miai_go.shipped import find_weights

    path = find_weights(network.weights)
    data = _games_for(source, path)
    oracles = _oracles(path, [data.size], network)
    first = oracles[0][data.size]
    plan = AnnotationPlan(
        **settings.model_dump(),
        games=data.digest(),
        weights=first.header.sha256,
        precision=first.precision,
    )
    began = time.perf_counter()
    with show_activity("annotate") as show:
        games = annotate(
            data,
            plan,
            [NetworkValuer(own[data.size], own[data.size]) for own in oracles],
            out,
            progress=lambda count: show(f"{count} of {len(data)} games"),
        )
    print(f"{games:8}  annotated in {time.perf_counter() - began:.0f} s; {out} has {len(data)}")


def play_games(
    out: Annotated[Path, typer.Option("--out", help="Folder of the shard set.")],
    order: SelfPlayOrder,
    settings: SelfPlaySettings,
) -> None:
    """Play games of a network with itself by tree search, many in step, to train on.

    Few moves get a full search, whose visits and value are kept as targets; the others get a fast
    one. Repeat an interrupted command to resume it; more --games extend the set.
    """
    from miai.progress import show_activity
    from miai_go.learning.selfplay.tree_games import SelfPlayPlan, check_komi, play_set
    from miai_go.nets.inference import network_header
    from miai_go.rules.sizes import parse_sizes, plain_sizes
    from miai_go.search.forest import NetworkValuer
    from miai_go.shipped import find_weights

    path = find_weights(order.weights)
    sizes = parse_sizes(order.sizes) if order.sizes else network_header(path).sizes
    oracles = _oracles(path, sizes, order)
    first = oracles[0][sizes[0]]
    check_komi(settings, first, weights=order.weights)
    plan = SelfPlayPlan(
        **settings.model_dump(),
        weights=first.header.sha256,
        precision=first.precision,
        size=plain_sizes(sizes),
    )
    began = time.perf_counter()
    with show_activity("play") as show:
        played = play_set(
            plan,
            order.games,
            [{size: NetworkValuer(o, o) for size, o in own.items()} for own in oracles],
            out,
            progress=lambda count: show(f"{min(count, order.games)} of {order.games} games"),
        )
    print(f"{played:8}  games played in {time.perf_counter() - began:.0f} s; {out}")


def _oracles(
    path: Path, sizes: Sequence[int], network: NetworkWorkers
) -> list[dict[int, NetworkOracle]]:
    """Return the network of a weights file for each size, loaded once for each worker."""
    from miai.process.processors import available_processors
    from miai_go.nets.inference import load_oracle

    return [
        {size: load_oracle(path, size=size, precision=network.precision) for size in sizes}
        for _ in range(network.workers or available_processors())
    ]


def _games_for(source: Path, weights: Path) -> GoDataset:
    """Return games of one size for a network. Raises `WeightsError` if it is for other sizes."""
    from miai_go.learning.data.dataset import GoDataset
    from miai_go.learning.data.importing import GameFilters
    from miai_go.nets.inference import network_header

    header = network_header(weights)
    filters = GameFilters(size=header.size, setups=True, duplicates=True)
    data = GoDataset(source, filters=filters)
    header.board_size(data.size, where=weights)
    if omissions := data.left_out():
        print(omissions, file=sys.stderr)
    return data


def show_statistics(
    source: Annotated[Path, typer.Argument(help="Shard set, or SGF files (imported into memory).")],
    size: Annotated[int, typer.Option("--size", help="Board size of SGF games.")] = 9,
    as_json: AsJson = False,
) -> None:
    """Show the number of games, their lengths, komi and results.

    Several sizes of board are shown separately; --json then prints a list.
    """
    from miai_go.learning.data.dataset import GoDataset, statistics
    from miai_go.learning.data.importing import GameFilters

    filters = GameFilters(size=size, any_result=True, duplicates=True, setups=True)
    data = GoDataset(source, filters=filters)
    if omissions := data.left_out():
        print(omissions, file=sys.stderr)
    rows = [statistics(data.of_size(size)) for size in data.sizes]
    if as_json:
        print_json(rows if len(rows) > 1 else rows[0])
        return
    for row in rows:
        _print_statistics(row)


def _print_statistics(row: dict[str, Any]) -> None:
    print(f"{row['games']} games of {row['size']}x{row['size']}, {row['moves']} moves")
    for name in ("length", "rating", "results", "komi"):
        if row[name]:
            print(f"{name:9}" + ", ".join(f"{key} {value:g}" for key, value in row[name].items()))
    if row["columns"]:
        print(f"beside moves and results: {', '.join(row['columns'])}")


def _import(
    sources: list[Path], out: Path, filters: GameFilters, games_a_shard: int
) -> tuple[ImportReport, int]:
    from miai.progress import show_activity
    from miai_go.learning.data.importing import ImportReport, import_games
    from miai_go.learning.data.shards import Shard, ShardWriter, shard_folders
    from miai_go.rules.sizes import only_size, sizes_of

    report = ImportReport()
    writing = ShardWriter(
        out,
        size=only_size(sizes_of(filters.size), what="an import"),
        sources=tuple(source.name for source in sources),
        settings=filters.model_dump(mode="json"),
        games_a_shard=games_a_shard,
    )
    with writing as writer, show_activity("import") as show:
        # Names of the games that are there: an import that was interrupted goes on without doubles.
        known = [
            row.tobytes()
            for folder in shard_folders(out)
            for row in Shard.open(folder).columns["names"]
        ]

        def count(report: ImportReport) -> None:
            show(f"{report.games} games, {report.taken} accepted, {report.bad} bad")

        for game in import_games(sources, filters, report, known=known, progress=count):
            writer.add(game)
    return report, writer.written


def _print_report(report: ImportReport, out: Path, written: int, seconds: float) -> None:
    rate = report.games / seconds if seconds else 0.0
    print(f"{report.games} games in {report.files} files, {rate:.0f} games/s")
    for reason, count in report.dropped.most_common():
        print(f"{count:8}  dropped: {reason}")
    if report.bad:
        print(f"{report.bad:8}  bad:")
    for source, cause in report.failures[:_MAX_BAD]:
        print(f"          {source}: {cause}")
    if report.bad > _MAX_BAD:
        print(
            f"          and {report.bad - _MAX_BAD} more; --json lists up to {len(report.failures)}"
        )
    print(f"{written:8}  written to {out}")

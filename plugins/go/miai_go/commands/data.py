"""``miai go data``: download, import and inspect recorded games."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from miai_go.learning.data.dataset import GoDataset
    from miai_go.learning.data.importing import GameFilters, ImportReport
    from miai_go.nets.inference import Ensemble
    from miai_go.nets.oracle import NetworkOracle


_MAX_BAD: Final = 20
"""Bad files listed as text; --json lists more."""
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Weights = Annotated[
    str, typer.Option("--weights", help="Network: a weights file, or the name of shipped ones.")
]
_PrecisionName = Literal["auto", "fp32", "bf16", "int8"]
_Precision = Annotated[
    _PrecisionName,
    typer.Option("--precision", help="Precision of the network; auto: the fastest here."),
]
_GamesAShard = Annotated[int, typer.Option("--games-a-shard", min=1, help="Games per shard.")]
_Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=256, help="Threads (default: one per processor)."),
]


def add_commands(group: typer.Typer) -> None:
    """Add the commands to a group."""
    commands = typer.Typer(
        help="Import, make, annotate and inspect games to learn from.", no_args_is_help=True
    )
    commands.command("list")(list_datasets)
    commands.command("download")(download)
    commands.command("import")(import_sources)
    commands.command("annotate")(annotate_games)
    commands.command("play")(play_games)
    commands.command("stats")(show_statistics)
    group.add_typer(commands, name="data")


def list_datasets(as_json: _Json = False) -> None:
    """List public collections of games."""
    from dataclasses import asdict

    from miai_go.learning.data.collections import COLLECTIONS

    datasets = list(COLLECTIONS.values())
    if as_json:
        print(json.dumps([asdict(dataset) for dataset in datasets], indent=2))
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
    to: Annotated[
        Path | None, typer.Option("--to", help="File to write (default: last part of the address).")
    ] = None,
    url: Annotated[
        str,
        typer.Option(
            "--url", help="https address of the archive (default: that of miai go data list)."
        ),
    ] = "",
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
    address = url or dataset.url
    if not address:
        raise DataError(f"{name} has no single archive at an https address: {dataset.instructions}")
    path = to or Path(address.rpartition("/")[2] or name)
    known = sha256 or ("" if url else dataset.sha256)
    with show_activity(f"download {name}") as show:
        digest = fetch(
            address,
            path,
            sha256=known,
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
    size: Annotated[int, typer.Option("--size", help="Board size.")] = 9,
    komi_min: Annotated[float | None, typer.Option("--komi-min", help="Minimum komi.")] = None,
    komi_max: Annotated[float | None, typer.Option("--komi-max", help="Maximum komi.")] = None,
    default_komi: Annotated[
        float | None,
        typer.Option("--default-komi", help="Komi of games that state none (default: drop them)."),
    ] = None,
    min_moves: Annotated[
        int | None, typer.Option("--min-moves", help="Minimum number of moves.")
    ] = None,
    max_moves: Annotated[
        int | None, typer.Option("--max-moves", help="Maximum number of moves.")
    ] = None,
    min_rank: Annotated[
        str | None, typer.Option("--min-rank", help="Minimum rank of both players: 5k, 1d, 1p.")
    ] = None,
    min_rating: Annotated[
        float | None, typer.Option("--min-rating", help="Minimum rating of both players.")
    ] = None,
    rules: Annotated[
        list[str] | None, typer.Option("--rules", help="Accept only this rule set (repeatable).")
    ] = None,
    any_result: Annotated[
        bool, typer.Option("--any-result", help="Include games without a result.")
    ] = False,
    setups: Annotated[
        bool, typer.Option("--setups", help="Include handicap and set-up games.")
    ] = False,
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Include duplicates.")] = False,
    games_a_shard: Annotated[
        int, typer.Option("--games-a-shard", min=1, help="Games per shard.")
    ] = 20_000,
    as_json: _Json = False,
) -> None:
    """Import games from SGF, or records of tournaments, into a set of memory-mapped shards.

    Bad files are counted, listed and skipped. Games that the set already has are skipped, so
    repeating an interrupted import resumes it.
    """
    from miai.parameters import build_options
    from miai_go.learning.data.importing import GameFilters

    given = {
        "size": size,
        "komi_min": komi_min,
        "komi_max": komi_max,
        "default_komi": default_komi,
        "min_moves": min_moves,
        "max_moves": max_moves,
        "min_rank": min_rank,
        "min_rating": min_rating,
        "rules": tuple(rules or ()),
        "known_results": not any_result,
        "setups": setups,
        "duplicates": duplicates,
    }
    values = {name: value for name, value in given.items() if value is not None}
    filters = build_options(GameFilters, values)
    began = time.perf_counter()
    report, written = _import(sources, out, filters, size, games_a_shard)
    seconds = time.perf_counter() - began
    if as_json:
        row = {**report.as_dict(), "written": written, "seconds": round(seconds, 3)}
        print(json.dumps(row, indent=2))
    else:
        _print_report(report, out, written, seconds)


def annotate_games(
    source: Annotated[Path, typer.Argument(help="Shard set, or SGF files.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the annotated shard set.")],
    weights: _Weights = "policy-9x9",
    simulations: Annotated[
        int, typer.Option("--simulations", min=1, help="Simulations of each search.")
    ] = 48,
    every: Annotated[
        int,
        typer.Option(
            "--every",
            min=1,
            help="Interval of searched positions; values between are interpolated.",
        ),
    ] = 2,
    mix: Annotated[
        float,
        typer.Option("--mix", min=0.0, max=1.0, help="Share of the rollout in a leaf's value."),
    ] = 0.2,
    precision: _Precision = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the rollouts.")] = 0,
    games_a_shard: _GamesAShard = 200,
    workers: _Workers = None,
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

    path = find_weights(weights)
    data = _games_for(source, path)
    oracles = _oracles(path, [data.size], precision, workers)
    network = oracles[0][data.size]
    plan = AnnotationPlan(
        games=data.digest(),
        weights=network.header.sha256,
        precision=network.precision,
        simulations=simulations,
        every=every,
        mix=mix,
        seed=seed,
        games_a_shard=games_a_shard,
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
    weights: _Weights = "policy-9x9",
    games: Annotated[
        int,
        typer.Option(
            "--games",
            min=1,
            max=10_000_000,
            help="Total number of games, rounded up to whole shards.",
        ),
    ] = 1024,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            help="Sizes of board, drawn for each game: 9, 7-13 or 9,13 (default: those of the "
            "network).",
        ),
    ] = None,
    max_moves: Annotated[
        int,
        typer.Option(
            "--max-moves",
            min=0,
            help="Move limit, then the game is scored by area. 0: one and a half times the number "
            "of points.",
        ),
    ] = 0,
    komi: Annotated[float, typer.Option("--komi", help="Komi.")] = 7.0,
    komi_spread: Annotated[
        float,
        typer.Option(
            "--komi-spread",
            min=0.0,
            help="Komi of each game is drawn evenly from --komi plus or minus this.",
        ),
    ] = 0.0,
    simulations: Annotated[
        int, typer.Option("--simulations", min=1, help="Simulations of a full search.")
    ] = 48,
    fast_simulations: Annotated[
        int, typer.Option("--fast-simulations", min=1, help="Simulations of a fast search.")
    ] = 4,
    full_share: Annotated[
        float, typer.Option("--full-share", min=0.01, max=1.0, help="Share of full searches.")
    ] = 0.12,
    precision: _Precision = "auto",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the games.")] = 0,
    games_a_shard: _GamesAShard = 512,
    workers: _Workers = None,
) -> None:
    """Play games of a network with itself by tree search, many in step, to train on.

    Few moves get a full search, whose visits and value are kept as targets; the others get a fast
    one. Repeat an interrupted command to resume it; more --games extend the set.
    """
    from miai.errors import ConfigError
    from miai.parameters import build_options
    from miai.progress import show_activity
    from miai_go.learning.selfplay.tree_games import SelfPlayPlan, play_set
    from miai_go.nets.inference import network_header
    from miai_go.nets.oracle import follows_komi
    from miai_go.rules.sizes import parse_sizes
    from miai_go.search.forest import NetworkValuer
    from miai_go.shipped import find_weights

    path = find_weights(weights)
    chosen = network_header(path).sizes if sizes is None else parse_sizes(sizes)
    oracles = _oracles(path, chosen, precision, workers)
    network = oracles[0][chosen[0]]
    if komi_spread and not follows_komi(network):
        raise ConfigError(
            f"--komi-spread {komi_spread:g}: {weights} neither sees komi nor expects owners, so "
            "its values cannot follow komi; leave the spread out, or choose other weights"
        )
    plan = build_options(
        SelfPlayPlan,
        {
            "weights": network.header.sha256,
            "precision": network.precision,
            "size": chosen,
            "max_moves": max_moves,
            "komi": komi,
            "komi_spread": komi_spread,
            "simulations": simulations,
            "fast_simulations": fast_simulations,
            "full_share": full_share,
            "seed": seed,
            "games_a_shard": games_a_shard,
        },
    )
    began = time.perf_counter()
    with show_activity("play") as show:
        played = play_set(
            plan,
            games,
            [{size: NetworkValuer(o, o) for size, o in own.items()} for own in oracles],
            out,
            progress=lambda count: show(f"{min(count, games)} of {games} games"),
        )
    print(f"{played:8}  games played in {time.perf_counter() - began:.0f} s; {out}")


def _oracles(
    path: Path, sizes: Sequence[int], precision: _PrecisionName, workers: int | None
) -> list[dict[int, NetworkOracle | Ensemble]]:
    """Return the network of a weights file for each size, loaded once for each worker."""
    from miai.process.processors import available_processors
    from miai_go.nets.inference import load_oracle

    return [
        {size: load_oracle(path, size=size, precision=precision) for size in sizes}
        for _ in range(workers or available_processors())
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
    plies: Annotated[
        int, typer.Option("--plies", min=1, help="Length of the listed openings in plies.")
    ] = 3,
    as_json: _Json = False,
) -> None:
    """Show the number of games, their lengths, komi, results and openings.

    Several sizes of board are shown separately; --json then prints a list.
    """
    from miai_go.learning.data.dataset import GoDataset, statistics
    from miai_go.learning.data.importing import GameFilters

    filters = GameFilters(size=size, known_results=False, duplicates=True, setups=True)
    data = GoDataset(source, filters=filters)
    if omissions := data.left_out():
        print(omissions, file=sys.stderr)
    rows = [statistics(data.of_size(size), plies=plies) for size in data.sizes]
    if as_json:
        print(json.dumps(rows if len(rows) > 1 else rows[0], indent=2))
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
    for opening in row["openings"]:
        print(f"{opening['games']:8}  {' '.join(opening['moves'])}")


def _import(
    sources: list[Path], out: Path, filters: GameFilters, size: int, games_a_shard: int
) -> tuple[ImportReport, int]:
    from miai.progress import show_activity
    from miai_go.learning.data.importing import ImportReport, import_games
    from miai_go.learning.data.shards import Shard, ShardWriter, shard_folders

    report = ImportReport()
    writing = ShardWriter(
        out,
        size=size,
        sources=tuple(source.name for source in sources),
        settings=filters.model_dump(mode="json"),
        games_a_shard=games_a_shard,
    )
    with writing as writer, show_activity("import") as show:
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

"""``miai analyze``: a recorded game, judged move by move."""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from miai.errors import ConfigError, WorkerError

if TYPE_CHECKING:
    from miai.analysis.analysis import Analysis
    from miai.playing.opponents import Analyst
    from miai.record import GameRecord, RecordFormat


_OWN: Final = (".html", ".json")  # not formats of records here


def add_commands(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("analyze")(analyze)


def analyze(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Record, such as .sgf, .pgn, .jsonl.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Write a page (.html), the analysis (.json), or the game with comments and "
            "variations in a format for records (.sgf, .pgn, .jsonl).",
        ),
    ] = None,
    number: Annotated[int, typer.Option("--game", min=1, help="Number of the game in FILE.")] = 1,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help="Budget of a decision (default: the analyst's own)."),
    ] = None,
    analyst: Annotated[
        str,
        typer.Option(metavar="AGENT", help="Who judges (default: the strongest installed)."),
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the analyst.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes (default: one for each processor).")
    ] = None,
) -> None:
    """Judge each move of a recorded game: what it lost, and what was better.

    FILE.analysis keeps what is judged: the same command goes on after an interruption. The same
    seed and simulations give the same analysis.
    """
    from miai.analysis.analysis import analyze as analysis_of_game
    from miai.progress import make_progress

    record = _record(file, number)
    written = None if out is None else _format_for(out, record)
    kept = file.with_name(f"{file.name}{'' if number == 1 else f'.{number}'}.analysis")
    hint = "Ctrl-C stops; the same command goes on"
    try:
        analysis = analysis_of_game(
            record,
            analyst=_analyst(analyst),
            simulations=simulations,
            seed=seed,
            journal=kept,
            workers=workers,
            progress=make_progress(f"Analysing {file.name}", unit="positions", hint=hint),
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on") from None
    print("\n".join(_summary(analysis)))
    if out is not None:
        _write(analysis, out, written)
        print(f"written to {out}")
    if analysis.failure:
        judged = f"{len(analysis.curve)} of {analysis.total} positions are judged and in {kept}"
        raise WorkerError(f"{analysis.failure}; {judged}: the same command goes on")


def _analyst(name: str) -> Analyst | None:
    """Return the agent that an option names, which may be a class in a file."""
    from miai.playing.opponents import Analyst
    from miai.plugins import agent_files

    if reference := agent_files.split_reference(name):
        return Analyst(agent=agent_files.NAME, parameters=reference)
    return Analyst(agent=name) if name else None


def _record(file: Path, number: int) -> GameRecord:
    """Return a game of a file. Raises `ConfigError` or `RecordError`."""
    from miai.files import reading
    from miai.pages.document import counted
    from miai.plain import one_line
    from miai.playing.record_files import read_records

    with reading(file, ConfigError):
        data = file.read_bytes()
    records = read_records(file.name, data)
    # What was wrong with games that are left out is among the first one's.
    said: list[Any] = [r.tags.get("warnings", ()) for r in (records[0], *records[number - 1 :][:1])]
    for warning in dict.fromkeys(chain.from_iterable(said)):
        print(f"{file}: {one_line(str(warning))}", file=sys.stderr)
    if number > len(records):
        raise ConfigError(f"--game {number}: {file} has {counted(len(records), 'game')}")
    return records[number - 1]


def _format_for(out: Path, record: GameRecord) -> RecordFormat | None:
    """Return the format in which a record is written; None for a page or JSON."""
    from miai.files import refuse_unwritable
    from miai.playing.record_files import format_of

    refuse_unwritable(out, "--out")
    if out.suffix in _OWN:
        return None
    try:
        return format_of(out.suffix, record.game, where=f"--out {out}")
    except ConfigError as error:
        raise ConfigError(f"{error}; pages as .html, analyses as .json") from None


def _write(analysis: Analysis, out: Path, written: RecordFormat | None) -> None:
    from miai.analysis.notes import annotated, as_json
    from miai.files import write_text, writing
    from miai.pages.replay_page import replay_page

    if written is not None:
        text = written.write(annotated(analysis))
    elif out.suffix == ".html":
        text = replay_page(annotated(analysis), out.stem, analysis=analysis)
    else:
        text = json.dumps(as_json(analysis), indent=1) + "\n"
    with writing(out, ConfigError):
        write_text(out, text)


def _summary(analysis: Analysis) -> list[str]:
    """Return the players' summaries and the largest mistakes as lines."""
    from miai.analysis.notes import line_texts, note_of, summary_texts

    names = [player.name for player in analysis.record.players]
    lines = [f"judged by {analysis.analyst}"]
    for player, name in enumerate(names):
        lines.append(f"{name}: {', '.join(summary_texts(analysis, player))}")
    better = {judged.ply: texts for judged, texts in line_texts(analysis)}
    for judged in analysis.mistakes():
        text = analysis.record.moves[judged.ply].text
        lines.append(f"{judged.ply + 1}. {text}: {note_of(judged, better[judged.ply], analysis)}")
    return lines

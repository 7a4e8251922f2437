"""``miai tournament openings``: shows the openings of a config, or writes them as a book."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from miai.errors import ConfigError
from miai.plain import dumps
from miai.playing.openings import Opening, moves_text
from miai.seeds import derive_seed
from miai_tournaments.config.load import Tournament
from miai_tournaments.running.start import ValuationWatch
from miai_tournaments.store.export import write_whole

_DRAWS = 20
"""Draws per requested opening, since some are drawn twice."""

BookEntry = tuple[Opening, float | None]


def book(tournament: Tournament, *, count: int) -> list[str]:
    """Return a line for each opening of a config, with its value and its name as a comment.

    The values are the first player's advantage. The lines can be used as a file of openings.

    Args:
      count: number of different random openings to draw; of a file all balanced ones are returned.

    Raises:
      MiaiError: the config has no openings, or none is balanced.
    """
    balance = tournament.openings.balance
    if balance is not None:
        balance.watch = ValuationWatch(partial(print, file=sys.stderr, flush=True), lambda: None)
    entries = list(_entries(tournament, count))
    name, game = tournament.config.tournament.name, tournament.game.info.name
    condition = f", {balance.title()}; values are the first player's" if balance else ""
    share = (
        f"{len(entries)} of {len(tournament.openings.lines)}" if tournament.openings.lines else ""
    )
    head = f"# openings of {name} ({game}): {share or len(entries)}{condition}"
    return [head, *(_line(tournament, *entry) for entry in entries)]


def write_book(tournament: Tournament, lines: list[str], path: Path) -> None:
    """Write a book as a file of openings.

    Raises:
      ConfigError: the openings are more than moves.
      StoreError: the file cannot be written.
    """
    if any(line.settings for line in tournament.openings.lines):
        raise ConfigError(
            f"--out {path}: the openings contain parameters of the game, which a file of moves "
            "cannot express; omit --out"
        )
    write_whole(path, "\n".join(lines) + "\n")


def _entries(tournament: Tournament, count: int) -> Iterator[BookEntry]:
    openings, seed = tournament.openings, tournament.config.tournament.seed
    if openings.lines:
        judged = openings.judged(seed)
        yield from zip(
            judged.used_lines(), judged.values or [None] * len(openings.lines), strict=True
        )
    elif openings.random_plies:
        known: set[tuple[int, ...]] = set()
        for number in range(_DRAWS * count):
            opening, value = openings.drawn(derive_seed(seed, "book", number))
            if opening.actions not in known:
                known.add(opening.actions)
                yield opening, value
            if len(known) == count:
                return
    else:
        raise ConfigError(f"{tournament.source}: openings: has none; give random_plies or a file")


def _line(tournament: Tournament, opening: Opening, value: float | None) -> str:
    facts = [] if value is None else [f"{value:+.3f}"]
    facts += [opening.name] if opening.name else []
    facts += [dumps(dict(opening.settings))] if opening.settings else []
    moves = "" if opening.settings else moves_text(tournament.game, opening.actions)
    return "  ".join(filter(None, (moves, " ".join(["#", *facts]) if facts else "")))

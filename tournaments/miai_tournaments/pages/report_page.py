"""A tournament's report as one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from miai_tournaments.pages import game_sections, standings_sections, theory_sections
from miai_tournaments.pages.document import Section, contents, document
from miai_tournaments.pages.markup import Markup, name, tag, text
from miai_tournaments.store.rows import GameRow

if TYPE_CHECKING:
    from miai_tournaments.report.report import Report


def report_page(
    report: Report, *, replays: Sequence[GameRow] = (), replay_folder: str = "replays"
) -> str:
    """Return a report, which has details, as a page of HTML.

    Args:
      replays: games whose replays lie in `replay_folder`, as the page sees it.
    """
    title = report.info.name if report.info else "tournament"
    sections = _sections(report, replays, replay_folder) if report.standings.players else []
    main = [part.markup for part in sections] or [tag("p", "No games yet.")]
    return document(
        f"{text(title, 80)} \N{EN DASH} tournament report",
        tag("header", tag("h1", name(title, 80)), *_heading(report), contents(sections)),
        tag("main", *main),
        tag("footer", "Made by miai. This page needs no network; its tables sort by their heads."),
        styles=("page.css",),
        scripts=("sort.js",),
    )


def _sections(report: Report, replays: Sequence[GameRow], folder: str) -> list[Section]:
    played = bool(report.standings.first_player.games)
    parts = [standings_sections.ratings(report)]
    if not played:
        return [*parts, theory_sections.about(report)]
    found = [
        theory_sections.format_state(report),
        standings_sections.teams(report),
        standings_sections.crosstable(report),
        theory_sections.curves(report),
        game_sections.endings(report),
        game_sections.adjudication(report),
        theory_sections.transitivity(report),
        game_sections.times(report),
        game_sections.openings(report),
        game_sections.failures(report),
        game_sections.replays(replays, folder),
        theory_sections.about(report),
    ]
    return [*parts, *(part for part in found if part is not None)]


def _heading(report: Report) -> list[Markup]:
    from miai_tournaments.report.tables import heading

    lines = heading(report).lines[:2]
    return [tag("p", line, class_="dim") for line in lines]

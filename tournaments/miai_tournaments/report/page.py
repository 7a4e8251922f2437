"""A tournament's report as a page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from miai.pages.document_page import document_page
from miai_tournaments.report.sections import report_document

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport
    from miai_tournaments.store.rows import GameRow


def report_page(
    report: TournamentReport, *, replays: Sequence[GameRow] = (), replay_folder: str = "replays"
) -> str:
    """Return a report with details as a page of HTML.

    Args:
      replays: games whose replays are in `replay_folder`, relative to the page.
    """
    return document_page(
        report_document(report, replays=replays, replay_folder=replay_folder),
        title=report.info.name if report.info else "tournament",
        kind="tournament report",
        footer="Made by miai. This page needs no network; its tables sort by their heads.",
    )

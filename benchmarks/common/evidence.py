"""Evidence: what was measured, by which command, when, where and on which code.

Each file of `benchmarks/results` is a section of a page: rows that commands measured, and notes on
what was tried. `record` writes what a command has just measured into its row, and regenerates the
pages: `docs/benchmarks.md` and `docs/quality.md` are made from the rows alone, and a row is marked
as old when a file under it has changed since. Where another page tells a row's figures, its origin
stands between ``<!--row NAME-->`` and ``<!---->``. `make format` makes the pages without measuring
anything, and `make check` fails where a mark is missing.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from common.conditions import commit, machine

ROOT: Final = Path(__file__).parents[2]
OLD: Final = "**old**"
UNKNOWN: Final = "not recorded"
ORIGIN: Final = re.compile(r"<!--row ([\w-]+)-->.*?<!---->", re.DOTALL)
"""The origin of a row on a page."""

EXPLANATION: Final = f"""\
Each row names the command that measured it, the machine, the date and the commit, or says \
what was not recorded. {OLD} marks a row whose code has changed since, or whose commit is unknown. \
`benchmarks/results` has all rows with loads and details, and what was tried and given up; \
`make format` makes this page from them.
"""
PAGES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "benchmarks": (
        "# Benchmarks\n\nHow fast and how strong miai is. Compare figures within a row, where miai "
        "and its peer ran side by side: two machines of one name differed by 1.7 times. "
        "In brackets is the 95 % interval of a share, or the range of a time over its "
        "repetitions.\n\n"
        f"{EXPLANATION}\n`make figures` measures those of the README that take minutes, "
        "`python benchmarks/NAME.py --help` says what else a script measures.\n",
        (
            *("go-search", "go-strength", "go-networks", "go-rules", "tsumego"),
            *("rbc", "beliefs", "tournaments", "web"),
        ),
    ),
    "quality": (
        "# Quality\n\nWhat is checked beyond `make test`, and when it was last done. "
        f"{EXPLANATION}",
        ("quality",),
    ),
}
"""The head of each page, and the files of its sections."""


class Row(BaseModel):
    """What one command measured.

    Attributes:
      name: identifies the row.
      what: what is measured.
      figure: the result with its unit; empty if it was never recorded.
      interval: the 95 % interval, or the range of the repetitions.
      peer: what the same run gave for a peer, or how much faster miai is.
      note: what else a reader must know, such as a missed target.
      command: what measured it, from the root of the repository.
      code: files and folders that it measures.
      digest: `digest` of them when it was measured.
      load: the load of the machine before.
      shown: whether the page has the row.
      agents: agents whose strength it measures; their pages have it, too.
      table: details, which no page has.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    what: str
    figure: str = ""
    interval: str = ""
    peer: str = ""
    note: str = ""
    command: str
    date: str | None = None
    commit: str | None = None
    machine: str | None = None
    load: str | None = None
    code: list[str]
    digest: str | None = None
    shown: bool = False
    agents: list[str] = []
    table: list[dict[str, str]] = []

    def result(self) -> str:
        """Return the figure with all that belongs to it."""
        spread = f" ({self.interval})" if self.interval else ""
        return "; ".join(filter(None, (f"{self.figure or UNKNOWN}{spread}", self.peer, self.note)))

    def origin(self, root: Path = ROOT) -> str:
        """Return machine, date and commit, marked if the code has changed, after a comma."""
        if not self.figure:
            return ""
        machine = (self.machine or "").partition(",")[0]
        day = self.date or ("date " + UNKNOWN if self.commit else "")
        code = self.commit or (("commit " if self.date else "date and commit ") + UNKNOWN)
        parts = (machine, day, code, OLD if self.is_old(root) else "")
        return "".join(f", {part}" for part in parts if part)

    def is_old(self, root: Path = ROOT) -> bool:
        """Return whether the code is not, or not known to be, that which was measured."""
        return self.digest != digest(self.code, root)


class Section(BaseModel):
    """A section of a page: a question, rows that answer it, and notes on what was tried."""

    model_config = ConfigDict(extra="forbid")

    title: str
    text: str = ""
    rows: list[Row]
    notes: list[str] = []

    def markdown(self, root: Path = ROOT) -> str:
        """Return the section with the rows that are shown."""
        head = [f"## {self.title}", "", *([self.text, ""] if self.text else [])]
        lines, above = ["| what | result | measured by |", "|---|---|---|"], ""
        for row in (row for row in self.rows if row.shown):
            command = "the same" if row.command == above else f"`{row.command}`"
            above = row.command
            lines.append(f"| {row.what} | {row.result()} | {command}{row.origin(root)} |")
        return "\n".join([*head, *lines])


def digest(code: Sequence[str], root: Path = ROOT) -> str:
    """Return a hash of files, and of all files in folders, with their names."""
    text = "".join(digest_of_path(path, root) for path in code)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def digest_of_path(name: str, root: Path) -> str:
    """Return the names and hashes of a file, or of all files below a folder, a line each."""
    paths = [root / name] if (root / name).is_file() else sorted((root / name).rglob("*"))
    return "".join(
        f"{path.relative_to(root).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts
    )


def sections(root: Path = ROOT) -> dict[Path, Section]:
    """Return all sections, by their files."""
    return {
        path: Section.model_validate_json(path.read_bytes())
        for path in sorted((root / "benchmarks" / "results").glob("*.json"))
    }


def rows(root: Path = ROOT) -> dict[str, Row]:
    """Return the rows of all sections, by their names."""
    return {row.name: row for section in sections(root).values() for row in section.rows}


def record(
    name: str,
    figure: str,
    *,
    interval: str = "",
    peer: str = "",
    table: Sequence[Mapping[str, str]] = (),
    command: str = "",
    root: Path = ROOT,
) -> None:
    """Write what was measured into a row, and the pages.

    Args:
      command: what measured it; by default this process's command, without ``--record``.

    Raises:
      KeyError: no row has the name.
    """
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    values = {
        "figure": figure,
        "interval": interval,
        "peer": peer,
        "table": list(table),
        "command": command
        or f"python benchmarks/{' '.join(w for w in words if w not in ('--record', '--json'))}",
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }
    for path, section in sections(root).items():
        for place, row in enumerate(section.rows):
            if row.name == name:
                values["digest"] = digest(row.code, root)
                section.rows[place] = row.model_copy(update=values)
                write_section(path, section)
                write_pages(root)
                return
    raise KeyError(f"no row of benchmarks/results is called {name!r}")


def write_section(path: Path, section: Section) -> None:
    """Write a section without the fields that say nothing."""
    text = section.model_dump_json(indent=1, exclude_defaults=True)
    path.write_text(text + "\n", encoding="utf-8")


def pages(root: Path = ROOT) -> dict[Path, str]:
    """Return the pages, and those that tell the origin of a row, by their files."""
    by_name = {path.stem: section for path, section in sections(root).items()}
    known = rows(root)

    def origin(found: re.Match[str]) -> str:
        row = known[found[1]]
        return f"<!--row {row.name}-->`{row.command}`{row.origin(root)}<!---->"

    texts = {path: path.read_text("utf-8") for path in sorted((root / "docs").glob("*.md"))}
    told = {path: ORIGIN.sub(origin, text) for path, text in texts.items() if ORIGIN.search(text)}
    return told | {
        root / "docs" / f"{name}.md": "\n\n".join(
            [head.rstrip(), *(by_name[section].markdown(root) for section in names)]
        )
        + "\n"
        for name, (head, names) in PAGES.items()
    }


def write_pages(root: Path = ROOT) -> None:
    """Write the pages."""
    for path, text in pages(root).items():
        path.write_text(text, encoding="utf-8")

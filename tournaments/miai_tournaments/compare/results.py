"""The store of a comparison: an SQLite file with a row for each finished search.

A row is committed when its search is done, so resuming means doing the searches without a row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from miai_tournaments.store.database import StoreBase
from miai_tournaments.store.folder import COMPARISON
from miai_tournaments.store.row_checks import (
    check_sums,
    checked,
    checks_of,
    checksums,
    decoded,
    row_values,
)
from miai_tournaments.store.rows import Duration, Number, Ordinal, Text, Whole, Word
from miai_tournaments.store.sqlite import connect, created

FILE_NAME: Final = COMPARISON.file_name

SCHEMA: Final = Path(__file__).with_name("results.sql").read_text("utf-8")


@dataclass(frozen=True, slots=True, order=True)
class SearchKey:
    """The identity of a search; the same in every run of the config.

    Attributes:
      game: name of the problem with its parameters.
      depth, kind: depth and class of the roots.
      warm: whether the searcher kept its knowledge from earlier roots.
      seed, root: seed of the roots and number of this one, from 0.
      arm: name of the arm.
    """

    game: Word
    depth: Ordinal
    kind: Word
    warm: bool
    seed: Whole
    root: Whole
    arm: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The costs and results of one search.

    Attributes:
      size: number of states of the root's belief.
      value, action, complete: see `miai.beliefs.BeliefResult`.
      nodes, leaves: counts of the search.
      seconds: wall time of the search, median of its repetitions.
      setup: wall time of building the searcher, not part of `seconds`.
      entries, bytes: size of the bounds at the end of the search.
      truth: the true value; None if unknown.
      guaranteed: value that the action guarantees; None if not judged.
      statistics: all counts of the search.
    """

    size: Ordinal
    value: Number
    action: Annotated[int, Field(strict=True, ge=-1, lt=2**63)]
    complete: bool
    nodes: Whole
    leaves: Whole
    seconds: Duration
    setup: Duration = 0.0
    entries: Whole = 0
    bytes: Whole = 0
    truth: Number | None = None
    guaranteed: Number | None = None
    statistics: Mapping[str, int] = field(default_factory=dict)

    @property
    def wrong_value(self) -> bool | None:
        """Whether the value is wrong; None if not judged."""
        return None if self.truth is None or not self.complete else self.value != self.truth

    @property
    def wrong_move(self) -> bool | None:
        """Whether the action guarantees less than the true value; None if not judged."""
        if self.truth is None or self.guaranteed is None:
            return None
        return self.guaranteed < self.truth


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonInfo:
    """Facts of the whole comparison.

    Attributes:
      name: name of the comparison.
      created: when it began, ISO 8601 in UTC.
      versions: versions of the packages that measure, by name.
      machine: description of the machine.
      resolved: the parts of the config that results depend on, as plain data.
      config_text, config_path: content and path of the config file.
    """

    name: Word
    created: Text
    versions: Mapping[str, Any]
    machine: Text
    resolved: Mapping[str, Any]
    config_text: Text
    config_path: Text


_INFO: Final = checks_of(ComparisonInfo)
_SEARCH: Final = {
    "class" if name == "kind" else name: check
    for name, check in {**checks_of(SearchKey), **checks_of(Measurement)}.items()
}
"""What each column of a search may contain."""
_KEYS: Final = len(fields(SearchKey))


class ComparisonStore(StoreBase):
    """A comparison's store, from `create` or `open`."""

    @classmethod
    def create(cls, folder: Path, info: ComparisonInfo) -> ComparisonStore:
        """Create the store of a new comparison, and its folder if necessary.

        Raises:
          StoreError: the folder cannot be written or holds a store already.
        """
        path = folder / FILE_NAME
        with created(path, SCHEMA, kind=COMPARISON) as connection:
            cls(connection).set_info(info)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path, *, alone: bool = True) -> ComparisonStore:
        """Open the store of a folder.

        Args:
          alone: whether to write, as one process at a time may.

        Raises:
          StoreError: there is none, or it is corrupt, foreign or of another schema.
        """
        return cls(connect(folder / FILE_NAME, alone=alone, kind=COMPARISON))

    def info(self) -> ComparisonInfo:
        """Return the facts of the comparison."""
        with self._explained():
            rows = {row[0]: row[1] for row in self._connection.query("SELECT key, value FROM run")}
            values = {}
            for name, cell in _INFO.items():
                if name not in rows:
                    raise ValueError(f"table run: row '{name}' is missing")
                where = f"table run, row {name!r}"
                values[name] = checked(decoded(rows[name], where, "value"), cell, where, "value")
            return ComparisonInfo(**values)

    def searches(self) -> dict[SearchKey, Measurement]:
        """Return all finished searches."""
        query = f"SELECT {', '.join(_SEARCH)}, checksum FROM searches"  # noqa: S608 - own names
        searches = {}
        with self._explained():
            for *cells, stored in self._connection.query(query):
                key, measured = _search(cells)
                name = f"{key.game}, root {key.root}, arm {key.arm}"
                columns = [[cell] for cell in cells]
                check_sums(columns, [stored], table="searches", names=[name])
                searches[key] = measured
        return searches

    def set_info(self, info: ComparisonInfo) -> None:
        """Replace the facts of the comparison."""
        with self._transaction() as writer:
            writer.executemany(
                "INSERT OR REPLACE INTO run VALUES (?, ?)",
                [(key, json.dumps(value)) for key, value in asdict(info).items()],
            )

    def add(self, key: SearchKey, measured: Measurement) -> None:
        """Commit a finished search."""
        values = {**_stored(key), **_stored(measured), "class": key.kind}
        values["statistics"] = json.dumps(dict(measured.statistics))
        cells = [values[column] for column in _SEARCH]
        with self._transaction() as writer:
            writer.execute(
                f"INSERT INTO searches ({', '.join(_SEARCH)}) "  # noqa: S608 - constants
                f"VALUES ({', '.join('?' * len(cells))})",
                cells,
            )
            where = " AND ".join(f"{column} = ?" for column in list(_SEARCH)[:_KEYS])
            query = f"SELECT {', '.join(_SEARCH)} FROM searches WHERE {where}"  # noqa: S608 - constants
            (written,) = self._connection.query(query, cells[:_KEYS])
            (checksum,) = checksums([[cell] for cell in written])
            writer.execute(
                f"UPDATE searches SET checksum = ? WHERE {where}",  # noqa: S608 - constants
                (checksum, *cells[:_KEYS]),
            )


def _stored(row: SearchKey | Measurement) -> dict[str, Any]:
    return {item.name: getattr(row, item.name) for item in fields(row)}


def _search(row: Sequence[Any]) -> tuple[SearchKey, Measurement]:
    values = row_values("searches", _SEARCH, row, as_json=("statistics",))
    cells = list(values.values())
    return SearchKey(*cells[:_KEYS]), Measurement(**dict(list(values.items())[_KEYS:]))

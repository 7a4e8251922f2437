"""Where a run's store is when it is not in its folder: a file that names database and schema.

The kinds of run that have a folder with a store in it, and how each is spoken of.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

from miai.errors import ConfigError, StoreError
from miai.files import reading, sync_folder, write_text, writing

ADDRESS_FILE: Final = "store.json"

DRAFT_FILE: Final = "store.json.new"
"""Is there while a store is made, so that a process that dies then leaves no schema behind that
nobody knows of."""

MAX_BYTES: Final = 1 << 14

_SCHEMA: Final = re.compile(r"miai_[a-z0-9_]{1,50}")
_URL: Final = re.compile(r"postgres(ql)?(\+psycopg)?://[^\s]{1,2000}")


@dataclass(frozen=True, slots=True)
class Address:
    """A PostgreSQL database, and the schema in it that holds one run.

    Attributes:
      url: ``postgresql://USER@HOST:PORT/DATABASE``, without a password.
      schema: its name begins with ``miai_``.
    """

    url: str
    schema: str

    @classmethod
    def fresh(cls, url: str, name: str) -> Self:
        """Return an address for a new run of a tournament.

        Raises:
          ConfigError: the URL is none of a PostgreSQL database, or holds a password: configs and
            folders are shown to others.
        """
        if (wrong := _wrong(url)) is not None:
            raise ConfigError(f"store: {wrong}")
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower())[:40]
        return cls(url, f"miai_{plain}_{secrets.token_hex(4)}")

    @property
    def shown(self) -> str:
        """What messages call it, without a password."""
        return f"{self.url} ({self.schema})"

    def draft(self, folder: Path) -> None:
        """Write the draft of the file: the schema is about to be made.

        Raises:
          StoreError: it cannot be written.
        """
        with writing(folder / DRAFT_FILE, StoreError):
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / DRAFT_FILE, json.dumps(asdict(self), indent=1))

    @staticmethod
    def keep(folder: Path) -> None:
        """Make the draft the file: the schema is there. Raises `StoreError` when it cannot."""
        with writing(folder / ADDRESS_FILE, StoreError):
            (folder / DRAFT_FILE).replace(folder / ADDRESS_FILE)
            sync_folder(folder)

    @staticmethod
    def drop(folder: Path) -> None:
        """Remove the draft. Raises `StoreError` when it cannot be removed."""
        with writing(folder / DRAFT_FILE, StoreError):
            (folder / DRAFT_FILE).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path, name: str = ADDRESS_FILE) -> Self:
        """Return the address in a folder, or of its draft.

        Raises:
          StoreError: the file is not as written.
        """
        path = folder / name
        with reading(path, StoreError), path.open("rb") as file:
            content = file.read(MAX_BYTES)
        try:
            found = cls(**json.loads(content))
            sound = _wrong(found.url) is None and _SCHEMA.fullmatch(found.schema)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{path}: does not tell where the store is: {error}") from error
        if not sound:
            raise StoreError(
                f"{path}: does not tell where the store is; restore the file from a copy"
            )
        return found


def _wrong(url: str) -> str | None:
    """Return what is wrong with a URL, without showing what may be a password; None for nothing."""
    form = "postgresql://USER@HOST:PORT/DATABASE"
    if not _URL.fullmatch(url):
        return f"this is no address of a database; give {form}"
    try:
        parts = urlsplit(url)
        host, _, secret = parts.hostname, parts.port, parts.password
    except ValueError:
        return f"host or port of the database are malformed; give {form}"
    if secret is not None or "password" in parse_qs(parts.query) or url.count("@") > 1:
        return (
            "the address of a database holds a password, which others could read; leave it out and "
            "give it by PGPASSWORD or ~/.pgpass"
        )
    return None if host and parts.path.strip("/") else f"no host or database in it; give {form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """A kind of run.

    Attributes:
      noun: what it is called.
      file_name: of its store.
      schema: version of the store's tables; older ones from 1 on are read, and upgraded when they
        are written to.
      application_id: four letters in the header of the store, so that one kind is never taken for
        another, whatever the file is called.
      begin: the command that begins one, which the folder follows.
      busy: what to do when somebody runs it, ``{folder}`` being its folder.
      own: what a run may leave in a folder before there is a store.
    """

    noun: str
    file_name: str
    schema: int
    application_id: int
    begin: str
    busy: str
    own: frozenset[str]


TOURNAMENT: Final = RunKind(
    noun="tournament",
    file_name="tournament.sqlite",
    schema=2,
    application_id=0x6D696169,  # miai
    begin="miai tournament run CONFIG --out",
    busy="watch it with `miai tournament status {folder}`, end it with `miai tournament stop "
    "{folder}`",
    own=frozenset({"lock", "stop", "logs", "records", "store.json.new"}),
)

COMPARISON: Final = RunKind(
    noun="comparison",
    file_name="comparison.sqlite",
    schema=1,
    application_id=0x6D696163,  # miac
    begin="miai compare CONFIG --out",
    busy="let it end, or stop it with Ctrl-C where it runs",
    own=frozenset({"lock"}),
)

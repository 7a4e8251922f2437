"""What a folder says about its store: the kinds of run, and the address of a shared database."""

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
"""Exists while a schema is being created, so that no schema is lost if the process dies."""

MAX_BYTES: Final = 1 << 14

_SCHEMA: Final = re.compile(r"miai_[a-z0-9_]{1,50}")
_URL: Final = re.compile(r"postgres(ql)?(\+psycopg)?://[^\s]{1,2000}")


@dataclass(frozen=True, slots=True)
class Address:
    """A PostgreSQL database and the schema of one run.

    Attributes:
      url: ``postgresql://USER@HOST:PORT/DATABASE``, without a password.
      schema: name of the schema, which begins with ``miai_``.
    """

    url: str
    schema: str

    @classmethod
    def fresh(cls, url: str, name: str) -> Self:
        """Return an address for a new run of a tournament.

        Raises:
          ConfigError: the URL is not that of a PostgreSQL database, or contains a password, which
            others could read in the config or folder.
        """
        if (wrong := _wrong(url)) is not None:
            raise ConfigError(f"store: {wrong}")
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower())[:40]
        return cls(url, f"miai_{plain}_{secrets.token_hex(4)}")

    @property
    def shown(self) -> str:
        """The address for messages."""
        return f"{self.url} ({self.schema})"

    def draft(self, folder: Path) -> None:
        """Write the draft, before the schema is created. Raises `StoreError`."""
        with writing(folder / DRAFT_FILE, StoreError):
            folder.mkdir(parents=True, exist_ok=True)
            write_text(folder / DRAFT_FILE, json.dumps(asdict(self), indent=1))

    @staticmethod
    def keep(folder: Path) -> None:
        """Rename the draft to the final file, after the schema is created. Raises `StoreError`."""
        with writing(folder / ADDRESS_FILE, StoreError):
            (folder / DRAFT_FILE).replace(folder / ADDRESS_FILE)
            sync_folder(folder)

    @staticmethod
    def drop(folder: Path) -> None:
        """Remove the draft. Raises `StoreError`."""
        with writing(folder / DRAFT_FILE, StoreError):
            (folder / DRAFT_FILE).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path, name: str = ADDRESS_FILE) -> Self:
        """Return the address in the file `name` of a folder. Raises `StoreError` if malformed."""
        path = folder / name
        with reading(path, StoreError), path.open("rb") as file:
            content = file.read(MAX_BYTES)
        try:
            address = cls(**json.loads(content))
            valid = _wrong(address.url) is None and _SCHEMA.fullmatch(address.schema)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{path}: is not the address of a store: {error}") from error
        if not valid:
            raise StoreError(f"{path}: is not the address of a store; restore the file from a copy")
        return address


def _wrong(url: str) -> str | None:
    """Return what is wrong with a URL, without showing a possible password; None if it is valid."""
    form = "postgresql://USER@HOST:PORT/DATABASE"
    if not _URL.fullmatch(url):
        return f"this is not the address of a database; give {form}"
    try:
        parts = urlsplit(url)
        host, _, secret = parts.hostname, parts.port, parts.password
    except ValueError:
        return f"the host or port of the database is malformed; give {form}"
    if secret is not None or "password" in parse_qs(parts.query) or url.count("@") > 1:
        return (
            "the address of a database contains a password, which others could read; leave it out "
            "and give it in PGPASSWORD or ~/.pgpass"
        )
    return None if host and parts.path.strip("/") else f"lacks a host or a database; give {form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """A kind of run.

    Attributes:
      noun: what messages call it.
      file_name: name of the store's file.
      schema: version of the store's tables; older versions are read, and upgraded on writing.
      application_id: four letters in the header of the store, which identify the kind whatever the
        file is called.
      begin: the command that begins a run, without the folder at its end.
      busy: advice if another process runs it; ``{folder}`` stands for the folder.
      own: names of files that a run may leave in a folder before it has a store.
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
    schema=4,
    application_id=0x6D696169,  # miai
    begin="miai tournament run CONFIG --out",
    busy="see `miai tournament status {folder}`, or end it with `miai tournament stop {folder}`",
    own=frozenset({"lock", "stop", "pause", "logs", "records", "store.json.new"}),
)

COMPARISON: Final = RunKind(
    noun="comparison",
    file_name="comparison.sqlite",
    schema=2,
    application_id=0x6D696163,  # miac
    begin="miai compare CONFIG --out",
    busy="wait for it to end, or stop it with Ctrl-C in its terminal",
    own=frozenset({"lock"}),
)

"""Where a run's store is when it is not in its folder: a file that names database and schema."""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from miai.errors import ConfigError, StoreError

ADDRESS_FILE: Final = "store.json"

MAX_BYTES: Final = 1 << 14

_SCHEMA: Final = re.compile(r"miai_[a-z0-9_]{1,50}")
_URL: Final = re.compile(r"postgres(ql)?(\+psycopg)?://[^\s]{1,2000}")
_PASSWORD: Final = re.compile(r"(://[^:/@?]*):[^@/?]*@")


@dataclass(frozen=True, slots=True)
class Address:
    """A PostgreSQL database, and the schema in it that holds one run.

    Attributes:
      url: ``postgresql://USER@HOST:PORT/DATABASE``; it may hold a password, the file does not.
      schema: its name begins with ``miai_``.
    """

    url: str
    schema: str

    @classmethod
    def fresh(cls, url: str, name: str) -> Self:
        """Return an address for a new run of a tournament. Raises `ConfigError` for a wrong URL."""
        if not _URL.fullmatch(url):
            raise ConfigError(
                f"store: '{_without_password(url)[:80]}' is no address of a database; give "
                "postgresql://USER@HOST:PORT/DATABASE"
            )
        plain = re.sub(r"[^a-z0-9]+", "_", name.lower())[:40]
        return cls(url, f"miai_{plain}_{secrets.token_hex(4)}")

    @property
    def shown(self) -> str:
        """What messages call it, without a password."""
        return f"{_without_password(self.url)} ({self.schema})"

    def write(self, folder: Path) -> None:
        """Write the file, without a password. Raises `StoreError` when it cannot be written."""
        plain = {**asdict(self), "url": _without_password(self.url)}
        path = folder / ADDRESS_FILE
        draft = path.with_name(f"{ADDRESS_FILE}.new")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with draft.open("w", encoding="utf-8") as file:
                json.dump(plain, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from error

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the address in a folder. Raises `StoreError` when the file is not as written."""
        path = folder / ADDRESS_FILE
        try:
            with path.open("rb") as file:
                values = json.loads(file.read(MAX_BYTES))
            found = cls(**values)
            sound = _URL.fullmatch(found.url) and _SCHEMA.fullmatch(found.schema)
        except OSError as error:
            raise StoreError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{path}: does not tell where the store is: {error}") from error
        if not sound:
            raise StoreError(
                f"{path}: does not tell where the store is; restore the file from a copy"
            )
        return found


def _without_password(url: str) -> str:
    return _PASSWORD.sub(r"\1@", url)

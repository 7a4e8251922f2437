"""Stores in databases that are shared: where a folder's is, making it, finding it again."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from miai.errors import StoreError
from miai_tournaments.store.address import ADDRESS_FILE, DRAFT_FILE, Address
from miai_tournaments.store.kinds import TOURNAMENT

if TYPE_CHECKING:
    from miai_tournaments.store.postgres import PostgresConnection

FILE_NAME: Final = TOURNAMENT.file_name


def has_store(folder: Path) -> bool:
    """Return whether a folder has a tournament's store, or tells where it is."""
    return (folder / FILE_NAME).exists() or (folder / ADDRESS_FILE).exists()


def store_url(folder: Path) -> str | None:
    """Return the URL of the database that holds a folder's run; None where a file does, or none.

    Raises:
      StoreError: the file that tells is not as written.
    """
    return Address.read(folder).url if (folder / ADDRESS_FILE).exists() else None


def settle_draft(folder: Path) -> None:
    """Keep the store that a process made and died before it said where, if there is one.

    Whoever calls it holds the folder's lock.

    Raises:
      StoreError: the database does not answer.
    """
    from miai_tournaments.store.postgres import PostgresConnection

    try:
        address = Address.read(folder, DRAFT_FILE)
    except StoreError:  # half written: nothing was made yet
        Address.drop(folder)
        return
    with closing(PostgresConnection(folder, address, alone=True)) as connection:
        if connection.holds_run():
            Address.keep(folder)
        else:
            Address.drop(folder)


def check_database(folder: Path, url: str) -> None:
    """Raise `ConfigError` or `StoreError` unless a new run could be kept in a database."""
    connect_new(folder, Address.fresh(url, "check")).close()


def connect_new(folder: Path, address: Address) -> PostgresConnection:
    """Return a connection for a run that is to be made. Raises `StoreError` when there is one."""
    from miai_tournaments.store.postgres import PostgresConnection

    if has_store(folder):
        raise StoreError(f"{folder}: holds a tournament already; choose another folder")
    return PostgresConnection(folder, address, alone=True)


def connect(folder: Path, *, alone: bool) -> PostgresConnection:
    """Return a connection to a folder's run.

    Args:
      alone: whether it is to be the only driver, as whoever writes is.

    Raises:
      StoreError: the database does not answer, has no such run, or another driver has it.
    """
    from miai_tournaments.store.postgres import PostgresConnection

    connection = PostgresConnection(folder, Address.read(folder), alone=alone)
    try:
        with connection.explained():
            connection.check()
    except BaseException:
        connection.close()
        raise
    return connection

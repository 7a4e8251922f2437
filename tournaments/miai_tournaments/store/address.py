"""Which database keeps a run: the name or URL in its config, and the address in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from miai.errors import MiaiError, ParameterError, StoreError
from miai.files import reading, sync_folder, write_text, writing
from miai.plugins.loader import registry
from miai_tournaments.blame import Guarded, blamed, is_foreign
from miai_tournaments.kinds import STORE
from miai_tournaments.store.database import Database
from miai_tournaments.store.folder import ADDRESS_FILE, DRAFT_FILE, refuse_links

SQLITE: Final = "sqlite"
"""The store of a run that names none."""

MAX_BYTES: Final = 1 << 14


def choice(store: str | None, parameters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a store.

    Args:
      store: a name, or a URL whose scheme is the name; None for a file in the folder.
      parameters: parameters besides the URL.
    """
    if store is None:
        return SQLITE, dict(parameters)
    scheme, colon, _ = store.partition(":")
    return scheme.partition("+")[0], {**({"url": store} if colon else {}), **parameters}


def check_store(store: str | None, parameters: Mapping[str, Any]) -> None:
    """Raise `MiaiError` unless the store of a config exists and takes the parameters."""
    name, values = choice(store, parameters)
    component = registry().get(STORE, name)
    of_url = "url" in values and "url" not in parameters
    if of_url and "url" not in component.load_parameters().model_fields:
        raise ParameterError(f"run.store: the store '{name}' takes no URL; write store = '{name}'")
    try:
        component.fill(values, where="run.store_parameters")
    except ParameterError as error:
        text = str(error)
        if of_url:
            text = text.replace("run.store_parameters.url:", "run.store:")
        raise ParameterError(text) from None


def database(folder: Path) -> Database:
    """Return the database of a folder: that of its address, or the file in it.

    Raises:
      StoreError: the address is malformed.
    """
    refuse_links(folder)
    path = folder / ADDRESS_FILE
    return _addressed(folder, path) if path.exists() else build_database(folder, SQLITE, {})


def build_database(folder: Path, name: str, values: Mapping[str, Any]) -> Database:
    """Return a database by the name of its store. Raises `MiaiError` if it cannot be built."""
    component = registry().get(STORE, name)
    built = component.build(folder, values=values, where="run.store")
    if is_foreign(component):
        with blamed(component.title):
            json.dumps(None if built.address is None else dict(built.address))
        guarded: Any = Guarded(built, component.title)
        return cast("Database", guarded)
    return built


def leads_to(folder: Path, store: str) -> bool:
    """Return whether the store of a folder is the one that a name or URL means."""
    path = folder / ADDRESS_FILE
    name, values = choice(store, {})
    own, address = _read(path) if path.exists() else (SQLITE, {})
    return name == own and values.get("url") in {None, address.get("url")}


def write_draft(folder: Path, name: str, address: Mapping[str, Any]) -> None:
    """Write the draft of an address, before the tables are created. Raises `StoreError`."""
    with writing(folder / DRAFT_FILE, StoreError):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / DRAFT_FILE, json.dumps({"store": name, **address}, indent=1))


def keep_draft(folder: Path) -> None:
    """Make the draft the folder's address, after the tables are created. Raises `StoreError`."""
    with writing(folder / ADDRESS_FILE, StoreError):
        # Tables and address are in two places that cannot commit together. A rename is atomic, so
        # whoever looks sees a draft or an address, and `settle_draft` can tell what a draft means.
        (folder / DRAFT_FILE).replace(folder / ADDRESS_FILE)
        sync_folder(folder)


def settle_draft(folder: Path) -> None:
    """Adopt or discard the database of a process that died while creating its tables.

    The caller holds the folder's lock.

    Raises:
      StoreError: the database does not answer.
    """
    path = folder / DRAFT_FILE
    try:
        _read(path)
    except StoreError:  # half written, so no tables were created yet
        draft = None
    else:
        draft = _addressed(folder, path)
    # The tables were committed, and only the rename of the draft is missing.
    if draft is not None and draft.exists():
        keep_draft(folder)
        return
    with writing(path, StoreError):
        path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the store and its parameters in an address. Raises `StoreError` if malformed."""
    with reading(path, StoreError), path.open("rb") as file:
        content = file.read(MAX_BYTES)
    try:
        values = dict(json.loads(content))
        name = str(values.pop("store"))
    except (ValueError, TypeError, LookupError, RecursionError):
        raise _malformed(path) from None
    return name, values


def _addressed(folder: Path, path: Path) -> Database:
    """Return the database at an address. Raises `StoreError` if it is malformed."""
    name, values = _read(path)
    try:
        registry().get(STORE, name).fill(values)
    except MiaiError as error:
        raise _malformed(path, str(error).splitlines()[0]) from error
    return build_database(folder, name, values)


def _malformed(path: Path, reason: str = "") -> StoreError:
    why = f" ({reason})" if reason else ""
    return StoreError(f"{path}: is not the address of a store{why}; restore the file from a copy")

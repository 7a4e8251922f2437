"""Finding the class of a bot of reconchess, and what bots look for themselves."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from miai.errors import AgentUnavailableError
from miai_rbc.engines.stockfish import find_engine

STOCKFISH = "STOCKFISH_EXECUTABLE"
"""The environment variable by which bots find Stockfish."""

EXTRA = "pip install 'miai-rbc[reconchess]'"


def import_reconchess() -> ModuleType:
    """Return the module `reconchess`.

    Raises:
      AgentUnavailableError: it is not installed.
    """
    try:
        return importlib.import_module("reconchess")
    except ImportError as error:
        raise AgentUnavailableError(
            f"bots of reconchess need the package reconchess, which is an extra: {EXTRA} ({error})"
        ) from error


def load_bot(source: str) -> Callable[[], Any]:
    """Return the class of a bot.

    Args:
      source: a module or the path of a .py file, whose folder joins the import path, as
        `reconchess.load_player` takes it; a class in it may follow after a colon.

    Raises:
      AgentUnavailableError: there is none, it cannot be imported, or the choice is not clear.
    """
    reconchess = import_reconchess()
    place, _, name = source.partition(":")
    path = Path(place).expanduser()
    if (place.endswith(".py") or os.sep in place) and not path.is_file():
        raise AgentUnavailableError(
            f"bot '{source}': no file {path}; give a .py file that is there, or a module's name"
        )
    if path.is_file():
        place = str(path.resolve())
    try:
        found = getattr(_module(place), name) if name else reconchess.load_player(place)[1]
    except AttributeError:
        raise AgentUnavailableError(f"bot '{source}': {place} has no class {name}") from None
    except Exception as error:
        raise AgentUnavailableError(
            f"bot '{source}' cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path[:] = dict.fromkeys(sys.path)  # a folder joins it at every call
    if not (isinstance(found, type) and issubclass(found, reconchess.Player)):
        raise AgentUnavailableError(f"bot '{source}': {name} is no subclass of reconchess.Player")
    return found


def reload_bot(bot: Callable[[], Any], source: str) -> Callable[[], Any]:
    """Return the class of a bot from a module that was executed anew; raises as `load_bot`.

    Bots keep things in their modules: `AttackerBot` uses up the attacks that are listed there.
    """
    module = sys.modules.get(bot.__module__)
    if module is not None:
        try:
            importlib.reload(module)
        except Exception as error:
            raise AgentUnavailableError(
                f"bot '{source}' cannot be loaded anew for the next game: "
                f"{type(error).__name__}: {error}; give reload = false"
            ) from error
    return load_bot(source)


def _module(place: str) -> ModuleType:
    if os.sep not in place:
        return importlib.import_module(place)
    path = Path(place)
    sys.path.insert(0, str(path.parent))
    return importlib.import_module(path.stem)


def make_bot(factory: Callable[[], Any], source: str) -> Any:
    """Return a new bot.

    Raises:
      AgentUnavailableError: it looks for Stockfish, which is not installed.
    """
    if STOCKFISH in os.environ:
        return factory()
    try:
        os.environ[STOCKFISH] = str(find_engine("stockfish"))
    except AgentUnavailableError as missing:
        return _make_without_stockfish(factory, source, missing)
    return factory()


def _make_without_stockfish(
    factory: Callable[[], Any], source: str, missing: AgentUnavailableError
) -> Any:
    try:
        return factory()
    except Exception as error:
        if STOCKFISH not in str(error):
            raise
        raise AgentUnavailableError(
            f"bot '{source}' plays by Stockfish: {missing}; or set {STOCKFISH} to its path"
        ) from error

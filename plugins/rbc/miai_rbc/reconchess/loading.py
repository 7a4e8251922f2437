"""Loading bots of reconchess."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from miai.errors import AgentUnavailableError
from miai.plugins.extras import install_line
from miai_rbc.engines.stockfish import find_engine

STOCKFISH = "STOCKFISH_EXECUTABLE"
"""The environment variable where bots look for Stockfish."""


def import_reconchess() -> ModuleType:
    """Return the module `reconchess`.

    Raises:
      AgentUnavailableError: it is not installed.
    """
    try:
        return importlib.import_module("reconchess")
    except ImportError as error:
        raise AgentUnavailableError(
            f"bots of reconchess need the package reconchess ({error}): "
            f"{install_line('miai-rbc[reconchess]')}"
        ) from error


def load_bot(source: str) -> Callable[[], Any]:
    """Return the class of a bot.

    Args:
      source: a module or the path of a .py file, whose folder joins the import path, as for
        `reconchess.load_player`; a colon and the name of a class may follow.

    Raises:
      AgentUnavailableError: the class is missing or ambiguous, or cannot be imported.
    """
    reconchess = import_reconchess()
    place, _, name = source.partition(":")
    path = Path(place).expanduser()
    if (place.endswith(".py") or os.sep in place) and not path.is_file():
        raise AgentUnavailableError(
            f"bot '{source}': no file {path}; name an existing .py file, or a module"
        )
    if path.is_file():
        place = str(path.resolve())
    try:
        bot = getattr(_module(place), name) if name else reconchess.load_player(place)[1]
    except AttributeError:
        raise AgentUnavailableError(f"bot '{source}': {place} has no class {name}") from None
    except Exception as error:
        raise AgentUnavailableError(
            f"bot '{source}' cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    finally:
        sys.path[:] = dict.fromkeys(sys.path)  # a folder joins it at every call
    if not (isinstance(bot, type) and issubclass(bot, reconchess.Player)):
        raise AgentUnavailableError(f"bot '{source}': {name} is not a reconchess.Player")
    return bot


def reload_bot(bot: Callable[[], Any], source: str) -> Callable[[], Any]:
    """Return the class of a bot after reloading its module; raises as `load_bot`.

    Bots keep state in their modules: `AttackerBot` uses up the attacks listed there.
    """
    module = sys.modules.get(bot.__module__)
    if module is not None:
        try:
            importlib.reload(module)
        except Exception as error:
            raise AgentUnavailableError(
                f"bot '{source}' cannot be reloaded for the next game: "
                f"{type(error).__name__}: {error}; set reload = false"
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
      AgentUnavailableError: it needs Stockfish, which is not installed.
    """
    missing: AgentUnavailableError | None = None
    if STOCKFISH not in os.environ:
        try:
            os.environ[STOCKFISH] = str(find_engine("stockfish"))
        except AgentUnavailableError as error:
            missing = error
    try:
        return factory()
    except Exception as error:
        if missing is None or STOCKFISH not in str(error):
            raise
        raise AgentUnavailableError(
            f"bot '{source}' needs Stockfish: {missing}; or set {STOCKFISH} to its path"
        ) from error

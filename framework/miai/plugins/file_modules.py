"""Python files as modules: agents and plugins that nobody installed."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Final

from miai.errors import MiaiError
from miai.plain import one_line

FILES: Final = "MIAI_PLUGIN_FILES"
"""Environment variable with the files of plugins, separated as in PATH."""


@lru_cache(maxsize=64)
def import_file(path: Path, error_type: type[MiaiError], remedy: str = "") -> ModuleType:
    """Return a file as a module of a name of its own.

    Args:
      path: the file, absolute.
      error_type: the error to raise if it is none or cannot be imported.
      remedy: added to the error if there is no such file.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "there is no such file"
        raise error_type(f"{path}: {what}{remedy}")
    name = f"miai_file_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise error_type(f"{path}: is not a Python file{remedy}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look it up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise error_type(f"{path}: cannot be imported: {fault_of(error, path)}") from error
    return module


def fault_of(error: BaseException, path: Path) -> str:
    """Return an error in a line, with its line in a file."""
    if isinstance(error, SyntaxError) and error.filename == str(path.absolute()):
        number, message = error.lineno, error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path.absolute())]
        number, message = (lines[-1] if lines else None), str(error)
    text = one_line(f"{type(error).__name__}: {message}", limit=300)
    return text if number is None else f"line {number}: {text}"

"""The agent ``file``: a class in a Python file that belongs to no plugin.

``FILE.py:CLASS`` stands for it, on the command line and as the agent of a tournament's player. The
class derives from `miai.Agent`; its constructor takes the game and, if its second argument is
annotated with a `miai.Parameters` model, the parameters.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import typing
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from miai.agent import Agent
from miai.errors import AgentUnavailableError, MiaiError, near_matches
from miai.game import Game
from miai.parameters import Parameters, build_parameters, parameter
from miai.plugins.file_modules import fault_of, import_file

NAME: Final = "file"
"""Name of the agent."""

_REFERENCE: Final = re.compile(r"(.+\.py):([^\W\d]\w*)")


class FileAgentParameters(Parameters):
    """A class in a file, and its own parameters."""

    file: str = parameter(help="Python file with the agent's class", min_length=1, opens="program")
    class_name: str = parameter(help="Name of the class", min_length=1)
    parameters: dict[str, Any] = parameter({}, help="Parameters of the class")


def split_reference(text: str) -> dict[str, str]:
    """Return the parameters that ``FILE.py:CLASS`` stands for; none for any other text."""
    match = _REFERENCE.fullmatch(text)
    return {"file": match[1], "class_name": match[2]} if match else {}


def file_agent(game: Game, parameters: FileAgentParameters) -> Agent:
    """Return an agent of a class in a file.

    Raises:
      AgentUnavailableError: there is no such file or class, the file cannot be imported, or the
        class is not an agent, does not play the game or cannot be built.
      ParameterError: the class does not take these parameters.
    """
    path = Path(parameters.file).expanduser()
    where = f"{parameters.file}:{parameters.class_name}"
    module = import_file(path.absolute(), AgentUnavailableError, "; write FILE.py:CLASS")
    cls = _class_of(module, parameters, where)
    if cls.only_games and game.info.name not in cls.only_games:
        raise AgentUnavailableError(
            f"{where}: does not play {game.info.name}; it plays {', '.join(cls.only_games)}"
        )
    filled = build_parameters(_model_of(cls), parameters.parameters, where=where)
    try:
        agent = cls(game, filled)
    except MiaiError as error:
        raise AgentUnavailableError(f"{where}: {error}") from error
    except Exception as error:
        raise AgentUnavailableError(
            f"{where}: cannot be built: {fault_of(error, path)}; its constructor is called with "
            "the game and the parameters"
        ) from error
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]  # tells the file's versions apart
    agent.version = agent.version or f"{parameters.class_name} {digest}"
    return agent


def _class_of(module: ModuleType, parameters: FileAgentParameters, where: str) -> type[Agent]:
    """Return the class of an agent. Raises `AgentUnavailableError`."""
    agents = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Agent) and value is not Agent
    ]
    cls = getattr(module, parameters.class_name, None)
    if cls is None:
        known = near_matches(parameters.class_name, agents) or "It defines no agent."
        raise AgentUnavailableError(f"{where}: the file has no class of this name. {known}")
    if not (isinstance(cls, type) and issubclass(cls, Agent)):
        others = f"; agents of the file: {', '.join(agents)}" if agents else ""
        raise AgentUnavailableError(f"{where}: is not an agent: derive it from miai.Agent{others}")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise AgentUnavailableError(f"{where}: is not complete: it lacks the method {missing}")
    return cls


def _model_of(cls: type[Agent]) -> type[Parameters]:
    """Return the model that annotates the second argument of a constructor; else an empty one."""
    # Without `self`: the signature of a class is that of the call.
    names = list(inspect.signature(cls).parameters)
    try:
        hint = typing.get_type_hints(cls.__init__).get(names[1]) if len(names) > 1 else None
    except NameError:  # an annotation that only type checkers can read
        hint = None
    for candidate in (hint, *typing.get_args(hint)):
        if isinstance(candidate, type) and issubclass(candidate, Parameters):
            return candidate
    return Parameters


def with_file_agent(table: Mapping[str, Any], own: frozenset[str]) -> dict[str, Any]:
    """Return the table of a player with ``FILE.py:CLASS`` replaced by what it stands for.

    Args:
      table: the player's table; its keys except `own` and ``parameters`` are the class's.
      own: keys that belong to the player.
    """
    reference = split_reference(table["agent"]) if isinstance(table.get("agent"), str) else {}
    inner = table.get("parameters", {})
    if not reference or not isinstance(inner, dict):
        return dict(table)
    rest = {key: value for key, value in table.items() if key not in own | {"parameters"}}
    player = {key: value for key, value in table.items() if key in own}
    return {**player, "agent": NAME, "parameters": {**reference, "parameters": {**rest, **inner}}}

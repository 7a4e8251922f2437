"""Kinds of component: the arguments of their factories, and what the factories return.

A plugin declares kinds of its own in the same way, and other plugins may add components of them::

    ENCODER: Kind[Encoder] = Kind(
        "go.encoder", "miai_go.nets.encoder:Encoder", ("size",), "Turns positions into planes"
    )
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.beliefs.protocol import BeliefSearcher, Bounds, RootedProblem
    from miai.beliefs.retention import Retention
    from miai.game import Game, State
    from miai.information import BeliefState
    from miai.parameters import ConfigFile
    from miai.playing.adjudication import Adjudicator
    from miai.playing.openings import OpeningReader
    from miai.playing.opponents import Opponents
    from miai.record import RecordFormat
    from miai.render import Renderer
    from miai.search.protocol import Evaluator, Search
    from miai.web.sections import WebSection

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of component.

    Attributes:
      name: its name; a plugin's own kinds are named ``plugin.kind``.
      returns: import path ``module:attribute`` of the class or protocol that factories return,
        imported when a component is built.
      context: names of the arguments that a factory takes before its parameters.
      summary: one line for `miai list`.
      optional: whether a factory may return None.
      adapters: other kinds whose components serve as this kind, each with the import path of an
        adapter: ``adapter(*context, component)`` returns a component of this kind.
    """

    name: str
    returns: str
    context: tuple[str, ...]
    summary: str
    optional: bool = False
    adapters: Mapping[str, str] = field(default_factory=dict)

    @property
    def contract(self) -> str:
        """The signature of a factory, as text."""
        arguments = ", ".join((*self.context, "parameters"))
        returned = self.returns.replace(":", ".") + (" or None" if self.optional else "")
        return f"factory({arguments}) -> {returned}"

    def fault(self, component: object) -> str | None:
        """Return what is wrong with an object that a factory returned; None if nothing is.

        An object satisfies a protocol if it has its methods and attributes; it need not inherit.
        """
        if component is None:
            return None if self.optional else f"returned None, not {self._wanted}"
        expected = imported(self.returns)
        if not getattr(expected, "_is_protocol", False):
            if isinstance(component, expected):
                return None
            return f"returned {type(component).__name__}, not {self._wanted}"
        # By names alone: signatures are checked by `miai plugins check`, once and not at every
        # build.
        missing = [name for name in _members(expected) if not hasattr(component, name)]
        if not missing:
            return None
        name = type(component).__name__
        return f"returned {name}, not {self._wanted}: it has no {', '.join(missing)}"

    @property
    def _wanted(self) -> str:
        return self.returns.replace(":", ".")


def imported(path: str) -> Any:
    """Return what an import path ``module:attribute`` names; errors of the import pass through.

    Raises `ImportError` if the path names no attribute.
    """
    module, _, attributes = path.partition(":")
    if not attributes:
        raise ImportError("an import path is written module:attribute")
    return operator.attrgetter(attributes)(importlib.import_module(module))


def _members(protocol: type) -> list[str]:
    names = {
        name
        for base in protocol.__mro__
        for name in (*vars(base), *vars(base).get("__annotations__", ()))
    }
    return sorted(name for name in names if not name.startswith("_"))


# The types are imported for annotations alone, from modules that ask the registry for nothing, so
# that any other module can import its kind from here.

GAME: Kind[Game] = Kind("game", "miai.game:Game", (), "A game")
AGENT: Kind[Agent] = Kind(
    "agent",
    "miai.agent:Agent",
    ("game",),
    "A player",
    adapters={"search": "miai.search.agent:SearchAgent"},
)
SEARCH: Kind[Search] = Kind(
    "search", "miai.search.protocol:Search", ("game",), "A search, which also plays as an agent"
)
EVALUATOR: Kind[Evaluator] = Kind(
    "evaluator", "miai.search.protocol:Evaluator", ("game",), "Values and priors of states"
)
BELIEF: Kind[BeliefState[State]] = Kind(
    "belief", "miai.information:BeliefState", ("game", "player"), "A set of possible worlds"
)
CONFIG_FILE: Kind[ConfigFile] = Kind(
    "config-file", "miai.parameters:ConfigFile", (), "A kind of config file, and its command"
)
RECORD_FORMAT: Kind[RecordFormat] = Kind(
    "record-format", "miai.record:RecordFormat", (), "A file format of game records"
)
OPENING_READER: Kind[OpeningReader] = Kind(
    "opening-reader", "miai.playing.openings:OpeningReader", ("game",), "Reads openings from a file"
)
ADJUDICATOR: Kind[Adjudicator] = Kind(
    "adjudicator",
    "miai.playing.adjudication:Adjudicator",
    ("game",),
    "Decides games before their end",
)
RENDERER: Kind[Renderer] = Kind(
    "renderer", "miai.render:Renderer", ("game",), "Shows a position to people"
)
OPPONENTS: Kind[Opponents] = Kind(
    "opponents", "miai.playing.opponents:Opponents", ("game",), "Opponents of a game by strength"
)
BELIEF_PROBLEM: Kind[RootedProblem] = Kind(
    "belief-problem",
    "miai.beliefs.protocol:RootedProblem",
    (),
    "A game for searches over beliefs, which draws roots",
)
BELIEF_SEARCH: Kind[BeliefSearcher] = Kind(
    "belief-search", "miai.beliefs.protocol:BeliefSearcher", ("problem",), "A search over beliefs"
)
BOUNDS: Kind[Bounds] = Kind(
    "bounds", "miai.beliefs.protocol:Bounds", ("universe",), "Bounds on the values of beliefs"
)
RETENTION: Kind[Retention] = Kind(
    "retention", "miai.beliefs.retention:Retention", (), "What bounds forget at their memory limit"
)
WEB_SECTION: Kind[WebSection] = Kind(
    "web-section", "miai.web.sections:WebSection", ("site",), "Pages of `miai web`"
)

KINDS: tuple[Kind[Any], ...] = (
    GAME,
    AGENT,
    SEARCH,
    EVALUATOR,
    BELIEF,
    CONFIG_FILE,
    RECORD_FORMAT,
    OPENING_READER,
    ADJUDICATOR,
    RENDERER,
    OPPONENTS,
    BELIEF_PROBLEM,
    BELIEF_SEARCH,
    BOUNDS,
    RETENTION,
    WEB_SECTION,
)
"""The kinds that the framework declares."""

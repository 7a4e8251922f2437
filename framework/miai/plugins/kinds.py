"""Kinds of components: what a factory is called with and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from miai.agent import Agent
    from miai.beliefs import BeliefSearcher, RootedProblem
    from miai.beliefs.bounds import Bounds
    from miai.beliefs.retention import Retention
    from miai.game import Game
    from miai.information import BeliefState
    from miai.playing.adjudication import Adjudicator
    from miai.playing.openings import OpeningReader
    from miai.record import RecordFormat
    from miai.render import Renderer
    from miai.search.protocol import Evaluator, Search

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of component. Its factories are called with a context and the filled parameters.

    Attributes:
      name: the kind's name; a plugin's own kinds are named ``plugin.kind``.
      summary: one line for people.
      returns: import path ``module:attribute`` of the class or runtime-checkable protocol that
        every component must be an instance of. It is imported when a component is built.
      context: names of the factory's arguments before the parameters.
      optional: whether a factory may return None.
      serves_as: a kind that components of this one can serve as, under their own names.
      adapter: import path of a callable that turns one into the other; it is called with the
        context and the component.
    """

    name: str
    summary: str
    returns: str
    context: tuple[str, ...] = ()
    optional: bool = False
    serves_as: str = ""
    adapter: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the factory's arguments."""
        return (*self.context, "parameters")

    @property
    def description(self) -> str:
        """The summary and the factory's signature."""
        returns = self.returns.replace(":", ".") + (" | None" if self.optional else "")
        return f"{self.summary}; factory({', '.join(self.arguments)}) -> {returns}"

    def accepts(self, built: object) -> bool:
        """Return whether a factory of this kind may return `built`."""
        if built is None:
            return self.optional
        return isinstance(built, load_path(self.returns))


def load_path(path: str) -> Any:
    """Return the object at an import path ``module:attribute``."""
    module, _, attribute = path.partition(":")
    loaded: Any = import_module(module)
    for part in attribute.split("."):
        loaded = getattr(loaded, part)
    return loaded


_GAME = ("game",)

GAME: Kind[Game] = Kind("game", "A game", "miai:Game")
AGENT: Kind[Agent] = Kind("agent", "A player", "miai:Agent", _GAME)
SEARCH: Kind[Search] = Kind(
    "search",
    "A search, which also plays as an agent",
    "miai.search:Search",
    _GAME,
    serves_as="agent",
    adapter="miai.search.agent:SearchAgent",
)
EVALUATOR: Kind[Evaluator] = Kind(
    "evaluator", "Values and priors of states", "miai.search:Evaluator", _GAME
)
BELIEF: Kind[BeliefState[Any]] = Kind(
    "belief", "A set of possible worlds", "miai:BeliefState", ("game", "player")
)
RECORD_FORMAT: Kind[RecordFormat] = Kind(
    "record-format", "A file format of game records", "miai.record:RecordFormat"
)
OPENING_READER: Kind[OpeningReader] = Kind(
    "opening-reader", "Reads openings from a file", "miai.playing.openings:OpeningReader", _GAME
)
ADJUDICATOR: Kind[Adjudicator] = Kind(
    "adjudicator",
    "Decides games before their end",
    "miai.playing.adjudication:Adjudicator",
    _GAME,
)
RENDERER: Kind[Renderer] = Kind(
    "renderer", "Shows a state to people", "miai.render:Renderer", _GAME
)
BELIEF_PROBLEM: Kind[RootedProblem] = Kind(
    "belief-problem",
    "A game for searches over beliefs, with roots",
    "miai.beliefs:RootedProblem",
)
BELIEF_SEARCH: Kind[BeliefSearcher] = Kind(
    "belief-search", "A search over beliefs", "miai.beliefs:BeliefSearcher", ("problem",)
)
BOUNDS: Kind[Bounds] = Kind(
    "bounds", "Bounds on the values of beliefs", "miai.beliefs.bounds:Bounds", ("universe",)
)
TOURNAMENT_FORMAT: Kind[Any] = Kind(
    "tournament-format",
    "Pairs the entrants of a tournament",
    "miai_tournaments.formats.format:Format",
    ("entrants",),
)
RETENTION: Kind[Retention] = Kind(
    "retention", "Which remembered beliefs are kept", "miai.beliefs.retention:Retention"
)

KINDS: tuple[Kind[Any], ...] = (
    *(GAME, AGENT, SEARCH, EVALUATOR, BELIEF, RECORD_FORMAT, OPENING_READER, ADJUDICATOR),
    *(RENDERER, BELIEF_PROBLEM, BELIEF_SEARCH, BOUNDS, TOURNAMENT_FORMAT, RETENTION),
)
"""The kinds that the framework declares."""

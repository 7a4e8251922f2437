"""The check of a renderer: what it draws, and where people click, in random games."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from html.parser import HTMLParser
from typing import Final, TypeAlias

from miai.api import renderer_for
from miai.game import Game, State
from miai.information import PlayerView
from miai.render import (
    AnnouncingRenderer,
    Clickable,
    Clicks,
    DrawingRenderer,
    ExplainedRenderer,
    Region,
    Renderer,
    StyledRenderer,
    hint_of,
)
from miai.testing.agent_checks import random_action
from miai.testing.findings import ConformanceReport, Findings, refuse_unknown_rules, shown

RENDERER_RULES: Mapping[str, str] = {
    "raises": "no method raises",
    "text": "render() and hint() return text, styled() a text of rich",
    "picture": "a picture is one svg element with a viewBox, as is each sample of a legend; "
    "it and the definitions are well formed, contain no script, no handler of events and no link "
    "but to an id in the definitions",
    "observations-alone": "text, picture and clicks depend on the view alone: not on earlier "
    "calls, nor on what is hidden from its player",
    "regions": "regions have names of their own, and lie inside the viewBox, as do their halos",
    "actions": "only legal actions are chosen by clicks, and each click is on a region",
    "paths": "no action's clicks begin with all clicks of another, unless they are the same",
}
"""What `check_renderer` checks, by the name of the rule."""

RendererFactory: TypeAlias = Callable[[Game], Renderer]
"""Builds the renderer of a game."""

_LINKS: Final = ("href", "xlink:href", "src")
_EMPTY_ELEMENTS: Final = frozenset(("br", "hr", "img", "input", "link", "meta"))


def check_renderer(
    game: Game,
    factory: RendererFactory = renderer_for,
    *,
    seed: int = 0,
    games: int = 5,
    max_plies: int | None = None,
    skip: Collection[str] = (),
) -> ConformanceReport:
    """Play random games and check every rule of `RENDERER_RULES` in all their positions.

    A renderer that only writes text is checked for its text, one that draws for its pictures too,
    and a `Clickable` for its regions.

    Args:
      game: the game.
      factory: builds the renderer; by default the registered one.
      seed: of the games and of what they draw.
      games: random games to play.
      max_plies: maximum number of players' actions in a game; None to play to the end.
      skip: names of rules not to check.

    Raises:
      ConformanceError: rules are broken; it lists the first violation of each, with the actions
        that lead to it.
      ParameterError: `skip` names no rule.
    """
    refuse_unknown_rules(skip, RENDERER_RULES)
    findings = Findings(subject=f"the renderer of {game!r}", seed=seed, skip=skip)
    renderer = factory(game)
    try:
        for problem in _legend_problems(renderer):
            findings.add("picture", f"legend(): {problem}", [])
    except Exception as error:
        findings.raised(error, "in legend()", [])
    seen: dict[tuple[int, str], tuple[object, ...]] = {}
    for number in range(games):
        findings.games += 1
        actions: list[int] = []
        try:
            rng = random.Random(f"{seed}/{number}")
            for state, views in _positions(game, rng, actions, max_plies):
                findings.positions += 1
                for problem in _state_problems(renderer, state):
                    findings.add("picture", f"svg_state(): {problem}", actions)
                for view in views:
                    _check_view(renderer, factory, view, seen, findings, actions)
        except Exception as error:
            findings.raised(error, "in a random game", actions)
    return findings.report()


def _positions(
    game: Game, rng: random.Random, actions: list[int], max_plies: int | None
) -> Iterator[tuple[State, list[PlayerView]]]:
    """Play a random game into `actions`, and yield each position with all views."""
    state = game.new_initial_state()
    views = [PlayerView(game, player) for player in range(game.num_players())]
    plies = 0
    while True:
        for view in views:
            observation = state.observation(view.player)
            if observation is not None:
                view.observe(observation)
        yield state, views
        if state.is_terminal() or (max_plies is not None and plies >= max_plies):
            return
        plies += not state.is_chance_node()
        actions.append(random_action(state, rng))
        state.apply_action(actions[-1])


def _check_view(
    renderer: Renderer,
    factory: RendererFactory,
    view: PlayerView,
    seen: dict[tuple[int, str], tuple[object, ...]],
    findings: Findings,
    actions: list[int],
) -> None:
    output = _output(renderer, view)
    # What was drawn first for the same observations, perhaps in another game, or a new renderer's.
    key = (view.player, repr(view.observations))
    # Twice from the same observations: a renderer that remembers, or knows the state, differs.
    if key not in seen:
        seen[key] = _output(factory(view.game), _copy(view))
    again = seen[key]
    for name, here, there in zip(("text", "picture", "clicks"), output, again, strict=True):
        if here != there:
            message = f"player {view.player}'s {name} is not the same for equal observations: "
            message += f"{shown(here)} and {shown(there)}"
            findings.add("observations-alone", message, actions)
    for rule, message in _problems(renderer, view, *output):
        findings.add(rule, f"player {view.player}: {message}", actions)


def _output(renderer: Renderer, view: PlayerView) -> tuple[object, object, Clicks | None]:
    drawn = renderer.svg(view) if isinstance(renderer, DrawingRenderer) else None
    clicks = renderer.clicks(view) if isinstance(renderer, Clickable) else None
    styled = renderer.styled(view).markup if isinstance(renderer, StyledRenderer) else ""
    news = renderer.news(view) if isinstance(renderer, AnnouncingRenderer) else ""
    return (renderer.render(view), hint_of(renderer, view), news, styled), drawn, clicks


def _copy(view: PlayerView) -> PlayerView:
    copy = PlayerView(view.game, view.player)
    for observation in view.observations:
        copy.observe(observation)
    return copy


def _problems(
    renderer: Renderer, view: PlayerView, texts: object, picture: object, clicks: Clicks | None
) -> Iterator[tuple[str, str]]:
    """Yield rules that are broken, and how."""
    if not (isinstance(texts, tuple) and all(isinstance(text, str) for text in texts)):
        yield "text", f"render() and hint() returned {shown(texts)}"
    if not isinstance(renderer, DrawingRenderer):
        return
    definitions = _Elements(renderer.svg_definitions())
    elements = _Elements(picture if isinstance(picture, str) else "")
    for problem in (*definitions.problems(definitions), *elements.problems(definitions)):
        yield "picture", problem
    view_box = elements.view_box()
    if view_box is None:
        yield "picture", f"svg() is not one svg element with a viewBox: {shown(picture)}"
    elif clicks is not None:
        for problem in _region_problems(clicks.regions, view_box):
            yield "regions", problem
        yield from _action_problems(clicks, view.legal_actions)


def _state_problems(renderer: Renderer, state: State) -> Iterator[str]:
    if isinstance(renderer, DrawingRenderer):
        elements = _Elements(renderer.svg_state(state.clone()))
        yield from elements.problems(_Elements(renderer.svg_definitions()))
        if elements.view_box() is None:
            yield "not one svg element with a viewBox"


def _legend_problems(renderer: Renderer) -> Iterator[str]:
    if not isinstance(renderer, ExplainedRenderer):
        return
    definitions = _Elements(renderer.svg_definitions())
    for sample, meaning in renderer.legend():
        elements = _Elements(sample)
        yield from elements.problems(definitions)
        if elements.view_box() is None:
            yield f"the sample of {meaning!r} is not one svg element with a viewBox"
        if not meaning.strip():
            yield f"a sample has no meaning: {shown(sample)}"


def _region_problems(regions: Collection[Region], view_box: tuple[float, ...]) -> Iterator[str]:
    counts = Counter(region.name for region in regions)
    for region in regions:
        if not region.name or counts[region.name] > 1:
            yield f"{counts[region.name]} regions have the name {region.name!r}"
        for box in filter(None, (region.box, region.halo)):
            if not _is_inside(box, view_box):
                yield f"{region.name!r}: {box} is not inside the viewBox {view_box}"


def _is_inside(box: tuple[float, ...], view_box: tuple[float, ...]) -> bool:
    x, y, width, height = box
    left, top, across, down = view_box
    inside = left <= x and top <= y and x + width <= left + across and y + height <= top + down
    return inside and width > 0 and height > 0


def _action_problems(clicks: Clicks, legal: Collection[int]) -> Iterator[tuple[str, str]]:
    names = {region.name for region in clicks.regions}
    whole = set(clicks.actions.values())
    for action, path in clicks.actions.items():
        if action not in legal:
            yield "actions", f"{path} chooses action {action}, which is not legal"
        if not path or not names.issuperset(path):
            yield "actions", f"the clicks of action {action}, {path}, are not all on regions"
        for end in range(1, len(path)):
            if path[:end] in whole:
                yield "paths", f"{path} begins with {path[:end]}, which chooses another action"


class _Elements(HTMLParser):
    """The elements of a piece of SVG, as a browser reads it inside a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._open: list[str] = []
        self._roots: list[tuple[str, dict[str, str | None]]] = []
        self._found: list[str] = []
        self._links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._begin(tag, attrs)
        if tag not in _EMPTY_ELEMENTS:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._begin(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self._found.append(f"</{tag}> closes no element")

    def _begin(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._open:
            self._roots.append((tag, dict(attrs)))
        if tag in ("script", "foreignobject", "iframe", "image", "style"):
            self._found.append(f"it contains <{tag}>")
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name in _LINKS:
                self._links.append(value or "")
            elif name.startswith("on") or "url(" in (value or "").replace("url(#", ""):
                self._found.append(f"it has the attribute {name}={value!r}")

    def problems(self, definitions: _Elements) -> Iterator[str]:
        """Yield what is wrong."""
        yield from self._found
        if self._open:
            yield f"<{self._open[-1]}> is not closed"
        for link in self._links:
            if link[:1] != "#" or link[1:] not in definitions.ids | self.ids:
                yield f"the link {link!r} does not lead to an id in the definitions"

    def view_box(self) -> tuple[float, ...] | None:
        """Return the viewBox of the only root element; None if there is none."""
        if [tag for tag, _ in self._roots] != ["svg"]:
            return None
        try:
            values = tuple(map(float, (self._roots[0][1].get("viewbox") or "").split()))
        except ValueError:
            return None
        return values if len(values) == 4 else None

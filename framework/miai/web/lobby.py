"""The forms of a new game: fields from parameter models, and settings from what was entered."""

from __future__ import annotations

import contextlib
import functools
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from starlette.requests import Request
from starlette.responses import Response

from miai.api import load_game, opponents_of, renderer_for
from miai.clock import IncrementPer, TimeControl
from miai.errors import ConfigError, MiaiError
from miai.game import Game, Player, sample_chance
from miai.information import PlayerView
from miai.markup import svg_document, tag
from miai.pages.document import printable
from miai.parameters import describe_parameters, set_parameter, value_of_text
from miai.plain import dumps, one_line
from miai.playing.opponents import Opponent
from miai.plugins.kinds import AGENT, GAME
from miai.plugins.loader import registry
from miai.plugins.registry import Component
from miai.render import DrawingRenderer
from miai.seeds import SEED_BITS
from miai.web.tables import PERSON, Chair, Setting, refuse_opened
from miai.web.templating import page

ME: Final = "me"
RANK: Final = "rank:"
"""Begins the value of a choice that is one of the game's `miai.playing.opponents.Opponents`."""
GUEST: Final = "guest"
"""How a form names the person at this browser, and another one who is invited."""

_CLOCK_FIELDS: Final = (
    ("seconds", "Seconds of each player, or of each move (per-move)", float),
    ("increment", "Seconds added to the clock (fischer)", float),
    ("increment_per", "What the increment is added after: an action, or a turn of several", str),
    ("periods", "Number of periods (byo-yomi)", int),
    ("period_seconds", "Seconds of a period (byo-yomi)", float),
)
CLOCKS: Final = ("none", "per-move", "absolute", "fischer", "byo-yomi")
LONGEST_NAME: Final = 24
"""Maximum length of a person's name."""
_LONGEST = 4000
FILTERS: Final = (
    ("players", "Players", ("1", "2", "3", "4+")),
    ("hidden", "Hidden information", ("yes", "no")),
    ("chance", "Chance", ("yes", "no")),
    ("simultaneous", "Simultaneous moves", ("yes", "no")),
)
"""What the games of the lobby are filtered by: a fact, its label and its values."""
_OPEN_FIELDS = 5  # of a game's rules; the others are folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a form.

    Attributes:
      name: its name in the form, such as ``game.board_size``.
      label: what it is called.
      kind: ``number``, ``checkbox``, ``select`` or ``text``.
      value: what it contains; for a checkbox ``true`` or ``false``.
      default: what is taken if it is left empty, as text.
      choices: of a select.
      low, high, step: of a number; empty for none.
      help: what it does, with its unit.
      mistake: what is wrong with its value; empty for nothing.
    """

    name: str
    label: str
    kind: str
    value: str = ""
    default: str = ""
    choices: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    step: str = "any"
    help: str = ""
    mistake: str = ""


def fields_of(
    component: Component[Any],
    game: str,
    prefix: str,
    entered: Mapping[str, str],
    mistakes: Mapping[str, str],
    programs: bool = False,
) -> list[Field]:
    """Return the fields of a component's parameters.

    Args:
      game: of which parameters that name a component offer those.
      prefix: of the fields' names.
      entered: the values of the form so far, by name.
      mistakes: what is wrong with them, by name.
      programs: whether there are fields that name programs and files of the server.
    """
    fields = []
    for row in _rows(component, programs):
        name, kinds, limits = f"{prefix}.{row['name']}", row["type"].split(" or "), row["limits"]
        default = "" if row["default"] is None else _text(row["default"])
        if not default:  # an empty field is null
            kinds = [kind for kind in kinds if kind != "null"]
        kind, choices = "text", tuple(map(str, limits.get("enum", ())))
        if row["component"]:
            named = registry().components(row["component"], game=game)
            choices = tuple(each.name for each in named)
        if kinds == ["boolean"]:
            choices = ("true", "false")
        if choices:
            kind = "select"
            choices = choices if default in choices else ("", *choices)
        elif kinds in (["integer"], ["number"]):
            kind = "number"
        facts = " ".join(filter(None, (_range(limits), row["unit"])))
        fields.append(
            Field(
                name=name,
                label=str(row["name"]).replace(".", ": ").replace("_", " "),
                kind=kind,
                value=entered.get(name, default if kind == "select" else ""),
                default="" if default[:1] in ("[", "{") else default,  # JSON helps nobody
                choices=choices,
                low=_limit(limits, "minimum", "exclusiveMinimum"),
                high=_limit(limits, "maximum", "exclusiveMaximum"),
                step="1" if kinds == ["integer"] else "any",
                help=f"{row['help']} ({facts})" if facts else row["help"],
                mistake=mistakes.get(name, ""),
            )
        )
    return fields


def _rows(component: Component[Any], programs: bool) -> list[dict[str, Any]]:
    """Return the parameters that a form has: without `programs` none that names one, or a file."""
    rows = describe_parameters(component.load_parameters())
    return [row for row in rows if programs or row.get("opens") not in ("program", "file")]


def _limit(limits: Mapping[str, Any], *names: str) -> str:
    return next((_text(limits[name]) for name in names if name in limits), "")


def _range(limits: Mapping[str, Any]) -> str:
    """Return the range of a number in words; empty for none."""
    low, high = _limit(limits, "minimum"), _limit(limits, "maximum")
    if low and high:
        return f"{low} to {high}"
    above, below = _limit(limits, "exclusiveMinimum"), _limit(limits, "exclusiveMaximum")
    words = (("at least", low), ("more than", above), ("at most", high), ("less than", below))
    return ", ".join(f"{word} {limit}" for word, limit in words if limit)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (list, tuple, dict)):
        return dumps(value)
    return str(getattr(value, "value", value))


def clock_fields(entered: Mapping[str, str], mistakes: Mapping[str, str]) -> list[Field]:
    """Return the fields of the clock."""
    kind = Field(
        name="clock.kind",
        label="clock",
        kind="select",
        choices=CLOCKS,
        value=entered.get("clock.kind", "none"),
        help="Time control, the same for each player",
        mistake=mistakes.get("clock", ""),
    )
    others = [
        Field(
            name=f"clock.{name}",
            label=name.replace("_", " "),
            kind="select" if of is str else "number",
            choices=get_args(IncrementPer) if of is str else (),
            low="" if of is str else "0",
            step="1" if of is int else "any",
            value=entered.get(f"clock.{name}", get_args(IncrementPer)[0] if of is str else ""),
            help=text,
        )
        for name, text, of in _CLOCK_FIELDS
    ]
    return [kind, *others]


def agents_of(game: str, *, programs: bool) -> list[Component[Any]]:
    """Return the agents that can play a game in a process of their own, sorted by name.

    Those that run code which their parameters name are left out without `programs`.
    """
    agents = registry().components(AGENT, game=game, adapted=True)
    return [a for a in agents if a.name != PERSON and (programs or not a.foreign)]


class FormError(Exception):
    """A form has mistakes.

    Attributes:
      mistakes: what is wrong, by the name of the field; under the empty name what concerns all.
    """

    def __init__(self, mistakes: Mapping[str, str]) -> None:
        super().__init__(*mistakes.values())
        self.mistakes = dict(mistakes)


async def entered_in(request: Request) -> dict[str, str]:
    """Return the values of the form that a request sends, by name."""
    async with request.form(max_files=0, max_fields=500) as form:
        return {key: value for key, value in form.items() if isinstance(value, str)}


def setting_of(
    game: str,
    entered: Mapping[str, str],
    *,
    browser: str,
    programs: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> Setting:
    """Return the setting that a form describes.

    Args:
      browser: of the person that filled it in.
      programs: whether it may name programs, files and weights of the server.
      parameters: the game's (default: those entered).

    Raises `FormError`.
    """
    mistakes: dict[str, str] = {}
    if parameters is None:
        parameters = _values(registry().get(GAME, game), game, "game", entered, mistakes, programs)
    # The default game stands in where the parameters are wrong, so that all mistakes are shown at
    # once.
    made = load_game(game)
    if not mistakes:
        try:
            made = load_game(game, **parameters)
        except (MiaiError, ValueError) as error:
            for name in _suspects(game, parameters) or ["game"]:
                mistakes[name] = one_line(str(error))
    chairs, ranks = [], opponents_of(made)
    for player, name in enumerate(made.info.player_names):
        chair = _chair(game, ranks, f"players.{player}", name, entered, mistakes, programs)
        if chair.agent in (ME, GUEST):
            own = chair.agent == ME
            name = name_of(entered) if own else ""
            chair = Chair(agent=PERSON, browser=browser if own else "", name=name)
        chairs.append(chair)
    if sum(chair.browser != "" for chair in chairs) > 1:
        mistakes[""] = "you can play for one player only: invite somebody for the other"
    clock = _clock(entered, mistakes)
    seed = _seed(entered, mistakes)
    if mistakes:
        raise FormError(mistakes)
    return Setting(game=game, parameters=parameters, chairs=chairs, seed=seed, clock=clock)


def name_of(entered: Mapping[str, str]) -> str:
    """Return the name of the person who filled a form in; empty for none."""
    text = entered.get("name", "").strip()
    return printable(text, LONGEST_NAME) if text else ""


def _suspects(game: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return the fields whose defaults alone would make a game of wrong parameters right."""
    suspects = []
    for name in parameters:
        others = {each: value for each, value in parameters.items() if each != name}
        with contextlib.suppress(MiaiError, ValueError):
            load_game(game, **others)
            suspects.append(f"game.{name}")
    return suspects


def _chair(
    game: str,
    ranks: Sequence[Opponent],
    prefix: str,
    name: str,
    entered: Mapping[str, str],
    mistakes: dict[str, str],
    programs: bool,
) -> Chair:
    agent = entered.get(f"{prefix}.agent", "")
    if agent in (ME, GUEST):
        return Chair(agent=agent)
    if agent.startswith(RANK):
        for opponent in ranks:
            if RANK + opponent.name == agent:
                return Chair(agent=opponent.agent, parameters=dict(opponent.parameters))
        mistakes[f"{prefix}.agent"] = "this opponent cannot play this game; choose another"
        return Chair(agent=agent)
    known = {component.name: component for component in agents_of(game, programs=programs)}
    if agent not in known:
        mistakes[f"{prefix}.agent"] = f"choose who plays for {name}"
        return Chair(agent=agent)
    values = _values(known[agent], game, prefix, entered, mistakes, programs)
    return Chair(agent=agent, parameters=values)


def _values(
    component: Component[Any],
    game: str,
    prefix: str,
    entered: Mapping[str, str],
    mistakes: dict[str, str],
    programs: bool,
) -> dict[str, Any]:
    """Return the parameters that were entered; note what is wrong with them."""
    values = dict[str, Any]()
    rows = _rows(component, programs)
    for row in rows:
        text = entered.get(f"{prefix}.{row['name']}", "").strip()[:_LONGEST]
        if text and text != ("" if row["default"] is None else _text(row["default"])):
            set_parameter(values, row["name"], value_of_text(text, row["type"]))
    try:
        filled = component.fill(values, where=prefix)
        registry().check_named(filled, game, where=prefix)
        if not programs:
            refuse_opened(component.kind, component.name, values, game, prefix)
    except MiaiError as error:
        for line in str(error).splitlines():
            field, _, message = line.partition(": ")
            known = field if any(field == f"{prefix}.{row['name']}" for row in rows) else prefix
            mistakes[known] = message or line
    return values


def _clock(entered: Mapping[str, str], mistakes: dict[str, str]) -> dict[str, Any]:
    kind = entered.get("clock.kind", "none")
    values: dict[str, Any] = {"kind": kind}
    try:
        for name, _, of in _CLOCK_FIELDS:
            if text := entered.get(f"clock.{name}", "").strip():
                values[name] = of(text)
        if kind not in CLOCKS:
            raise ConfigError(f"'{kind[:40]}' is not a clock; choose one of {', '.join(CLOCKS)}")
        TimeControl(**values)
    except (ConfigError, ValueError, OverflowError) as error:
        mistakes["clock"] = str(error).removeprefix("time control: ")
    return values


def _seed(entered: Mapping[str, str], mistakes: dict[str, str]) -> int:
    text = entered.get("seed", "").strip()
    if not text:
        return secrets.randbits(SEED_BITS)
    if not text.isdecimal() or len(text) > 40:
        mistakes["seed"] = "expected a whole number of at least 0"
        return 0
    return int(text)


def picture_of(name: str) -> str:
    """Return the beginning of a game as a whole ``svg`` document, or its initial letter.

    Raises `PluginError` if the game cannot be loaded.
    """
    game = load_game(name)
    renderer, definitions = renderer_for(game), ""
    if isinstance(renderer, DrawingRenderer):
        picture, definitions = renderer.svg(_first_view(game)), renderer.svg_definitions()
    else:
        letter = tag(
            "text",
            name.rpartition(":")[2][:1].upper(),
            x=50,
            y=66,
            font_size=48,
            font_family="sans-serif",
            text_anchor="middle",
            fill="#808890",
        )
        picture = tag("svg", letter, viewBox="0 0 100 100")
    return svg_document(picture, definitions)


def _first_view(game: Game) -> PlayerView:
    """Return the first player's view when somebody is first to act, after some draws of chance."""
    view, state, rng = PlayerView(game, 0), game.new_initial_state(), random.Random(1)
    while True:
        if (observation := state.observation(0)) is not None:
            view.observe(observation)
        if state.current_player() != Player.CHANCE:
            return view
        state.apply_action(sample_chance(state, rng))  # the first outcome may come back for ever


def title_of(name: str) -> str:
    """Return the name of a game as a title: ``Matching pennies``, and initials such as ``RBC``."""
    words = name.rpartition(":")[2].replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:] if set(words) & set("aeiouy") else words.upper()


@functools.cache
def facts_of(name: str) -> Mapping[str, str]:
    """Return the values of a game's `FILTERS`, by fact; empty if the game cannot be loaded."""
    try:
        info = load_game(name).info
    except MiaiError:
        return {}
    flags = not info.perfect_information, info.max_chance_outcomes > 0, info.simultaneous
    players = str(info.num_players) if info.num_players < 4 else "4+"
    values = [players, *("yes" if flag else "no" for flag in flags)]
    return {fact: value for (fact, *_), value in zip(FILTERS, values, strict=True)}


def players_of(game: Game) -> Sequence[str]:
    """Return the names of a game's players, for people."""
    return [printable(name, 40) for name in game.info.player_names]


def form_page(
    game: str,
    entered: Mapping[str, str],
    mistakes: Mapping[str, str],
    programs: bool,
    *,
    me: int = 0,
    parameters: Mapping[str, Any] | None = None,
    action: str = "",
    heading: str = "",
    notes: Sequence[str] = (),
) -> Response:
    """Return the form of a game.

    Args:
      entered: its values so far, by name.
      mistakes: what is wrong with them, by name.
      programs: whether it has fields that name programs and files of the server.
      me: the player for whom the person at the browser plays unless another one is chosen.
      parameters: the game's; None if they are fields of the form.
      action: the address to which the form is sent (default: that of new games).
      heading, notes: what stands above the form (default: the game's name and summary).
    """
    component = registry().get(GAME, game)
    try:
        made = _game_of(game, entered, parameters, programs)
        names = players_of(made)
        fields = fields_of(component, game, "game", entered, mistakes, programs)
    except MiaiError as error:
        return page("problem.html", problem=one_line(str(error)), status=409)
    agents, ranks = agents_of(game, programs=programs), opponents_of(made)
    opponent = RANK + ranks[len(ranks) // 2].name if ranks else ME  # of middling strength
    players = []
    for player, name in enumerate(names):
        prefix = f"players.{player}"
        chosen = entered.get(f"{prefix}.agent", ME if player == me else opponent)
        known = next((agent for agent in agents if agent.name == chosen), None)
        own = fields_of(known, game, prefix, entered, mistakes, programs) if known else []
        players.append((prefix, name, chosen, own, mistakes.get(f"{prefix}.agent", "")))
    return page(
        "game.html",
        scripts=["game.js"],
        game=game,
        action=action or f"/games/{game}",
        heading=heading or f"New game of {title_of(game)}",
        notes=notes or [component.summary],
        fields=fields[:_OPEN_FIELDS] if parameters is None else [],
        folded=fields[_OPEN_FIELDS:] if parameters is None else [],
        players=players,
        name=entered.get("name", ""),
        choices=[(ME, "you"), (GUEST, "somebody you invite")],
        ranks=[
            (RANK + o.name, f"{level}: {o.summary or o.name}") for level, o in enumerate(ranks, 1)
        ],
        agents=[(agent.name, agent.summary) for agent in agents],
        clock=clock_fields(entered, mistakes),
        seed=entered.get("seed", ""),
        mistakes=mistakes,
    )


def _game_of(
    game: str, entered: Mapping[str, str], parameters: Mapping[str, Any] | None, programs: bool
) -> Game:
    """Return the game with the parameters, or as entered; by default where that is wrong.

    The number of players may depend on the parameters.
    """
    mistakes: dict[str, str] = {}
    if parameters is None:
        parameters = _values(registry().get(GAME, game), game, "game", entered, mistakes, programs)
    with contextlib.suppress(MiaiError, ValueError):
        if not mistakes:
            return load_game(game, **parameters)
    return load_game(game)

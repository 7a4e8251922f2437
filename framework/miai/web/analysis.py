"""What is shown beside a board on request: what agents thought, and what a player may infer.

In a game that hides something, the thoughts of an agent tell what it knows: they are for games of
perfect information, for games between agents, and for games that are over. What a player infers is
made from its own observations.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from miai.game import Game, State
from miai.information import PlayerView
from miai.pages.document import printable, printable_block
from miai.pages.layout import name
from miai.pages.replay_frames import BeliefFollower, ReplayDecision, decision_of
from miai.pages.replay_page import graph_sections
from miai.plain import dumps, to_plain
from miai.record import MoveRecord
from miai.render import Clickable, EstimatingRenderer, Renderer, estimate_of
from miai.values import Evaluation

_LONGEST = 60
_MOST_WORLDS = 20_000


class Place(TypedDict):
    """An action of a line: its notation, and its area in the picture, None without one."""

    action: int
    text: str
    box: Sequence[float] | None


class Considered(Place):
    """An action that an agent considered; figures as texts, empty if not recorded.

    `share` is of the visits or, without visits, the prior probability.
    """

    visits: str
    value: str
    prior: str
    share: float


class Thoughts(TypedDict):
    """What an agent recorded about a decision.

    Attributes:
      who: the player's name.
      value: its value of the position, for itself, with its unit; empty if not recorded.
      considered: the actions that it considered, best first.
      line: the play that it expects, its own action first.
    """

    who: str
    value: str
    considered: list[Considered]
    line: list[Place]


class EstimateView(TypedDict):
    """What a position may be, or how it may end: a picture, or a text where there is none."""

    title: str
    picture: str
    text: str


def thoughts_of(
    statistics: Mapping[str, Any],
    before: State,
    player: int,
    renderer: Renderer,
    shown: State | None = None,
) -> Thoughts:
    """Return what an agent recorded about its decision.

    Args:
      before: the position, not changed; in a game that hides something the initial one, of which
        only the notation is used.
      player: the agent's.
      renderer: the game's; it says where actions are if nothing is hidden.
      shown: the position on the page, whose last move is not covered; None for `before`.
    """
    decision = decision_of(statistics, before)
    info = before.game.info
    boxes = _boxes(before, player, renderer)
    last = _last_box(shown or before, renderer)
    considered = _considered(decision, boxes, before)
    line = _line(statistics.get("pv"), before, renderer)
    for place in (*considered, *line):
        place["box"] = None if place["box"] == last else place["box"]
    evaluation = decision.evaluation
    return {
        "who": info.player_names[player],
        "value": "" if evaluation is None else printable(evaluation.text(info), _LONGEST),
        "considered": considered,
        "line": line,
    }


def _considered(
    decision: ReplayDecision, boxes: Mapping[int, Sequence[float]], before: State
) -> list[Considered]:
    total = sum(candidate.visits or 0.0 for candidate in decision.candidates)
    rows: list[Considered] = []
    for candidate in decision.candidates:
        value = None if candidate.value is None else Evaluation(candidate.value, decision.unit)
        visits = candidate.visits
        share = candidate.prior or 0.0 if visits is None else visits / (total or 1)
        rows.append(
            {
                "action": candidate.action,
                "text": printable(candidate.text, _LONGEST),
                "box": boxes.get(candidate.action),
                "visits": "" if visits is None else f"{visits:g}",
                "value": "" if value is None else value.number_text(before.game.info),
                "prior": "" if candidate.prior is None else f"{100 * candidate.prior:.1f} %",
                "share": min(1.0, max(0.0, share)),
            }
        )
    return rows


def _line(actions: Any, before: State, renderer: Renderer) -> list[Place]:
    """Return a line of play as far as it can be followed from a position without secrets.

    It ends where several players act at once.
    """
    if not before.game.info.perfect_information or not isinstance(actions, Sequence):
        return []
    state, line = before.clone(), list[Place]()
    for action in actions[:12]:
        if state.current_player() < 0 or type(action) is not int:
            break
        if not state.is_legal(action):
            break
        box = _boxes(state, state.next_actor(), renderer).get(action)
        text = printable(state.action_to_string(action), _LONGEST)
        line.append({"action": action, "text": text, "box": box})
        state.apply_action(action)
    return line


def _boxes(state: State, player: int, renderer: Renderer) -> dict[int, Sequence[float]]:
    """Return the area in which each legal action ends; none where anything is hidden."""
    if not isinstance(renderer, Clickable) or not state.game.info.perfect_information:
        return {}
    clicks = renderer.clicks(PlayerView.at(state, player))
    boxes = {region.name: region.box for region in clicks.regions}
    return {action: boxes[path[-1]] for action, path in clicks.actions.items() if path}


def _last_box(state: State, renderer: Renderer) -> Sequence[float] | None:
    """Return the area in which the last action ended; None where anything is hidden."""
    history = state.history() if state.game.info.perfect_information else []
    if not history:
        return None
    before = state.game.new_initial_state()
    for action in history[:-1]:
        before.apply_action(action)
    return _boxes(before, before.next_actor(), renderer).get(history[-1])


def analysis_of(game: Game, moves: Sequence[MoveRecord], renderer: Renderer) -> dict[str, Any]:
    """Return the values over a game as a picture, and the latest thoughts of any agent.

    The reader may see all of the game.
    """
    state = game.new_initial_state()
    before: State | None = None
    last = max((ply for ply, move in enumerate(moves) if move.statistics), default=-1)
    for ply, move in enumerate(moves):
        if ply == last and move.actor >= 0:
            before = state.clone()
        state.apply_action(move.action)
    latest: Thoughts | None = None
    if before is not None:
        move = moves[last]
        latest = thoughts_of(move.statistics, before, move.actor, renderer, shown=state)
    players = [name(player, _LONGEST) for player in game.info.player_names]
    graphs = graph_sections(moves, game, players=players, heading="h3")
    return {"graph": "".join(graphs), "thoughts": latest}


class Estimates:
    """Estimates of one player, or of an onlooker at a game without secrets.

    The latest one is kept: it is the same for everybody who asks about the same position.

    Args:
      game: the game.
      renderer: the game's, used for nothing else.
    """

    def __init__(self, game: Game, renderer: Renderer) -> None:
        self._game, self._renderer = game, renderer
        self._lock = threading.Lock()
        self._position: object = None
        self._latest: EstimateView | None = None
        self._follower: BeliefFollower | None = None
        self._followed: list[str] = []

    @property
    def title(self) -> str:
        """What is estimated; empty if nothing can be."""
        if not self._game.info.perfect_information:
            return "belief"
        return estimate_of(self._renderer)

    def of(self, view: PlayerView) -> EstimateView:
        """Return the estimate from what a player has observed."""
        known = self._game.info.perfect_information
        observations = view.observations[-1:] if known else view.observations[:]
        observed = [dumps(to_plain(asdict(seen), what="an observation")) for seen in observations]
        position = (view.state.key() if known else None, observed)
        with self._lock:
            # Under the lock: a second page that asks about the same position waits for the first
            # one.
            if self._latest is None or self._position != position:
                self._latest = self._estimate(view) if known else self._belief(view, observed)
                self._position = position
            return self._latest

    def _estimate(self, view: PlayerView) -> EstimateView:
        renderer, picture = self._renderer, ""
        if isinstance(renderer, EstimatingRenderer):
            picture = renderer.svg_estimate(view)
        return {"title": self.title, "picture": picture, "text": ""}

    def _belief(self, view: PlayerView, observed: list[str]) -> EstimateView:
        if self._follower is None or observed[: len(self._followed)] != self._followed:
            self._followed = []
            self._follower = BeliefFollower(self._game, view.player, limit=_MOST_WORLDS)
        for observation in view.observations[len(self._followed) : len(observed)]:
            self._follower.observe(observation)
        self._followed = observed
        worlds = self._follower.worlds(self._renderer, view)
        if worlds.count is None:
            return {"title": f"belief: {worlds.note}", "picture": "", "text": ""}
        size = f"{worlds.count:,} possible world{'' if worlds.count == 1 else 's'}"
        return {
            "title": size if worlds.complete else f"a sample of {size}",
            "picture": worlds.picture,
            "text": printable_block(worlds.certain),
        }

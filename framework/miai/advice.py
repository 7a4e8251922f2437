"""What is told to a person of searches: chances, lines of play, the best moves of a hint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from miai.game import Game, State
from miai.information import PlayerView
from miai.record import MoveRecord
from miai.render import Renderer, action_text
from miai.search.protocol import SearchResult

_BEST = 5
"""Moves of a hint."""
_EXPECTED = 5
"""Moves of a line of play."""


@runtime_checkable
class MarkingRenderer(Renderer, Protocol):
    """A renderer that can put marks on what it shows."""

    def marked(self, view: PlayerView, marks: Mapping[int, str]) -> str:
        """Return what `render` does, with a character at the place of each action where it can."""


def hint_text(view: PlayerView, renderer: Renderer, result: SearchResult) -> str:
    """Return what a search advises the player of a view, whose turn it is."""
    state = view.state
    priors = _priors(result)
    best = _best(result, priors)
    lines = []
    if isinstance(renderer, MarkingRenderer):
        marks = {action: str(number) for number, action in enumerate(best, 1)}
        lines.append(renderer.marked(view, marks))
    for number, action in enumerate(best, 1):
        told = ", ".join(_told_of_action(state.game, result, priors, action))
        lines.append(f"{number}. {action_text(state, action)}: {told}")
    if expected := line_text(state, result.pv[: 1 + _EXPECTED]):
        lines.append(f"Expected: {expected}")
    return "\n".join(lines)


def told_of(state: State, move: MoveRecord) -> str:
    """Return what a player did and thinks of it, on one line.

    Args:
      state: the position after the move.
    """
    name = state.game.info.player_names[move.actor]
    facts = _thoughts(state, move.statistics)
    if move.seconds is not None:
        facts.append(f"{move.seconds:.1f} s")
    return f"{name} played {move.text}" + (f": {', '.join(facts)}" if facts else "")


def chance_text(game: Game, value: float) -> str:
    """Return a utility in words: a winning chance where two win or lose, else a number."""
    info = game.info
    if info.utility_sum is None or info.num_players != 2 or info.min_utility >= info.max_utility:
        return f"value {value:+.2f}"
    share = (value - info.min_utility) / (info.max_utility - info.min_utility)
    return f"win rate {100 * min(max(share, 0.0), 1.0):.0f} %"


def line_text(state: State, actions: Sequence[int]) -> str:
    """Return a line of play from a state, as far as it is legal."""
    names = []
    state = state.clone()
    for action in actions:
        if state.is_terminal() or state.is_chance_node() or not state.is_legal(action):
            break
        names.append(state.action_to_string(action))
        state.apply_action(action)
    return " ".join(names)


def _told_of_action(
    game: Game, result: SearchResult, priors: Mapping[int, float], action: int
) -> list[str]:
    """Return what is known of an action: its value where it was tried, else how likely it is."""
    facts, value = [], result.values.get(action)
    if value is None and (action == result.action or action not in priors):
        value = result.value
    if value is not None:
        facts.append(chance_text(game, value))
    if action in result.visits:
        facts.append(f"{result.visits[action]} visits")
    elif action in priors:
        facts.append(f"prior {100 * priors[action]:.0f} %")
    return facts


def _priors(result: SearchResult) -> dict[int, float]:
    """Return the priors of a search that tells them as pairs, likeliest first."""
    pairs = result.statistics.get("priors")
    if not isinstance(pairs, Sequence) or isinstance(pairs, str):
        return {}
    return {int(pair[0]): float(pair[1]) for pair in pairs if isinstance(pair, list) and pair[1]}


def _best(result: SearchResult, priors: Mapping[int, float]) -> list[int]:
    """Return the moves to tell of, the one to play first: by visits, without any by priors."""
    tried = [action for action, visits in result.visits.items() if visits > 0]
    tried.sort(key=lambda action: (action != result.action, -result.visits[action], action))
    if not tried:
        tried = [result.action, *(action for action in priors if action != result.action)]
    return tried[:_BEST]


def _thoughts(state: State, statistics: Mapping[str, object]) -> list[str]:
    facts = []
    value, simulations = statistics.get("value"), statistics.get("simulations")
    if isinstance(value, int | float):
        facts.append(f"its {chance_text(state.game, float(value))}")
    if isinstance(simulations, int):
        facts.append(f"{simulations} simulations")
    pv = statistics.get("pv")
    if isinstance(pv, Sequence) and not isinstance(pv, str):
        expected = line_text(state, [a for a in pv[1 : 1 + _EXPECTED] if isinstance(a, int)])
        facts += [f"expects {expected}"] if expected else []
    return facts

"""What a player has observed in a history of actions."""

from __future__ import annotations

from collections.abc import Sequence

from miai import Agent, Game, Observation, PlayerView


def seen_by(game: Game, seat: int, history: Sequence[int]) -> list[Observation]:
    """Return what a seat observes in a history."""
    state = game.new_initial_state()
    seen = [state.observation(seat)]
    for action in history:
        state.apply_action(action)
        seen.append(state.observation(seat))
    return [observation for observation in seen if observation is not None]


def view_of(game: Game, seat: int, history: Sequence[int]) -> PlayerView:
    view = PlayerView(game, seat)
    for observation in seen_by(game, seat, history):
        view.observe(observation)
    return view


def at(agent: Agent, *history: int, player: int) -> Agent:
    """Bring an agent to the view of a history."""
    agent.new_game(5, player=player)
    for observation in seen_by(agent.game, player, history):
        agent.observe(observation)
    return agent

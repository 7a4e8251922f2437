"""What a player has observed in a history of actions."""

from __future__ import annotations

from collections.abc import Sequence

import miai
from miai import Agent, Game, Observation, PlayerView, State

TTT = miai.load_game("tic_tac_toe")


def state_after(game: Game | str, *actions: int | str) -> State:
    """Return the state after actions, numbers or texts, of a game or that of a name."""
    state = (miai.load_game(game) if isinstance(game, str) else game).new_initial_state()
    for action in actions:
        state.apply_action(state.string_to_action(action) if isinstance(action, str) else action)
    return state


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


def at(agent: Agent, *history: int, player: int, seed: int = 5) -> Agent:
    """Bring an agent to the view of a history."""
    agent.new_game(seed, player=player)
    for observation in seen_by(agent.game, player, history):
        agent.observe(observation)
    return agent

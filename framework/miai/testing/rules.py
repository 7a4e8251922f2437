"""The rules that games and agents are checked for, in words."""

from __future__ import annotations

from collections.abc import Mapping

GAME_RULES: Mapping[str, str] = {
    "info": "the facts in GameInfo do not contradict each other",
    "raises": "no method raises where its contract knows no error",
    "clone": "a clone answers like its original; playing on one leaves the other as it was",
    "child": "child(a) is clone() and apply_action(a), and so is apply_unchecked(a)",
    "serialise": "deserialize(serialize()) answers every question like the original",
    "legal-actions": "legal actions are ascending ints in range, none exactly when the game is "
    "over, and is_legal() agrees",
    "illegal-action": "an illegal action raises IllegalActionError or InvalidActionError and "
    "changes nothing",
    "action-text": "each legal action has a text of its own, which string_to_action() reads; it "
    "depends on the action alone where the game hides information",
    "deterministic": "the same actions, those of chance included, lead to the same positions",
    "returns": "returns are zero before the end, then within the bounds and of the stated sum",
    "game-length": "a game is over after max_game_length() actions of players",
    "chance": "probabilities at a chance node are positive and sum to one; elsewhere are none",
    "key": "positions with equal keys have equal futures",
    "tensor": "an observation tensor is finite float32 of the stated shape",
    "observation": "a player is told of its own actions and, on its turn, of its legal actions",
    "observation-plain": "an observation is plain data: no state, no object, nothing that JSON "
    "cannot hold",
    "perfect-information": "with perfect information the observed actions rebuild the state",
    "observation-leak": "in one information state a player has been told the same",
    "legal-actions-leak": "legal actions depend on the mover's information state alone",
    "information-string-leak": "the information state's string depends on what was told alone",
    "tensor-leak": "the observation tensor depends on what was told alone",
    "state-reachable": "nothing that a player holds leads to a state of the game in progress",
    "belief": "the true state is in every belief, beside worlds in which the same was told only",
    "resampling": "a resampled state is one of the player's worlds",
    "resampling-leak": "resampling does not find the true world every time where there are others",
}
"""What `check_game` checks, by the name of the rule."""

AGENT_RULES: Mapping[str, str] = {
    "raises": "no call raises",
    "decision": "act() returns a Decision of plain data with a legal action",
    "view": "the agent's view holds what the agent was told, unchanged",
    "seeded": "the same seed and the same observations give the same decisions",
    "carried-over": "games played before change no decision",
}
"""What `check_agent` checks, by the name of the rule, for every seat of the game."""

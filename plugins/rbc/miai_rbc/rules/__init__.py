"""The rules of Reconnaissance Blind Chess: boards, actions, observations and states."""

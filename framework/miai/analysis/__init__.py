"""Recorded games judged move by move, by the strongest agent that is installed for them."""

"""Searches guided by networks: trees of many games, and the players that go by them."""

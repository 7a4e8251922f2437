"""Tic-tac-toe, phantom tic-tac-toe and Kuhn poker for miai.

Three small games, each the smallest of its class: perfect information, hidden moves, and
chance with hidden cards. docs/tutorial.md builds them step by step.
"""

"""The package `reconchess`: its bots as players, its histories as records."""

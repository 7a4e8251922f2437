"""How a run goes: schedule, games, verdicts, signals, the sitting from start to end."""

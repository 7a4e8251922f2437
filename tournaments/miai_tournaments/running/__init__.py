"""Running a tournament: start, schedule, games, decisions, signals and the end."""

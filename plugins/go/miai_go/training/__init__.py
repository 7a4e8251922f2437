"""Training: games in, weights out; every step a command with a config that resumes exactly."""

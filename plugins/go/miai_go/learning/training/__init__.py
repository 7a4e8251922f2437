"""Training runs: configs, lessons, learners, checkpoints, measurements."""

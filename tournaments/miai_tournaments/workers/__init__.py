"""Who plays the games: this process, or workers of their own."""

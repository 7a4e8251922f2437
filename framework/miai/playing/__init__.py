"""Playing games: the referee, replays, openings and adjudication."""

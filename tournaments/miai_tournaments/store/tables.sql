CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE players (
    name TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    given TEXT NOT NULL,
    parameters TEXT NOT NULL,
    team TEXT NOT NULL DEFAULT ''
);
CREATE TABLE games (
    game_id TEXT PRIMARY KEY,
    pair_id TEXT NOT NULL,
    round INTEGER NOT NULL,
    players TEXT NOT NULL,
    seed INTEGER NOT NULL,
    opening TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'void')),
    returns TEXT NOT NULL DEFAULT '[]',
    termination TEXT NOT NULL DEFAULT '',
    loser INTEGER,
    detail TEXT NOT NULL DEFAULT '',
    moves INTEGER NOT NULL DEFAULT 0,
    player_moves TEXT NOT NULL DEFAULT '[]',
    seconds TEXT NOT NULL DEFAULT '[]',
    cpu_seconds TEXT NOT NULL DEFAULT '[]',
    wall_seconds REAL NOT NULL DEFAULT 0,
    started TEXT NOT NULL DEFAULT '',
    versions TEXT NOT NULL DEFAULT '{}',
    void_count INTEGER NOT NULL DEFAULT 0,
    void_reason TEXT NOT NULL DEFAULT '',
    settings TEXT NOT NULL DEFAULT '{}',
    surplus INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER
);
CREATE INDEX games_by_status ON games (surplus, status, round, pair_id, game_id);
CREATE TABLE records (
    game_id TEXT PRIMARY KEY REFERENCES games (game_id),
    record TEXT NOT NULL,
    checksum INTEGER
);

"""The table [format], seeds and teams: what contradicts itself is told by path before any game."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.whole_texts import assert_expected

from miai.errors import ConfigError
from miai.plugins.loader import registry
from miai_tournaments.config.load import Tournament, load_tournament
from miai_tournaments.formats.format import how_many

HEAD = '[tournament]\nname = "x"\n'
GAME = '[game]\nname = "tic_tac_toe"\n'
TWO = '[[players]]\nname = "ann"\nagent = "random"\n[[players]]\nname = "bob"\nagent = "random"\n'
DEEP = '[[players]]\nname = "deep"\nagent = "mcts"\n'
POKER = '[game]\nname = "kuhn_poker"\n'
MATCH = '[format]\nname = "match"\npairs = 9\n'
GO = '[game]\nname = "go"\nboard_size = 5\n'


def load(folder: Path, *parts: str) -> Tournament:
    path = folder / "x.toml"
    path.write_text("".join(parts))
    return load_tournament(path)


MISTAKES = (
    (HEAD, '[format]\nname = "swis"\n', GAME, TWO),
    (HEAD, "[format]\nrounds = 3\n", GAME, TWO),
    (HEAD, '[format]\nname = "match"\npairs = 3\n', GAME, TWO, DEEP),
    (HEAD, "rounds = 3\n", '[format]\nname = "swiss"\nrounds = 1\n', GAME, TWO),
    (HEAD, "rounds = 3\n", '[format]\nname = "round-robin"\nrounds = 3\n', GAME, TWO),
    (HEAD, '[format]\nname = "match"\npairs = 900000\n', GAME, TWO),
    (
        *(HEAD, '[format]\nname = "sweep"\nplayer = "dep"\n'),
        *("vary = {simulations = [1]}\n", GAME, DEEP),
    ),
    *(
        (
            *(HEAD, '[format]\nname = "sweep"\nplayer = "deep"\nsamples = 2\n'),
            *(f'method = "random"\nvary = {{x = {values}}}\n', GAME, DEEP, TWO),
        )
        for values in (
            "{low = 1, hihg = 3}",
            "{low = nan, high = 3.0}",
            "{low = 3, high = 1}",
            "5",
            "[5, 6, 5]",
            "[[1]]",
        )
    ),
    (
        *(HEAD, '[format]\nname = "sweep"\nplayer = "deep"\n'),
        *("vary = {simulations = [1]}\n", GAME, DEEP, TWO, 'team = "deep"\n'),
    ),
    (
        *(HEAD, '[format]\nname = "pairings"\n[[format.pairings]]\nfirst = "ann"\n'),
        *('second = "bob"\nsettings = {kmoi = 3}\n', GO, TWO),
    ),
    (
        *(HEAD, '[format]\nname = "pairings"\n[[format.pairings]]\nfirst = "ann"\n'),
        *('second = "bob"\nsettings = {handicap = 9}\n', GO, TWO),
    ),
    (HEAD, MATCH, "sprt = {elo0 = 0, elo1 = 10}\n", POKER, TWO),
    (HEAD, MATCH, "payoff_test = {mean0 = 0, mean1 = 0.1}\n", GAME, TWO),
    (HEAD, MATCH, "payoff_test = {mean0 = 0, mean1 = 3}\n", POKER, TWO),
    (HEAD, MATCH, "payoff_test = {mean0 = 0.2, mean1 = 0.1}\n", POKER, TWO),
    (HEAD, MATCH, "payoff_test = {mean0 = 0.0, mean1 = 0.1, alpha = 0.7}\n", POKER, TWO),
    (HEAD, '[format]\nname = "adaptive"\npairs = 5\n', POKER, TWO),
    (HEAD, GAME, TWO, DEEP, "seeds = [1, 1]\n"),
    (HEAD, GAME, TWO, DEEP, "seeds = [1]\n", DEEP.replace("deep", "Deep-s1")),
    (HEAD, GAME, TWO, DEEP.replace("deep", "d" * 39), "seeds = [100]\n"),
)


def test_mistakes_are_reported_with_file_and_path(tmp_path: Path) -> None:
    told = []
    for parts in MISTAKES:
        with pytest.raises(ConfigError) as caught:
            load(tmp_path, *parts)
        told.append(str(caught.value).replace(str(tmp_path), "FOLDER"))
    assert_expected("format-mistakes.txt", "\n".join(told))


def test_a_round_robin_is_the_default_and_the_same_with_the_table(tmp_path: Path) -> None:
    plain = load(tmp_path, HEAD, GAME, TWO)
    output = load(tmp_path, HEAD, '[format]\nname = "round-robin"\n', GAME, TWO)
    own = load(tmp_path, HEAD, '[format]\nname = "round-robin"\nrounds = 10\n', GAME, TWO)
    for loaded in (plain, output, own):
        assert how_many(loaded.format) == "20 games"
        assert loaded.format.title() == "10 rounds"


PAGE = (Path(__file__).parents[2] / "docs" / "tournaments.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1:]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_page_is_valid(tmp_path: Path, number: int) -> None:
    """With the tables that it leaves out."""
    text = EXAMPLES[number]
    missing = [part for part in (GAME, TWO) if part.partition("\n")[0] not in text]
    loaded = load(tmp_path, HEAD, text, *missing)
    assert loaded.format.most_games() > 1
    assert f"| `{loaded.config.format.name}` |" in PAGE


def test_the_page_names_every_format_and_its_parameters() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE))
    for component in registry().components("tournament-format"):
        for name in component.load_parameters().model_fields:
            assert f"`{name}`" in rows[component.name], (component.name, name)

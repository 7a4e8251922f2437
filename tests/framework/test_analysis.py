"""Analyses of recorded games, against exhaustive search and exact values."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.warm_command import call_miai

import miai
from miai.analysis.analysis import Analysis, analysis_of, analyze, judging, setup_of, tasks_of
from miai.analysis.notes import annotated, as_json, line_texts
from miai.api import analyst_of, record_format
from miai.pages.replay_frames import frames_of
from miai.pages.replay_page import replay_page
from miai.playing.record_files import read_records
from miai.playing.replay import record_of_actions, replay
from miai.progress import Progress
from miai.record import GameRecord


def judged(record: GameRecord, *, simulations: int | None = None, seed: int = 0) -> Analysis:
    """Return the analysis of a record, made in this process."""
    game = miai.load_game(record.game, **record.game_parameters)
    setup = setup_of(record, analyst_of(game), simulations, seed)
    judgements: dict[int, Any] = {}
    with judging(setup) as perform:
        # In any order: each task begins with a seed of its own.
        for task in random.Random(seed).sample(tasks := tasks_of(record, game), len(tasks)):
            judgements |= {judgement["ply"]: judgement for judgement in perform(task)}
    return analysis_of(record, game, setup, judgements)


LINES = [frozenset(line) for line in ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7))]
LINES += [frozenset(line) for line in ((2, 5, 8), (0, 4, 8), (2, 4, 6))]


@cache
def best_value(x: frozenset[int], o: frozenset[int]) -> int:
    """Return the value of a position of tic-tac-toe for x, by trying everything."""
    for marks, value in ((x, 1), (o, -1)):
        if any(line <= marks for line in LINES):
            return value
    free = set(range(9)) - x - o
    if len(x) == len(o):
        return max((best_value(x | {action}, o) for action in free), default=0)
    return min((best_value(x, o | {action}) for action in free), default=0)


def value_after(actions: list[int]) -> int:
    return best_value(frozenset(actions[::2]), frozenset(actions[1::2]))


def random_games(count: int) -> Iterator[list[int]]:
    for seed in range(count):
        rng, state = random.Random(seed), miai.load_game("tic_tac_toe").new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        # Games that stopped early have a last position, too.
        yield state.history()[: 5 if seed % 3 == 0 else None]


def test_losses_are_those_of_exhaustive_search() -> None:
    game = miai.load_game("tic_tac_toe")
    blunders = 0
    for actions in random_games(5):
        analysis = judged(record_of_actions(game, actions, players=["x", "o"]))
        assert len(analysis.moves) == len(actions)
        for move in analysis.moves:
            value, played = (value_after(actions[: move.ply + n]) for n in (0, 1))
            better = value_after([*actions[: move.ply], move.assessment.line[0]])
            assert move.assessment.loss == abs(value - played), (actions, move)
            assert (better, move.best) == (value, played == value)
            assert analysis.curve[move.ply][2].value == value
        lost = {move.ply for move in analysis.moves if move.assessment.loss}
        assert {move.ply for move in analysis.mistakes(None)} == lost
        for player in (0, 1):
            own = [move.assessment.loss or 0.0 for move in analysis.moves if move.actor == player]
            summary = analysis.summary(player)
            assert summary.loss == pytest.approx(sum(own) / len(own))
            assert summary.best == pytest.approx(own.count(0.0) / len(own))
        blunders += len(lost)
    assert blunders > 3


def test_an_annotated_record_has_better_lines_that_can_be_followed() -> None:
    game = miai.load_game("tic_tac_toe")
    # After the centre only a corner holds; then the game is lost.
    record = record_of_actions(game, [4, 1, 0, 8, 3, 5, 6], players=["x", "o"])
    analysis = judged(record)
    (mistake,) = analysis.mistakes()
    assert (mistake.ply, mistake.assessment.line[0] in (0, 2, 6, 8)) == (1, True)
    noted = annotated(analysis)
    replay(noted)
    assert noted.variations[0] == (1, mistake.assessment.line[0])
    record.variations = noted.variations[:1]
    assert annotated(analysis).variations == noted.variations, "a line that is there goes on"
    comments = dict(noted.comments)
    assert comments[1] == "win rate 50.0 % for x before the move; the best move"
    assert comments[2].startswith("win rate 50.0 % for o before the move; lost 50.0 %; better: ")
    page = replay_page(noted, "game", analysis=analysis)
    assert page.count(f"2. {record.moves[1].text}</a> lost 50.0 %; better: ") == 1
    assert "Largest mistakes" in page


def test_a_chance_that_was_lost_in_the_dark_is_judged_from_the_belief_beside_the_truth() -> None:
    """In Kuhn poker the last decision's values are known: -1 for a pass of a bet, 2 or -2 else."""
    game = miai.load_game("kuhn_poker")
    jack, queen, king, no, bet = 2, 3, 4, 0, 1

    def last(*actions: int) -> Any:
        analysis = judged(record_of_actions(game, actions, players=["a", "b"]), simulations=600)
        better = {action for ply, action in annotated(analysis).variations if ply == 3}
        assert better == {analysis.moves[-1].assessment.line[0]}, "to be followed on the board"
        return analysis.moves[-1]

    assert last(king, jack, bet, bet).assessment.loss == 1.0  # of a jack that calls
    assert last(jack, king, bet, no).assessment.loss == 3.0  # of a king that does not
    # A queen that faces a bet cannot know: the belief has both cards, the truth one.
    passed = last(jack, queen, bet, no)
    assert passed.assessment.loss < 3.0
    assert passed.truth.line[0] == bet
    assert last(king, queen, bet, no).truth.line[0] == no


def test_a_move_that_a_search_tried_once_is_judged_by_more() -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    record = record_of_actions(game, [8, 5, 5, 0], players=["a", "b"])  # the second 5 is refused
    corner: Any = judged(record, simulations=400).moves[3].assessment
    # 0.14 in 30,000 simulations; where a first simulation was lost, the search goes elsewhere.
    assert corner.value.value - corner.loss == pytest.approx(0.14, abs=0.2)


def test_the_same_seed_gives_the_same_analysis() -> None:
    game = miai.load_game("phantom_tic_tac_toe")
    record = miai.play(game, [miai.make_agent("random", game) for _ in range(2)], seed=3)
    analysis = judged(record, simulations=60)
    assert as_json(judged(record, simulations=60)) == as_json(analysis)
    assert as_json(judged(record, simulations=60, seed=1)) != as_json(analysis)
    assert all(len(texts) == 1 for _, texts in line_texts(analysis))
    replay(annotated(analysis))


def test_the_strongest_agent_judges() -> None:
    agents = {"kuhn_poker": "ismcts", "rbc": "rbc-strong", "pig": "mcts"}
    assert {name: analyst_of(miai.load_game(name)).agent for name in agents} == agents


@pytest.mark.slow
def test_a_planted_blunder_is_the_largest_mistake() -> None:
    """A move in the corner, while the middle is open."""
    sizes = {size: analyst_of(miai.load_game("go", board_size=size)).agent for size in (5, 13, 19)}
    assert sizes == {5: "mcts", 13: "alphago", 19: "mcts"}
    game = miai.load_game("go", board_size=9)
    record = record_of_actions(game, [40, 58, 42, 80, 22], players=["b", "w"])
    analysis = judged(record, simulations=100)
    assert (analysis.setup["agent"], analysis.mistakes()[0].ply) == ("alphago", 3)
    points = [move.points or 0.0 for move in analysis.moves]
    assert max(points) == points[3] > 2.0
    # Black acts after the blunder, and White at the end.
    *_, after, end = frames_of(record, game, worlds=0, outlooks=analysis.outlooks)
    for frame in (after, end):
        who, _, lead = frame.views[-1].lead.partition(" leads by ")
        assert (who, float(lead) > 2.0) == ("Black", True)
    after = as_json(analysis)["moves"][4]
    assert (after["lead"] > 2.0, after["ownership"][40] > 0.0) == (True, True)
    comments = dict(annotated(analysis).comments)
    assert "; Black leads by" in comments[5]


@pytest.mark.slow
def test_a_king_left_to_a_mate_is_a_mistake_in_the_true_position() -> None:
    (record,) = read_records("a.pgn", b"1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0")
    analysis = judged(record, simulations=300)
    truths = {move.ply: move.truth for move in analysis.moves}
    blunder = truths[11]
    assert blunder is not None
    assert max(truths.values(), key=lambda truth: (truth and truth.loss) or 0.0) is blunder
    senses = [move for move in analysis.moves if move.information]
    assert [move.ply for move in senses] == [0, 2, 4, 6, 8, 10, 12]
    assert all(move.information[:1] == (0.0,) and move.gained == 0.0 for move in senses)
    text = record_format("pgn", "rbc").write(annotated(analysis))
    assert "3... Nf6 { [%eval #1]" in text
    assert "4. Qxf7# {" in text
    (back,) = read_records("b.pgn", text.encode())
    assert [move.action for move in back.moves] == [move.action for move in record.moves]
    assert back.variations


@pytest.mark.slow
def test_a_sense_that_sees_the_move_gains_all_bits() -> None:
    """Of White's 20 first moves and none, the window around e3 shows e2e4 alone."""
    game = miai.load_game("rbc")
    state, actions = game.new_initial_state(), list[int]()
    for text in ("sense -", "e2e4", "sense e3", "e7e5"):
        actions.append(state.string_to_action(text))
        state.apply_action(actions[-1])
    analysis = judged(record_of_actions(game, actions, players=["w", "b"]), simulations=50)
    sense = analysis.moves[2]
    assert sense.gained == pytest.approx(math.log2(21))
    expected, most, best = sense.information
    assert 0 < expected <= most <= math.log2(21)
    note = dict(annotated(analysis).comments)[3]
    window = state.action_to_string(int(best))
    assert (
        f"it gained 4.39 bits; expected were {expected:.2f}, and {most:.2f} from {window}" in note
    )


MORTAL = """
import os
import miai

class Mortal(miai.Agent):
    def act(self, clock):
        state = self.view.state
        if state.move_number() == 3 and os.path.exists({sign!r}):
            os._exit(7)
        value = len(state.legal_actions()) / 10
        statistics = {{"value": value, "value_unit": "expected-utility"}}
        return miai.Decision(state.legal_actions()[0], statistics=statistics)
"""


@pytest.mark.slow
def test_an_analyst_that_dies_is_named_and_the_same_command_goes_on(tmp_path: Path) -> None:
    record = record_of_actions(
        miai.load_game("tic_tac_toe"), [4, 1, 0, 8, 3, 5, 6], players=["x", "o"]
    )
    file, sign, out = (tmp_path / name for name in ("game.jsonl", "dies", "out.json"))
    file.write_text(record.to_json_lines())
    sign.touch()
    (tmp_path / "mortal.py").write_text(MORTAL.format(sign=str(sign)))
    words = ["analyze", str(file), "--out", str(out), "--workers", "1"]
    words += ["--analyst", f"{tmp_path / 'mortal.py'}:Mortal"]
    died = call_miai(words)
    assert died.returncode == 2
    assert "the analyst file failed: job at ply 4: worker process" in died.stderr
    assert "3 of 7 positions are judged" in died.stderr
    part = json.loads(out.read_text())
    assert [move["ply"] for move in part["moves"]] == [0, 1, 2]

    sign.unlink()
    assert call_miai(words).returncode == 0
    whole = json.loads(out.read_text())
    assert whole["moves"][:2] == part["moves"][:2]
    assert len(whole["moves"]) == 7
    analyst = {"file": str(tmp_path / "mortal.py"), "class_name": "Mortal"}
    assert whole["parameters"] == analyst
    # Nothing is judged again: the analyst would die of it.
    sign.touch()
    assert call_miai(words).returncode == 0
    for more, why in (
        (["--out", str(tmp_path / "a.sgf")], "records of tic_tac_toe are written as .jsonl"),
        (["--analyst", "mtcs"], "Did you mean 'mcts'"),
        (["--game", "2"], "has 1 game"),
    ):
        refused = call_miai(["analyze", str(file), *more])
        assert (refused.returncode, why in refused.stderr) == (2, True), refused.stderr


@pytest.mark.parametrize(
    ("more", "error"), [(["--game", "2"], "--game 2: "), (["--analyst", "mtcs"], "mtcs")]
)
def test_what_is_wrong_in_a_file_is_said(more: list[str], error: str, tmp_path: Path) -> None:
    (tmp_path / "two.sgf").write_text("(;GM[1]SZ[5]KM[9.9];B[aa])(;GM[6])")
    said = call_miai(["analyze", str(tmp_path / "two.sgf"), *more]).stderr
    assert said.count("two.sgf: ") == 2, "each once, before the error"
    for word in ("KM[9.9] is not a multiple", "game 2: GM[6] is not Go", error):
        assert word in said


@pytest.mark.slow
def test_an_analysis_stops_when_it_is_told_and_goes_on(tmp_path: Path) -> None:
    game, journal = miai.load_game("tic_tac_toe"), tmp_path / "kept"
    record = record_of_actions(game, [4, 1, 0, 8, 3, 5, 6], players=["x", "o"])
    done = Progress(file=StringIO())
    part = analyze(record, journal=journal, workers=2, progress=done, stopped=lambda: done.done > 0)
    assert 0 < len(part.moves) < len(record.moves)
    assert as_json(analyze(record, journal=journal)) == as_json(judged(record))
    other = analyze(record, journal=journal, seed=1, stopped=lambda: True)
    assert not other.moves, "a journal of another seed is not used"

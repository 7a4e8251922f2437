"""An analysis in words, as comments and variations of its record, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from miai.analysis.analysis import PHASES, SCHEMA, Analysis, Assessment, JudgedMove
from miai.api import renderer_for
from miai.game import GameInfo, State
from miai.plain import Json
from miai.record import GameRecord
from miai.record_reader import MAX_VARIATIONS
from miai.render import action_text, estimate_of
from miai.values import scale_of

_LONGEST: Final = 10  # actions of a better line


def loss_text(assessment: Assessment, info: GameInfo) -> str:
    """Return a loss as it is shown: ``4.5 %``, ``0.30 pawns``; empty if unknown."""
    if assessment.value is None or assessment.loss is None:
        return ""
    scale = scale_of(assessment.value.unit, info)
    number = assessment.loss * scale.factor
    return f"{number:.1f} %" if scale.suffix == " %" else f"{number:.2f}{scale.suffix}"


def lost_text(judged: JudgedMove, info: GameInfo) -> str:
    """Return what a move lost: ``lost 4.5 % and 1.2 points``; empty if unknown."""
    points = "" if judged.points is None else f" and {judged.points:.1f} points"
    loss = loss_text(judged.assessment, info)
    return loss and f"lost {loss}{points}"


def line_texts(analysis: Analysis) -> Iterator[tuple[JudgedMove, list[str]]]:
    """Yield each judged move with its better line in the game's notation.

    It is one action in a game that hides information: what follows depends on what is hidden.
    """
    state, moves = analysis.game.new_initial_state(), iter(analysis.record.moves)
    most = _LONGEST if analysis.game.info.perfect_information else 1
    for judged in analysis.moves:
        while len(state.history()) < judged.ply:
            state.apply_action(next(moves).action)
        yield judged, _followed(state, judged.assessment.line[:most])


def _followed(state: State, line: Sequence[int]) -> list[str]:
    state, texts = state.clone(), []
    for action in line:
        texts.append(action_text(state, action))
        if not (state.current_player() >= 0 and state.is_legal(action)):
            break
        state.apply_action(action)
    return texts


def note_of(judged: JudgedMove, better: Sequence[str], analysis: Analysis) -> str:
    """Return in a line what a move lost, and what was better."""
    info, assessment = analysis.game.info, judged.assessment
    parts = []
    if assessment.value is not None:
        who = info.player_names[judged.actor]
        parts.append(f"{assessment.value.text(info)} for {who} before the move")
    if (outlook := analysis.outlooks.get(judged.ply)) and (leads := outlook.text(info)):
        parts.append(leads)
    if loss := lost_text(judged, info):
        parts.append("the best move" if judged.best else loss)
    if not judged.best:
        parts.append(f"better: {' '.join(better)}")
    if judged.information:
        expected, most, best = judged.information
        gained = "" if judged.gained is None else f"it gained {judged.gained:.2f} bits; "
        window = action_text(analysis.game.new_initial_state(), int(best))
        parts.append(f"{gained}expected were {expected:.2f}, and {most:.2f} from {window}")
    if judged.truth is not None and judged.truth.loss:
        loss = loss_text(judged.truth, info)
        parts.append(f"in the true position it lost {loss}")
    return "; ".join(parts)


def summary_texts(analysis: Analysis, player: int) -> list[str]:
    """Return how well a player played: ``29 moves``, ``best 86 %``, ``mean loss 2.1 %`` ..."""
    info, summary = analysis.game.info, analysis.summary(player)
    texts = [f"{summary.moves} moves"]
    if summary.best is not None:
        texts.append(f"best {100 * summary.best:.0f} %")
    model = next((m.assessment for m in analysis.moves if m.assessment.loss is not None), None)
    means = zip(("mean loss", *PHASES), (summary.loss, *summary.phases), strict=True)
    for name, loss in means:
        if model is not None and loss is not None:
            texts.append(f"{name} {loss_text(replace(model, loss=loss), info)}")
    if summary.points is not None:
        texts.append(f"{summary.points:.1f} points a move")
    return texts


def annotated(analysis: Analysis) -> GameRecord:
    """Return the record with a comment on each judged move, and better lines as variations.

    The largest mistakes come first where a record's limit of variations leaves out some. The
    statistics of a move become the analyst's: ``value``, ``pv``, ``truth``, ``lead``.
    """
    record = analysis.record
    noted = {judged.ply: (judged, texts) for judged, texts in line_texts(analysis)}
    variations, first = list(record.variations), len(record.moves) + 1
    known = {step: number for number, step in enumerate(variations, first)}
    for judged in analysis.mistakes(None):
        lines = [judged.assessment.line[: len(noted[judged.ply][1])]]
        if judged.truth is not None:  # which can be followed
            line = judged.truth.line[:_LONGEST]
            lines = [line] if line[0] == lines[0][0] else [*lines, line]
        if len(variations) + sum(map(len, lines)) > MAX_VARIATIONS:
            break
        for line in lines:
            position = judged.ply
            for action in line if line[0] != judged.action else ():
                step = position, action
                position = known.setdefault(step, first + len(variations))
                if position == first + len(variations):
                    variations.append(step)
    comments = [
        *record.comments,
        *((ply + 1, note_of(judged, texts, analysis)) for ply, (judged, texts) in noted.items()),
    ]
    moves = [*record.moves]
    for ply, (judged, _) in noted.items():
        moves[ply] = replace(moves[ply], statistics=_statistics(judged, analysis))
    return replace(record, moves=moves, comments=comments, variations=variations)


def _statistics(judged: JudgedMove, analysis: Analysis) -> Mapping[str, Json]:
    truth = {} if judged.truth is None else {"truth": _assessment_data(judged.truth)}
    outlook = analysis.outlooks.get(judged.ply)
    drawn = estimate_of(renderer_for(analysis.game))
    expected = {} if outlook is None else {"lead": outlook.lead, drawn: outlook.estimate}
    return {**_assessment_data(judged.assessment), **truth, **expected}


def _assessment_data(assessment: Assessment) -> dict[str, Json]:
    value = {} if assessment.value is None else assessment.value.statistics()
    return {**value, "pv": list(assessment.line), "loss": assessment.loss}


def as_json(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis as plain data; losses are in the units of the values beside them."""
    record, info = analysis.record, analysis.game.info
    moves = [
        {
            "ply": judged.ply,
            "actor": judged.actor,
            "action": judged.action,
            "text": record.moves[judged.ply].text,
            "best": judged.best,
            "points": judged.points,
            "information": judged.information,
            "gained": judged.gained,
            **_statistics(judged, analysis),
            "better": texts,
        }
        for judged, texts in line_texts(analysis)
    ]
    return {
        "schema": SCHEMA,
        "game": record.game,
        "players": [player.name for player in record.players],
        "analyst": analysis.setup["agent"],
        "parameters": analysis.setup["parameters"],
        "seed": analysis.setup["seed"],
        "positions": analysis.total,
        "judged": len(analysis.moves),
        "failure": analysis.failure,
        "moves": moves,
        "mistakes": [judged.ply for judged in analysis.mistakes()],
        "summary": [
            {**asdict(summary), "phases": dict(zip(PHASES, summary.phases, strict=True))}
            for summary in map(analysis.summary, range(info.num_players))
        ],
    }

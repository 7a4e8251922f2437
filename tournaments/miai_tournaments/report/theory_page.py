"""Sections of a report's page: ratings over games, cycles, the format's own word, the config.

Lines over a common axis, with bands for what is uncertain: ratings over games.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from miai_tournaments.ratings.ratings import Z95
from miai_tournaments.report import charts
from miai_tournaments.report import tables as cells
from miai_tournaments.report.html import (
    Cell,
    Head,
    Markup,
    PageSection,
    block,
    join,
    name,
    number,
    section,
    table,
    tag,
    text,
)
from miai_tournaments.report.tables import parameters_told

if TYPE_CHECKING:
    from miai_tournaments.report.report import TournamentReport


_WIDTH, _HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 30, 16, 34


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A line.

    Attributes:
      label: a name as markup, for the legend.
      title: the same as text, shown under the pointer.
      x, y: its points.
      margins: half the width of the band about each point; empty for none.
    """

    label: Markup
    title: str
    x: Sequence[float]
    y: Sequence[float]
    margins: Sequence[float] = ()


def line_chart(
    lines: Sequence[PlotLine],
    *,
    x_label: str,
    y_label: str,
    label: str,
    space: float = 80.0,
    levels: Mapping[str, float] = MappingProxyType({}),
) -> Markup:
    """Return a chart of lines with its legend; the band of the first few lines is shown.

    Args:
      label: what the chart shows, for readers who hear it.
      space: what is left above and below the lines' ends, in units of y.
      levels: values of y that are marked across the chart, by what they are called.
    """
    xs = [x for line in lines for x in line.x]
    ends = [y + m for line in lines for y in line.y[-1:] for m in (-space, space)]
    ys = [y for line in lines for y in line.y] + ends + list(levels.values())
    across = charts.Scale(0.0, max(xs, default=1.0), _LEFT, _WIDTH - _RIGHT)
    up = charts.Scale(*charts.widened(ys), _HEIGHT - _BOTTOM, _TOP)
    banded = len(lines) <= charts.SERIES
    parts = [
        *_axes(across, up, x_label, y_label),
        *(part for told, value in levels.items() for part in _level(told, up(value))),
        *(_band(i, line, across, up) for i, line in enumerate(lines) if banded and line.margins),
        *(_line(i, line, across, up) for i, line in enumerate(lines)),
    ]
    chart = tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=label,
    )
    return join((chart, _legend(lines)))


def _axes(across: charts.Scale, up: charts.Scale, x_label: str, y_label: str) -> list[Markup]:
    parts = []
    for value in charts.ticks(up.low, up.high):
        y = number(up(value))
        parts.append(tag("path", class_="axis", d=f"M{_LEFT} {y}H{_WIDTH - _RIGHT}"))
        parts.append(_text(f"{value:g}", _LEFT - 6, up(value) + 4, "end"))
    for value in charts.ticks(across.low, across.high):
        parts.append(_text(f"{value:,.0f}", across(value), _HEIGHT - _BOTTOM + 15, "middle"))
    parts.append(_text(x_label, _WIDTH - _RIGHT, _HEIGHT - 4, "end"))
    parts.append(_text(y_label, 2, _TOP - 4, "start"))
    return parts


def _level(told: str, y: float) -> tuple[Markup, Markup]:
    path = tag("path", class_="zero", d=f"M{_LEFT} {number(y)}H{_WIDTH - _RIGHT}")
    return path, _text(told, _LEFT + 4, y - 4, "start")


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return tag("text", text, class_="dim", x=x, y=y, text_anchor=anchor)


def _line(index: int, line: PlotLine, across: charts.Scale, up: charts.Scale) -> Markup:
    points = " ".join(
        f"{number(across(x), 1)},{number(up(y), 1)}" for x, y in zip(line.x, line.y, strict=True)
    )
    return tag(
        "g",
        tag("title", line.title),
        tag("polyline", class_="line", points=points, stroke_dasharray=charts.series_dash(index)),
        class_=charts.series_class(index),
    )


def _band(index: int, line: PlotLine, across: charts.Scale, up: charts.Scale) -> Markup:
    rows = list(zip(line.x, line.y, line.margins, strict=True))
    upper = [f"{number(across(x), 1)} {number(up(y + m), 1)}" for x, y, m in rows]
    lower = [f"{number(across(x), 1)} {number(up(y - m), 1)}" for x, y, m in reversed(rows)]
    path = tag("path", class_="band", d="M" + "L".join([*upper, *lower]) + "z")
    return tag("g", path, class_=charts.series_class(index))


def _legend(lines: Sequence[PlotLine]) -> Markup:
    items = []
    for index, line in enumerate(lines):
        sign = tag(
            "line",
            class_="line",
            x1=0,
            x2=34,
            y1=6,
            y2=6,
            stroke_dasharray=charts.series_dash(index),
        )
        picture = tag(
            "svg", sign, viewBox="0 0 34 12", class_=charts.series_class(index), aria_hidden="true"
        )
        items.append(tag("li", picture, line.label))
    return tag("ul", *items, class_="legend")


MOST_CURVES = 16
"""Players whose curves are drawn, best first."""


def curves(report: TournamentReport) -> PageSection | None:
    """Return ratings over games; None before there are two prefixes."""
    details = report.details
    assert details is not None
    found = [curve for curve in details.curves if len(curve.games) > 1]
    if not found:
        return None
    shown = found[:MOST_CURVES]
    chart = line_chart(
        [
            PlotLine(
                name(curve.player, 24),
                f"{cells.player_name(curve.player)}: {cells.signed(curve.elo[-1])} Elo",
                curve.games,
                curve.elo,
                [Z95 * error for error in curve.standard_errors],
            )
            for curve in shown
        ],
        x_label="games of all players",
        y_label="Elo",
        label="Ratings over games",
    )
    note = "Ratings fitted again on the first games of the schedule; bands are 95 % intervals."
    if len(found) > len(shown):
        note += f" The best {len(shown)} of {len(found)}; the JSON has all."
    return section("Ratings over games", chart, id="history", note=note)


def transitivity(report: TournamentReport) -> PageSection | None:
    """Return cycles and alpha-rank; None with fewer than three players."""
    details = report.details
    assert details is not None
    found, shares = details.transitivity, details.alpha_rank
    if found is None or shares is None:
        return None
    parts = []
    if rests_on := details.alpha_rank_rests_on():
        parts.append(tag("p", rests_on))
    if found.triples:
        chance = (
            f"Of {found.triples} triples of players that met, "
            f"{found.cycles} are cycles (A beats B beats C beats A): {cells.percent(found.share)}. "
            f"Ratings alone would lead to {cells.percent(found.expected)}, in 95 % of leagues "
            f"{cells.percent(found.low)} to {cells.percent(found.high)}; a share as large has "
            f"probability {found.p_value:.2g}."
        )
        parts.append(tag("p", chance, data_value=repr(found.share), data_key="share"))
    if found.strongest:
        heads = [Head("strongest cycles", "left"), Head("weakest link", title="least mean score")]
        rows = [
            [
                Cell(join(map(name, (*cycle.players, cycle.players[0])), " \N{RIGHTWARDS ARROW} ")),
                Cell(cells.percent(cycle.weakest), cycle.weakest),
            ]
            for cycle in found.strongest
        ]
        parts.append(table("Cycles", heads, rows))
    heads = [Head("#"), Head("player", "left"), Head("alpha-rank"), Head("", "left")]
    order = sorted(shares.items(), key=lambda item: -item[1])
    ranked: list[list[Cell | str]] = [
        [
            str(rank),
            Cell(name(player)),
            Cell(cells.percent(share), share, "alpha_rank"),
            Cell(charts.share_bar(share, label=cells.percent(share)), share),
        ]
        for rank, (player, share) in enumerate(order, start=1)
    ]
    parts.append(table("Alpha-rank", heads, ranked, keys=[player for player, _ in order]))
    note = (
        "Whether one rating a player can tell the results. Alpha-rank is the share of time that a "
        "population that copies what wins would play each player."
    )
    return section("Non-transitivity", *parts, id="transitivity", note=note)


def format_state(report: TournamentReport) -> PageSection | None:
    """Return what the format told last: a line, a ranking, the state of a test."""
    facts = report.details.facts if report.details else {}
    parts: list[Markup] = []
    if isinstance(said := facts.get("text"), str) and said:
        parts.append(tag("p", text(said, 400)))
    if facts.get("kind") == "sprt" and (bar := _sprt(facts)):
        parts += [bar, *_course(facts)]
    ranking = facts.get("ranking")
    if isinstance(ranking, (list, tuple)) and ranking:
        told = facts.get("parameters")
        given = told if isinstance(told, Mapping) else {}
        items = [_ranked(str(player), given.get(player)) for player in ranking[:200]]
        parts.append(tag("ol", *items))
    if not parts:
        return None
    title = "Sequential test" if facts.get("kind") == "sprt" else "The format's own ranking"
    return section(title, *parts, id="format")


def _ranked(player: str, given: object) -> Markup:
    """Return a player of a format's ranking, with the parameters that the format gave it."""
    if not isinstance(given, Mapping):
        return tag("li", name(player))
    values = ", ".join(f"{key} {value}" for key, value in given.items())
    return tag("li", name(player), ": ", text(values, 400))


def _sprt(facts: Mapping[str, Any]) -> Markup | None:
    llr, lower, upper = (facts.get(key) for key in ("llr", "lower", "upper"))
    if not all(isinstance(v, (int, float)) for v in (llr, lower, upper)):
        return None
    assert llr is not None
    assert lower is not None
    assert upper is not None
    at = charts.Scale(lower - 0.4, upper + 0.4, 10, 470)
    parts = [
        tag("path", class_="axis", d=f"M{at(lower):.1f} 30H{at(upper):.1f}"),
        tag("path", class_="zero", d=f"M{at(0):.1f} 20V40"),
        *(
            tag("path", class_="axis", d=f"M{at(end):.1f} 16V44", stroke_width=2)
            for end in (lower, upper)
        ),
        tag("g", tag("circle", class_="fill", cx=at(llr), cy=30, r=6), class_="s0"),
        tag("text", f"H0 at {lower:.2f}", x=at(lower), y=60, text_anchor="start", class_="dim"),
        tag("text", f"H1 at {upper:.2f}", x=at(upper), y=60, text_anchor="end", class_="dim"),
        tag("text", f"{llr:.2f}", x=at(llr), y=12, text_anchor="middle"),
    ]
    return tag(
        "svg",
        *parts,
        class_="chart",
        viewBox="0 0 480 66",
        role="img",
        aria_label=f"log-likelihood ratio {llr:.2f} between {lower:.2f} and {upper:.2f}",
        data_value=repr(float(llr)),
        data_key="llr",
    )


def _course(facts: Mapping[str, Any]) -> list[Markup]:
    """Return how the ratio went from pair to pair; nothing where the store does not tell."""
    curve = facts.get("curve")
    if not isinstance(curve, (list, tuple)) or len(curve) < 2 or not all(map(_is_point, curve)):
        return []
    xs, ys = ([float(point[i]) for point in curve] for i in (0, 1))
    line = PlotLine(join(("log-likelihood ratio",)), "log-likelihood ratio", xs, ys)
    chart = line_chart(
        [line],
        x_label="pairs of games",
        y_label="LLR",
        label=f"the log-likelihood ratio over {xs[-1]:.0f} pairs",
        space=0.3,
        levels={"H1 is accepted": facts["upper"], "H0 is accepted": facts["lower"]},
    )
    return [chart]


def _is_point(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(v, (int, float)) and abs(v) < 1e9 for v in value)
    )


def about(report: TournamentReport) -> PageSection:
    """Return what was played, with which versions, and the config."""
    info, standings = report.info, report.standings
    parts: list[Markup] = []
    if info is not None:
        facts = {
            "game": f"{info.game} (version {info.game_version})",
            "game parameters": json.dumps(dict(info.game_parameters)),
            "time control": json.dumps(dict(info.time_control)),
            "format": json.dumps(dict(info.format)) if info.format else "",
            "seed": str(info.seed),
            "begun": info.created,
            "config": info.config_path,
        }
        rows = [
            [Cell(key), Cell(text(told, 600), style="text")] for key, told in facts.items() if told
        ]
        parts.append(table("Facts", [Head("", "left"), Head("", "left")], rows, sortable=False))
    if report.entered:
        heads = [Head("player", "left"), Head("agent", "left"), Head("parameters given", "left")]
        entered = [
            [
                Cell(name(row.name)),
                Cell(text(row.agent, 60)),
                Cell(text(parameters_told(row.given), 600)),
            ]
            for row in report.entered
        ]
        parts.append(join((tag("h3", "Players"), table("Players", heads, entered))))
    if standings.versions:
        versions = [
            [Cell(text(package, 60)), Cell(text(", ".join(met), 200))]
            for package, met in standings.versions.items()
        ]
        heads = [Head("package", "left"), Head("versions met", "left")]
        parts.append(join((tag("h3", "Versions"), table("Versions", heads, versions))))
    if info is not None and info.config_text:
        config = tag("pre", block(info.config_text), tabindex="0")
        parts.append(tag("details", tag("summary", "The config file"), config))
    return section("About this run", *parts, id="about", wide=True)

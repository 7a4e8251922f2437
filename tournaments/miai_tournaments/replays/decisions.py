"""What an agent said of one decision, as a part of a replay's page."""

from __future__ import annotations

from collections.abc import Sequence

from miai_tournaments.pages.markup import Markup, tag, text
from miai_tournaments.pages.tables import Cell, Head, table
from miai_tournaments.replays.statistics import Candidate, Said


def decision(found: Said) -> Markup:
    """Return what an agent said of a decision: value, line, candidates, figures."""
    parts: list[Markup] = []
    if found.value is not None:
        parts.append(tag("p", "value ", tag("b", f"{found.value:+.4g}"), " for whoever moved"))
    if found.line:
        parts.append(tag("p", "expected: ", text(" ".join(found.line), 400), class_="line-of-play"))
    if found.candidates:
        parts.append(_candidates(found.candidates))
    if found.figures:
        told = "; ".join(f"{key} {value}" for key, value in found.figures)
        parts.append(tag("p", text(told, 1000), class_="note"))
    return tag("div", *parts, class_="said")


def _candidates(found: Sequence[Candidate]) -> Markup:
    columns = [
        ("visits", "{:g}", [c.visits for c in found]),
        ("value", "{:+.3f}", [c.value for c in found]),
        ("prior", "{:.3f}", [c.prior for c in found]),
    ]
    columns = [column for column in columns if any(v is not None for v in column[2])]
    rows = [
        [
            Cell(text(candidate.text, 40)),
            *(
                "" if values[i] is None else Cell(form.format(values[i]))
                for _, form, values in columns
            ),
        ]
        for i, candidate in enumerate(found)
    ]
    heads = [Head("considered", "left"), *(Head(told) for told, _, _ in columns)]
    return table("Considered", heads, rows, sortable=False)

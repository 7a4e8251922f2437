"""The page on search: its code runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path

from miai.plugins.loader import registry
from miai.search.mcts import MctsParameters

PAGE = (Path(__file__).parents[2] / "docs" / "searches.md").read_text(encoding="utf-8")


def test_its_tables_name_parameters_and_evaluators() -> None:
    rows = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    evaluators = {component.name for component in registry().components("evaluator")}
    parameters = set(MctsParameters.model_fields)
    assert rows <= evaluators | parameters
    assert {"random-rollout", "zero", "selection", "batch"} <= rows

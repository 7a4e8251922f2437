"""Reads a comparison's config file and checks all of it before anything is searched.

Searches, problems and what they name are found in the registry, filled and built once; whatever is
wrong is told at once, a line each, with the file and the path in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from miai.config_files import read_toml
from miai.plugins.parameters import explain
from miai_tournaments.comparing.blocks import Arm, Block, blocks_of, game_name
from miai_tournaments.comparing.components import Components
from miai_tournaments.comparing.mistakes import Mistakes
from miai_tournaments.comparing.schema import MAX_SEARCHES, ComparisonConfig
from miai_tournaments.store.comparisons import FILE_NAME

_EXAMPLE = "configs/compare-quick.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A config that was checked, and what it names.

    Attributes:
      config: the config.
      arms: by name, in the order of the config.
      blocks: what is to be searched, in the order of the config.
      text, source: the file as it was written, and as it was named.
    """

    config: ComparisonConfig
    arms: Mapping[str, Arm]
    blocks: tuple[Block, ...]
    text: str
    source: str

    @property
    def name(self) -> str:
        """The comparison's name."""
        return self.config.comparison.name

    @property
    def baseline(self) -> str:
        """The arm that speed-ups are measured against."""
        return self.config.comparison.baseline

    @property
    def judge(self) -> str:
        """The arm whose values are taken for true."""
        return self.config.comparison.judge


def load_comparison(path: Path) -> Comparison:
    """Return the comparison that a config file describes.

    Raises:
      ConfigError: the file cannot be read, or something in it is wrong.
    """
    text, raw = read_toml(path, example=_EXAMPLE, about=_about_folder)
    mistakes = Mistakes(raw, source=str(path))
    config = _validate(raw, mistakes)
    components = Components(raw, mistakes)
    if config is not None:
        _check_names(config, mistakes)
    mistakes.raise_if_any()
    assert config is not None
    parameters = {game_name(c): components.problems[n] for n, c in enumerate(config.cells)}
    blocks = blocks_of(config, parameters)
    _check_blocks(config, blocks, mistakes)
    mistakes.raise_if_any()
    components.try_all(config, mistakes)
    mistakes.raise_if_any()
    return Comparison(
        config=config,
        arms={arm.name: arm for arm in components.arms},
        blocks=tuple(blocks),
        text=text,
        source=str(path),
    )


def _about_folder(path: Path) -> str:
    if (path / FILE_NAME).exists():
        return "is a comparison's folder; name its config file, and the folder with --out"
    return ""


def _validate(raw: Mapping[str, Any], mistakes: Mistakes) -> ComparisonConfig | None:
    try:
        return ComparisonConfig.model_validate(raw)
    except ValidationError as error:
        details = error.errors()
        for detail in details:
            if detail["type"] == "too_short" and any(_is_below(d, detail) for d in details):
                continue  # those that are wrong were not counted
            line = explain(detail, ComparisonConfig, "")
            if detail["loc"] in (("arms",), ("cells",)) and detail["type"] != "too_short":
                table = detail["loc"][0]
                line += f"; write [[{table}]], in double brackets, above the keys of each"
            mistakes.add_line(line.replace("unknown parameter", "unknown key"))
        return None


def _is_below(detail: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    """Return whether a finding is about something inside of what another is about."""
    path = above["loc"]
    return len(detail["loc"]) > len(path) and detail["loc"][: len(path)] == path


def _check_names(config: ComparisonConfig, mistakes: Mistakes) -> None:
    """Check that arms have names of their own, and that those which are named are there."""
    section, names = config.comparison, [arm.name for arm in config.arms]
    for number, name in enumerate(names):
        if (first := names.index(name)) != number:
            mistakes.add(f"arms[{number}].name", f"'{name}' is the name of arms[{first}] too")
    mistakes.refuse_unknown("comparison.baseline", section.baseline, names, "arm")
    if section.truth is not None:
        mistakes.refuse_unknown("comparison.truth", section.truth, names, "arm")
    for number, cell in enumerate(config.cells):
        for name in cell.arms or ():
            mistakes.refuse_unknown(f"cells[{number}].arms", name, names, "arm")
        for needed in sorted({section.baseline, section.judge}):
            if cell.arms is not None and needed not in cell.arms:
                told = f"lack '{needed}'; every cell needs the baseline and truth"
                mistakes.add(f"cells[{number}].arms", told)


def _check_blocks(config: ComparisonConfig, blocks: list[Block], mistakes: Mistakes) -> None:
    """Check that no two blocks have one name, and that there are not too many searches."""
    games: dict[str, tuple[int, object]] = {}
    for number, cell in enumerate(config.cells):
        name, problem = game_name(cell), (cell.problem, cell.parameters)
        first, other = games.setdefault(name, (number, problem))
        if other != problem:
            told = f"'{name}' names another problem in cells[{first}]; give each a name of its own"
            mistakes.add(f"cells[{number}].name", told)
    seen: set[object] = set()
    for block in blocks:
        if block.cell in seen:
            mistakes.add("cells", f"'{block.title}' is there twice; put all of its seeds into one")
        seen.add(block.cell)
    count = sum(block.count for block in blocks)
    if count > MAX_SEARCHES:
        mistakes.add("cells", f"make {count} searches; at most {MAX_SEARCHES} are made")

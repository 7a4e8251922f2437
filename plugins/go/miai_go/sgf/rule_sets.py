"""The rule sets that RU names, as parameters of the game ``go``: for readers and writers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from miai_go.rules.game_parameters import Preset


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """A rule set by its names.

    Attributes:
      name: as RU writes it.
      words: how its other names begin, in lower-case letters and figures alone.
      preset: the preset that it is, or that is nearest.
      other: parameters in which it differs from the preset.
      lacks: what of it the game does not have; empty if it has all.
    """

    name: str
    words: tuple[str, ...]
    preset: Preset
    other: Mapping[str, Any] = field(default_factory=dict)
    lacks: str = ""

    def parameters(self) -> dict[str, Any]:
        """Return parameters for ``load_game("go")``."""
        return {"rules": self.preset, **self.other}


RULE_SETS: Final = (
    RuleSet("Tromp-Taylor", ("trompt", "tt", "cgos"), "tromp-taylor"),
    RuleSet(
        "Old Chinese",
        ("oldchinese", "ancientchinese", "stonescoring", "中国古"),
        "chinese",
        lacks="the tax on groups",
    ),
    RuleSet("Chinese", ("chin", "cn", "中国", "中國", "area"), "chinese"),
    RuleSet("Japanese", ("jap", "jp", "日本", "territory"), "japanese"),
    RuleSet("Korean", ("korea", "kr", "한국", "韓国", "韩国"), "japanese"),
    # The British and the French rules are those of the AGA in all that a game here knows.
    RuleSet("AGA", ("aga", "america", "bga", "british", "french", "ffg"), "aga"),
    # http://www.go.org.nz/rules-of-go: suicide is legal, situations may not recur.
    RuleSet("NZ", ("nz", "newzealand"), "tromp-taylor", {"ko": "situational"}),
    RuleSet(
        "GOE", ("goe", "ing", "sst", "应氏", "應氏"), "chinese", {"suicide": True}, "Ing's ko rule"
    ),
)


NAMES: Final = {known.preset: known.name for known in reversed(RULE_SETS) if not known.lacks}
"""What RU is for each preset."""


def rule_set_named(rules: str) -> RuleSet | None:
    """Return the rule set that a value of RU names, or None if the name is unknown.

    >>> rule_set_named("New Zealand").preset, rule_set_named("my own")
    ('tromp-taylor', None)
    """
    word = "".join(c for c in rules.lower() if c.isalnum())
    return next((known for known in RULE_SETS if word.startswith(known.words)), None)

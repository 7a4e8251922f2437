"""Rules as KataGo writes them: ``kata-get-rules``, ``kata-set-rules``, ``kgs-rules``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from miai.errors import near_matches
from miai_go.gtp.wire import GtpError
from miai_go.rules.parameters import PRESETS, Rules

SHORTHANDS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {"rules": name} for name in PRESETS},
    "tromp_taylor": {"rules": "tromp-taylor"},
    "chinese-ogs": {"rules": "chinese"},
    "chinese-kgs": {"rules": "chinese"},
    "korean": {"rules": "japanese"},
    "bga": {"rules": "aga"},
    "french": {"rules": "aga"},
    "new-zealand": {
        "rules": "tromp-taylor",
        "ko": "situational",
        "dead_stones": "playouts",
    },
}
"""Rule sets by KataGo's names, as parameters of the game."""

KGS_NAMES: Final[Mapping[str, str]] = {
    "chinese": "chinese",
    "aga": "aga",
    "japanese": "japanese",
    "new_zealand": "new-zealand",
}

SETTLED: Final = (
    "ko",
    "suicide",
    "scoring",
    "dead_stones",
    "seki_territory",
    "pass_stones",
    "compensation",
)
"""The parameters of the game that rules settle; komi is told on its own."""

_KO: Final = {"SIMPLE": "simple", "POSITIONAL": "positional", "SITUATIONAL": "situational"}
_SCORING: Final = {"AREA": "area", "TERRITORY": "territory"}
_BONUS: Final = {"0": "none", "N-1": "n-1", "N": "n"}
_FLAGS: Final = ("suicide", "hasButton", "friendlyPassOk")
_FIELDS: Final = ("ko", "scoring", "tax", "whiteHandicapBonus", *_FLAGS)


def rules_as_json(rules: Rules) -> str:
    """Return rules as KataGo's dictionary."""
    return json.dumps(_as_fields(rules), separators=(",", ":"), sort_keys=True)


def parse_rules(text: str) -> dict[str, Any]:
    """Return parameters of the game for KataGo's dictionary, or the name of a rule set.

    Every parameter of `SETTLED` that is not among them is the preset's.

    Raises:
      GtpError: no such rules, or rules that are not played here.
    """
    stripped = text.strip()
    if not stripped.startswith("{"):
        name = stripped.lower()
        if name not in SHORTHANDS:
            raise GtpError(f"no rules '{stripped[:40]}'. {near_matches(name, SHORTHANDS)}")
        return dict(SHORTHANDS[name])
    try:
        fields = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise GtpError("the rules are no JSON dictionary") from error
    if not isinstance(fields, dict):
        raise GtpError("the rules are no JSON dictionary")
    return _from_fields(fields)


def changed_rule(rules: Rules, field: str, value: str) -> dict[str, Any]:
    """Return parameters of the game for `rules` with one field of KataGo's changed."""
    wanted: Any = {"true": True, "false": False}.get(value.lower(), value.upper())
    if field not in _FIELDS:
        raise GtpError(f"no rule '{field[:40]}'. {near_matches(field, _FIELDS)}")
    return _from_fields({**_as_fields(rules), field: wanted})


def _as_fields(rules: Rules) -> dict[str, Any]:
    return {
        "ko": rules.ko.upper(),
        "scoring": rules.scoring.upper(),
        "suicide": rules.suicide,
        "tax": "NONE" if rules.scoring == "area" or rules.seki_territory else "SEKI",
        "whiteHandicapBonus": _name_of(_BONUS, rules.compensation),
        "hasButton": False,
        "friendlyPassOk": rules.dead_stones != "none",
    }


def _from_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    for name in fields:
        if name not in _FIELDS:
            raise GtpError(f"no rule '{str(name)[:40]}'. {near_matches(str(name), _FIELDS)}")
    for name in _FLAGS:
        if not isinstance(fields.get(name, False), bool):
            raise GtpError(f"{name} is true or false")
    missing = [name for name in ("ko", "scoring", "suicide") if name not in fields]
    if missing:
        raise GtpError(f"the rules lack {', '.join(missing)}")
    if fields.get("hasButton"):
        raise GtpError("button go is not played here")
    ko = _one_of(_KO, fields, "ko")
    scoring = _one_of(_SCORING, fields, "scoring")
    tax = str(fields.get("tax", "NONE")).upper()
    if tax not in ("NONE", "SEKI") or (tax == "SEKI" and scoring == "area"):
        raise GtpError(f"tax {tax[:20]} is not played here under {scoring} scoring")
    suicide = fields["suicide"]
    as_it_stands = ko == "positional" and suicide  # as Tromp and Taylor count
    judged = scoring == "territory" or fields.get("friendlyPassOk", not as_it_stands)
    return {
        "rules": "tromp-taylor",
        "ko": ko,
        "scoring": scoring,
        "suicide": suicide,
        "seki_territory": tax == "NONE",
        "pass_stones": False,
        "compensation": _one_of(_BONUS, fields, "whiteHandicapBonus", "0"),
        "dead_stones": "playouts" if judged else "none",
    }


def _one_of(
    known: Mapping[str, str], fields: Mapping[str, Any], name: str, default: str = ""
) -> str:
    value = str(fields.get(name, default)).upper()
    if value not in known:
        raise GtpError(f"{name} is one of {', '.join(known)}, not {value[:20]}")
    return known[value]


def _name_of(known: Mapping[str, str], value: str) -> str:
    return next(name for name, meant in known.items() if meant == value)

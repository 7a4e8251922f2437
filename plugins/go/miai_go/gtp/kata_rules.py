"""Rules as KataGo writes them, sent to engines and read from controllers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from miai.errors import near_matches
from miai_go.gtp.wire import GtpError
from miai_go.rules.game_parameters import PRESETS, Rules

_RULE_SETS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {"rules": name} for name in PRESETS},
    "tromp_taylor": {"rules": "tromp-taylor"},
    "chinese-ogs": {"rules": "chinese"},
    "chinese-kgs": {"rules": "chinese"},
    "korean": {"rules": "japanese"},
    "bga": {"rules": "aga"},
    "french": {"rules": "aga"},
    "new-zealand": {"rules": "tromp-taylor", "ko": "situational", "dead_stones": "playouts"},
}
"""Parameters of the game, by KataGo's name of the rule set."""

KGS_NAMES: Final[Mapping[str, str]] = {
    "chinese": "chinese",
    "aga": "aga",
    "japanese": "japanese",
    "new_zealand": "new-zealand",
}

RULE_PARAMETERS: Final = (
    "ko",
    "suicide",
    "scoring",
    "dead_stones",
    "seki_territory",
    "pass_stones",
    "compensation",
)
"""The parameters of the game that are part of the rules; komi has its own command."""

_KO: Final = {"SIMPLE": "simple", "POSITIONAL": "positional", "SITUATIONAL": "situational"}
_SCORING: Final = {"AREA": "area", "TERRITORY": "territory"}
_BONUS: Final = {"0": "none", "N-1": "n-1", "N": "n"}
_FLAGS: Final = ("suicide", "hasButton", "friendlyPassOk")
_FIELDS: Final = ("ko", "scoring", "tax", "whiteHandicapBonus", *_FLAGS)


def rules_fields(rules: Rules) -> dict[str, str | bool]:
    """Return KataGo's dictionary of rules, as engines accept it."""
    territory = rules.scoring == "territory"
    return {
        "ko": rules.ko.upper(),
        "scoring": rules.scoring.upper(),
        "tax": "SEKI" if territory and not rules.seki_territory else "NONE",
        "suicide": rules.suicide,
        "hasButton": False,
        "whiteHandicapBonus": next(k for k, v in _BONUS.items() if v == rules.compensation),
    }


def _all_fields(rules: Rules) -> dict[str, str | bool]:
    return {**rules_fields(rules), "friendlyPassOk": rules.dead_stones != "none"}


def rules_json(rules: Rules) -> str:
    """Return the answer to ``kata-get-rules``."""
    return json.dumps(_all_fields(rules), separators=(",", ":"), sort_keys=True)


def parse_rules(text: str) -> dict[str, Any]:
    """Return parameters of the game for KataGo's dictionary or the name of a rule set.

    For every other parameter of `RULE_PARAMETERS` the preset's value holds. Raises `GtpError`.
    """
    rules = text.strip()
    if not rules.startswith("{"):
        name = rules.lower()
        if name not in _RULE_SETS:
            raise GtpError(f"unknown rules '{rules[:40]}'. {near_matches(name, _RULE_SETS)}")
        return dict(_RULE_SETS[name])
    try:
        fields = json.loads(rules)
    except (ValueError, RecursionError) as error:
        raise GtpError("the rules are not a JSON dictionary") from error
    return _from_fields(fields)


def changed_rule(rules: Rules, field: str, value: str) -> dict[str, Any]:
    """Return parameters of the game for `rules` with one field of KataGo's changed."""
    setting = {"true": True, "false": False}.get(value.lower(), value.upper())
    return _from_fields({**_all_fields(rules), field: setting})


def _from_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    for name in fields:
        if name not in _FIELDS:
            raise GtpError(f"unknown rule '{name[:40]}'. {near_matches(name, _FIELDS)}")
    for name in _FLAGS:
        if not isinstance(fields.get(name, False), bool):
            raise GtpError(f"{name} must be true or false")
    missing = [name for name in ("ko", "scoring", "suicide") if name not in fields]
    if missing:
        raise GtpError(f"the rules lack {', '.join(missing)}")
    if fields.get("hasButton"):
        raise GtpError("button go is not supported")
    ko = _one_of(_KO, fields, "ko")
    scoring = _one_of(_SCORING, fields, "scoring")
    tax = str(fields.get("tax", "NONE")).upper()
    if tax not in ("NONE", "SEKI") or (tax == "SEKI" and scoring == "area"):
        raise GtpError(f"tax {tax[:20]} is not supported under {scoring} scoring")
    suicide = fields["suicide"]
    tromp_taylor = ko == "positional" and suicide  # where every stone on the board counts
    judged = scoring == "territory" or fields.get("friendlyPassOk", not tromp_taylor)
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
    choices: Mapping[str, str], fields: Mapping[str, Any], name: str, default: str = ""
) -> str:
    value = str(fields.get(name, default)).upper()
    if value not in choices:
        raise GtpError(f"{name} must be one of {', '.join(choices)}, not {value[:20]}")
    return choices[value]

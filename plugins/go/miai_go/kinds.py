"""The kinds of component that Go declares; other plugins may fill them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from miai.plugins.kinds import Kind

if TYPE_CHECKING:
    from torch import nn

    from miai_go.nets.encoder import Encoder
    from miai_go.rules.game import DeadStoneJudge
    from miai_go.search.advice import Adviser

_MODULE = "torch.nn:Module"

DEAD_STONES: Kind[DeadStoneJudge] = Kind(
    "go.dead-stones",
    "miai_go.rules.game:DeadStoneJudge",
    ("game",),
    "Finds the dead stones at the end of play",
)
ENCODER: Kind[Encoder] = Kind(
    "go.encoder", "miai_go.nets.encoder:Encoder", ("size",), "Turns positions of Go into planes"
)
NETWORK: Kind[nn.Module] = Kind(
    "go.network", _MODULE, ("shape",), "A network: planes to miai_go.nets.network.Outputs"
)
BASE: Kind[nn.Module] = Kind(
    "go.base", _MODULE, ("shape", "tower"), "The base of a tower: planes to features"
)
POLICY_HEAD: Kind[nn.Module | None] = Kind(
    "go.policy-head",
    _MODULE,
    ("shape", "channels"),
    "A policy head of a tower: features to logits",
    optional=True,
)
VALUE_HEAD: Kind[nn.Module | None] = Kind(
    "go.value-head",
    _MODULE,
    ("shape", "channels"),
    "A value head of a tower: features to values",
    optional=True,
)
ADVISER: Kind[Adviser | None] = Kind(
    "go.adviser",
    "miai_go.search.advice:Adviser",
    ("game",),
    "Advises a search about the moves at its root",
    optional=True,
)
KINDS: tuple[Kind[Any], ...] = (
    DEAD_STONES,
    ENCODER,
    NETWORK,
    BASE,
    POLICY_HEAD,
    VALUE_HEAD,
    ADVISER,
)

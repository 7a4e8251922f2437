"""The kinds of training config, each with its command.

Tables are listed here and not read from the models, which import torch, so that a file given to the
wrong command is recognised without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pydantic import BaseModel

from miai.parameters import ConfigFile, Parameters
from miai.plugins.kinds import imported

_TRAINING: Final = "network optimiser loss run"


def _kind(
    noun: str, command: str, model: str, *, required: str = "", optional: str = ""
) -> Callable[[Parameters], ConfigFile]:
    def load() -> type[BaseModel]:
        model_class: type[BaseModel] = imported(f"miai_go.learning.training.{model}")
        return model_class

    tables = frozenset(required.split()), frozenset(optional.split())

    def factory(parameters: Parameters) -> ConfigFile:
        return ConfigFile(noun, command, *tables, load)

    return factory


supervised = _kind(
    "a supervised training",
    "miai go train sl",
    "supervised:SupervisedConfig",
    required="data",
    optional=f"encoder teacher {_TRAINING}",
)
rollout = _kind(
    "the training of a rollout policy",
    "miai go train rollout",
    "rollout_policy:RolloutConfig",
    required="data",
    optional="patterns",
)
policy_gradient = _kind(
    "a training by policy gradient",
    "miai go train rl",
    "reinforce:ReinforceConfig",
    optional=f"game pool gradient match encoder {_TRAINING}",
)
value = _kind(
    "the training of a value network",
    "miai go train value",
    "value:ValueConfig",
    required="game",
    optional=f"encoder {_TRAINING}",
)
zero = _kind(
    "AlphaGo Zero's loop",
    "miai go train zero",
    "zero_config:ZeroConfig",
    optional=f"game search resign selfplay replay recorded gate ladder encoder {_TRAINING}",
)

"""The kinds of training config, each with its command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from miai.parameters import Parameters
from miai.plugins.configs import ConfigFile
from miai.plugins.kinds import imported


def _kind(noun: str, command: str, model: str) -> Callable[[Parameters], ConfigFile]:
    def factory(parameters: Parameters) -> ConfigFile:
        model_class: Any = imported(f"miai_go.learning.{model}")
        return ConfigFile(noun, command, model_class)

    return factory


supervised = _kind("a supervised training", "miai go train sl", "supervised:SupervisedConfig")
rollout = _kind(
    "the training of a rollout policy", "miai go train rollout", "rollout_policy:RolloutConfig"
)
policy_gradient = _kind(
    "a training by policy gradient", "miai go train rl", "reinforce:ReinforceConfig"
)
value = _kind("the training of a value network", "miai go train value", "value:ValueConfig")
zero = _kind("AlphaGo Zero's loop", "miai go train zero", "zero_config:ZeroConfig")
life_and_death = _kind(
    "a life-and-death training", "miai go tsumego train", "life_training:TsumegoConfig"
)

"""Networks made by name, and made ready for inference. Importing this does not import torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from miai.plugins.loader import registry
from miai_go.errors import require_torch
from miai_go.kinds import NETWORK
from miai_go.nets.network import NetworkShape, Outputs

if TYPE_CHECKING:
    from torch import nn

    from miai.plugins.kinds import Kind


def build_network(
    name: str,
    shape: NetworkShape,
    values: Mapping[str, Any],
    *,
    seed: int = 0,
    kind: Kind[nn.Module] = NETWORK,
) -> nn.Module:
    """Return a network of a registered name, its weights drawn by `seed`.

    The same name, shape, values and seed give the same weights on one version of torch. The state
    of torch's own generator is restored.

    Args:
      kind: the kind of component: ``go.network`` or ``go.tsumego-network``.

    Raises:
      MissingExtraError: torch is not installed.
      UnknownComponentError: no network of this kind has the name.
      ParameterError: the values do not fit it.
    """
    require_torch(f"the network '{name}'")
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network: nn.Module = registry().get(kind, name).build(shape, values=values)
    return network


def filled_parameters(
    name: str, values: Mapping[str, Any], *, kind: Kind[nn.Module] = NETWORK
) -> dict[str, Any]:
    """Return the values with all defaults, as a weights file stores them. Raises as the above."""
    return registry().get(kind, name).fill(values).model_dump(mode="json")


def folded(network: nn.Module) -> nn.Module:
    """Return a copy for inference, in which norms are folded into the convolutions before them.

    Every module with a method ``inference_form() -> torch.nn.Module`` is replaced by what that
    returns; others stay as they are.
    """
    return _fold(copy.deepcopy(network).eval()).eval().requires_grad_(False)


def _fold(module: nn.Module) -> nn.Module:
    form = getattr(module, "inference_form", None)
    if callable(form):
        inner: nn.Module = form()
        return inner
    for name, child in list(module.named_children()):
        setattr(module, name, _fold(child))
    return module


def outputs_of(network: nn.Module, shape: NetworkShape) -> tuple[str, ...]:
    """Return the names of what a network answers, found by asking it about an empty board."""
    import torch

    training = network.training
    parameter = next(iter(network.parameters()), torch.zeros(0))
    planes = torch.zeros(1, shape.planes, shape.size, shape.size, device=parameter.device)
    with torch.no_grad():
        answers: Outputs = network.eval()(planes.to(parameter.dtype))
    network.train(training)
    return tuple(name for name, answer in answers._asdict().items() if answer is not None)

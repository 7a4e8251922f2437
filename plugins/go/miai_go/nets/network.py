"""Input and outputs of networks; building one by name; preparing one for inference.

Importing this does not import torch.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from miai.plugins.loader import registry
from miai_go.errors import require_torch
from miai_go.kinds import NETWORK

if TYPE_CHECKING:
    from torch import Tensor, nn

    from miai.plugins.kinds import Kind


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The shape of a network's input.

    Attributes:
      size: points on a side.
      planes: planes of the encoder.
    """

    size: int
    planes: int

    @property
    def actions(self) -> int:
        """Moves of the policy: every point, then the pass."""
        return self.size**2 + 1


class Outputs(NamedTuple):
    """The outputs for n positions; None where the network has no head.

    A component of kind ``go.network`` is a factory(shape, parameters) -> torch.nn.Module whose
    ``forward(planes)`` takes float planes of shape (n, planes, size, size), already scaled, and
    returns these. All are for the player to move.

    Attributes:
      policy: logits of the moves, float of shape (n, size * size + 1), the pass last.
      value: the expected result, float of shape (n,), 1 won, -1 lost.
      ownership: the expected owner of each point, float of shape (n, size, size), 1 the player to
        move, -1 the opponent.
      score: the expected lead in points, komi included, float of shape (n,).
      reply: logits of the opponent's next move, float of shape (n, size * size + 1).
      margins: logits of the final lead rounded to points, float of shape (n, 2 * size * size + 1),
        from -size * size.

    The tensors and answers of a network that learns several sizes of board must not depend on the
    shape that it was built for: it gets planes of each size.

    Only training uses `reply` and `margins` (Wu 2019, sections 3.4 and 4.1). A network keeps such a
    head in the attribute of that name, which is None without one, so that `folded` can remove it.
    """

    policy: Tensor | None = None
    value: Tensor | None = None
    ownership: Tensor | None = None
    score: Tensor | None = None
    reply: Tensor | None = None
    margins: Tensor | None = None


TRAINING_ONLY: Final = ("reply", "margins")
"""Outputs that no search uses."""


def build_network(
    name: str,
    shape: NetworkShape,
    values: Mapping[str, Any],
    *,
    seed: int = 0,
    kind: Kind[nn.Module] = NETWORK,
) -> nn.Module:
    """Return a network of a kind by its registered name, with weights drawn by `seed`.

    The same name, shape, values and seed give the same weights on one version of torch. The state
    of torch's own generator is restored.

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
    """Return the values with all defaults, as a weights file stores them."""
    return registry().get(kind, name).fill(values).model_dump(mode="json")


def folded(network: nn.Module) -> nn.Module:
    """Return a copy for inference, with norms folded into the convolutions before them.

    Heads of `TRAINING_ONLY` are removed. Every module with a method ``inference_form() ->
    torch.nn.Module`` is replaced by its result.
    """
    kept = copy.deepcopy(network).eval()
    for name in TRAINING_ONLY:
        if getattr(kept, name, None) is not None:
            setattr(kept, name, None)
    return _fold(kept).eval().requires_grad_(False)


def _fold(module: nn.Module) -> nn.Module:
    form = getattr(module, "inference_form", None)
    if callable(form):
        inner: nn.Module = form()
        return inner
    for name, child in list(module.named_children()):
        setattr(module, name, _fold(child))
    return module


def outputs_of(network: nn.Module, shape: NetworkShape) -> tuple[str, ...]:
    """Return the names of the outputs that searches use, from a network's answer for no stones."""
    import torch

    training = network.training
    parameter = next(iter(network.parameters()), torch.zeros(0))
    planes = torch.zeros(1, shape.planes, shape.size, shape.size, device=parameter.device)
    with torch.no_grad():
        answers: Outputs = network.eval()(planes.to(parameter.dtype))
    network.train(training)
    made = (name for name, answer in answers._asdict().items() if answer is not None)
    return tuple(name for name in made if name not in TRAINING_ONLY)

"""Networks of Go: input and outputs, building one by name, and files of its weights.

A weights file has the network's tensors as safetensors, with a header. It is never a pickle, and
nothing in it is run. It is checked in this order, and refused at the first fault: bounds, layout,
header, digest, the network's name and parameters, the tensors' names, shapes and dtypes, and the
network's outputs.

Importing this does not import torch.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from miai.errors import PluginError, WeightsError
from miai.files import reading
from miai.plugins.loader import registry
from miai.tensors import MAX_NAME, FileHeader, Tensors, TrainingRecord
from miai_go.errors import TrainingError, require_torch
from miai_go.kinds import NETWORK
from miai_go.nets.encoder import Encoder, load_encoder
from miai_go.rules.sizes import BoardSizes, board_names, plain_sizes, sizes_of
from miai_go.shipped import SUFFIX

if TYPE_CHECKING:
    from torch import Tensor, nn


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

    The tensors and answers of a network that learns several sizes of board must not depend on the
    shape that it was built for: it gets planes of each size.
    """

    policy: Tensor | None = None
    value: Tensor | None = None
    ownership: Tensor | None = None
    score: Tensor | None = None


def build_network(
    name: str, shape: NetworkShape, values: Mapping[str, Any], *, seed: int = 0
) -> nn.Module:
    """Return a network by its registered name, with weights drawn by `seed`; see `drawn`.

    Raises:
      MissingExtraError: torch is not installed.
      UnknownComponentError: no network has the name.
      ParameterError: the values do not fit it.
    """
    require_torch(f"the network '{name}'")
    return drawn(lambda: registry().build(NETWORK, name, shape, values=values), seed=seed)


def drawn(build: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """Return what `build` makes, with weights drawn by `seed`.

    The same network and seed give the same weights on one version of torch. The state of torch's
    own generator is restored.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def filled_parameters(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with all defaults, as a weights file stores them."""
    return registry().get(NETWORK, name).fill(values).model_dump(mode="json")


def folded(network: nn.Module) -> nn.Module:
    """Return a copy for inference, with norms folded into the convolutions before them.

    Every module with a method ``inference_form() -> torch.nn.Module`` is replaced by its result.
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
    """Return the names of a network's outputs, from its answer for no stones."""
    import torch

    training = network.training
    parameter = next(iter(network.parameters()), torch.zeros(0))
    planes = torch.zeros(1, shape.planes, shape.size, shape.size, device=parameter.device)
    with torch.no_grad():
        answers: Outputs = network.eval()(planes.to(parameter.dtype))
    # Norms of a network that is training must not be left in the mode of evaluation.
    network.train(training)
    return tuple(name for name, answer in answers._asdict().items() if answer is not None)


MAX_PLANES: Final = 512
INPUT: Final = "planes"
"""Name of an ONNX model's input."""
PRECISION_KEY: Final = "miai_precision"
"""Key of the precision in an ONNX model's metadata."""
_MAX_KOMI: Final = 1000.0


class WeightsHeader(FileHeader):
    """The header of a Go network.

    Attributes:
      network, network_parameters: the component of kind ``go.network``.
      encoder, encoder_parameters: the component of kind ``go.encoder`` whose planes it takes.
      size: points on a side of the boards that it was trained for: a number, or several.
      planes: planes of the encoder.
      komi: range of komi that it was trained for, rare ones left out, in points.
      outputs: names of the network's outputs, of policy, value, ownership and score.
    """

    KEY = "miai"
    KIND = "a Go network"
    REMEDY = (
        "name weights of a network; rollout policies have another header, and only `alphago` and "
        "`miai go eval` take them"
    )

    network: str = Field(max_length=MAX_NAME)
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    encoder: str = Field(max_length=MAX_NAME)
    encoder_parameters: dict[str, Any] = Field(default_factory=dict)
    size: BoardSizes
    planes: int = Field(ge=1, le=MAX_PLANES)
    komi: tuple[float, float]
    outputs: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.komi
        if not (-_MAX_KOMI <= low <= high <= _MAX_KOMI) or not math.isfinite(low + high):
            raise ValueError(f"komi of {low} to {high} is not a range of komi")
        known = list(Outputs._fields)
        if strange := set(self.outputs) - set(known):
            raise ValueError(f"outputs {sorted(strange)} are not among {known}")
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of board that it was trained for, ascending."""
        return sizes_of(self.size)

    @property
    def shape(self) -> NetworkShape:
        """The shape of the network's input, on the smallest board that it was trained for."""
        return NetworkShape(size=self.sizes[0], planes=self.planes)

    def board_size(self, size: int | None, *, where: str | Path) -> int:
        """Return the size of board to use the network for.

        Args:
          size: the size wanted; None for the only one that it was trained for.
          where: the file, for messages.

        Raises:
          WeightsError: it was not trained for this size; or for several, and none is wanted.
        """
        trained = board_names(self.sizes)
        if size is None and len(self.sizes) > 1:
            raise WeightsError(f"{where}: weights for {trained}; say which size of board")
        if size is not None and size not in self.sizes:
            raise WeightsError(
                f"{where}: weights for {trained}, not for {size}x{size}; choose weights trained on "
                f"{size}x{size}"
            )
        return self.sizes[0] if size is None else size

    def trained(
        self, record: TrainingRecord, *, komi: tuple[float, float], licence: str
    ) -> WeightsHeader:
        """Return the header with one more entry of history."""
        update = {
            "history": (*self.history, record),
            "komi": komi,
            "licence": licence or self.licence,
        }
        return self.model_copy(update=update)

    def check_encoder(
        self, name: str, values: Mapping[str, Any], planes: int, *, where: str
    ) -> None:
        """Raise `TrainingError` if the weights were trained with another encoder.

        Args:
          name, values, planes: the encoder of a config, its parameters and number of planes.
          where: the setting that names the weights.
        """
        if self.encoder != name:
            raise TrainingError(
                f"{where}: weights for the encoder '{self.encoder}', but the config names '{name}'"
            )
        actual, expected = (
            registry().get("go.encoder", name).fill(parameters).model_dump(mode="json")
            for parameters in (self.encoder_parameters, values)
        )
        if actual != expected:
            raise TrainingError(
                f"{where}: weights trained with '{name}' {actual}, but encoder.parameters are "
                f"{expected}; choose other weights, or set encoder.parameters to theirs"
            )
        if self.planes != planes:
            raise TrainingError(
                f"{where}: weights for {self.planes} planes, but the encoder '{name}' has "
                f"{planes}; they were made with another version of it"
            )


@dataclass(frozen=True, slots=True)
class NetworkWeights:
    """The content of a weights file: the network, in evaluation mode, and its header.

    A network that was trained for several sizes takes planes of each of them.
    """

    network: nn.Module
    header: WeightsHeader


def save_weights(path: str | Path, network: nn.Module, header: WeightsHeader) -> WeightsHeader:
    """Write a network and its header atomically; return the header as written.

    The header gets the network's parameters with their defaults, the outputs and the digest. Raises
    `WeightsError` if a weight is not finite; an existing file is then unchanged.
    """
    complete = header.model_copy(
        update={
            "network_parameters": filled_parameters(header.network, header.network_parameters),
            "outputs": outputs_of(network, header.shape),
        }
    )
    return complete.write(path, tensors_of(network))


def load_weights(path: str | Path, *, size: int | None = None) -> NetworkWeights:
    """Return the network of a weights file and its header.

    Args:
      size: points on a side of the board to build it for; None for the smallest that it was
        trained for.

    Raises:
      MissingExtraError: torch is not installed.
      WeightsError: the file cannot be read, is not for this size, or is damaged; see the module.
    """
    require_torch(f"{path}")
    header, tensors = WeightsHeader.read_all(path)
    shape = header.shape
    if size is not None:
        shape = NetworkShape(header.board_size(size, where=path), header.planes)
    network = fill_network(
        lambda: build_network(header.network, shape, header.network_parameters),
        tensors,
        where=str(path),
    )
    outputs = outputs_of(network, shape)
    if outputs != header.outputs:
        raise WeightsError(
            f"{path}: its header has the outputs {list(header.outputs)}, and its network has "
            f"{list(outputs)}"
        )
    return NetworkWeights(network, header)


def same_weights(first: Path, second: Path) -> bool:
    """Return whether two files hold the same network, whatever their names.

    Weights are compared by the digests in their headers, other files by their bytes. Raises
    `WeightsError` if a file cannot be read.
    """
    if first == second:
        return True
    if {first.suffix, second.suffix} == {SUFFIX}:
        return WeightsHeader.read(first).sha256 == WeightsHeader.read(second).sha256
    with reading(first, WeightsError), reading(second, WeightsError):
        return cmp(first, second, shallow=False)


def tensors_of(network: nn.Module) -> Tensors:
    """Return a network's tensors as arrays."""
    return {
        name: np.array(tensor.detach().cpu().numpy(), order="C")
        for name, tensor in network.state_dict().items()
    }


def fill_network(build: Callable[[], nn.Module], tensors: Tensors, *, where: str) -> nn.Module:
    """Return the network that `build` returns with these weights, in evaluation mode.

    Raises `WeightsError`, which names `where`, if it cannot be built or the tensors do not fit it.
    """
    import torch

    try:
        with torch.device("meta"):  # so that a wrong header costs no memory
            outline = build()
        _check_tensors(outline, tensors, where=where)
        network = build()
    except PluginError as error:
        raise WeightsError(f"{where}: its network cannot be built: {error}") from error
    copies = {name: torch.from_numpy(np.array(array)) for name, array in tensors.items()}
    network.load_state_dict(copies, strict=True)
    return network.eval()


def _check_tensors(outline: nn.Module, tensors: Tensors, *, where: str) -> None:
    """Raise unless names, shapes and dtypes of the tensors are those of the network."""
    types = {
        name: (tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        for name, tensor in outline.state_dict().items()
    }
    for name in sorted(types.keys() | tensors.keys()):
        if name not in tensors:
            raise WeightsError(f"{where}: '{name}' of its network is missing")
        if name not in types:
            raise WeightsError(f"{where}: '{name}' is not a tensor of its network")
        array = tensors[name]
        if (array.shape, array.dtype.name) != types[name]:
            shape, dtype = types[name]
            raise WeightsError(
                f"{where}: '{name}' is {array.dtype.name} of shape {array.shape}; its network "
                f"takes {dtype} of shape {shape}"
            )


def encoder_of(header: WeightsHeader, *, where: str, size: int | None) -> Encoder:
    """Return the encoder whose planes weights take on a board of `size`.

    Raises `WeightsError` as `WeightsHeader.board_size`, and if the encoder is unavailable.
    """
    points = header.board_size(size, where=where)
    try:
        encoder = load_encoder(header.encoder, points, header.encoder_parameters)
    except PluginError as error:
        raise WeightsError(f"{where}: its encoder is unavailable: {error}") from error
    if encoder.planes != header.planes:
        raise WeightsError(
            f"{where}: trained on {header.planes} planes of the encoder '{header.encoder}', which "
            f"makes {encoder.planes} here; install the version of its plugin that trained it"
        )
    return encoder


def check_sizes(
    name: str,
    values: Mapping[str, Any],
    planes: int,
    sizes: Sequence[int],
    *,
    where: str = "network",
) -> None:
    """Raise `TrainingError` unless one network serves boards of all sizes.

    Networks made for the smallest and the largest board must have tensors of the same shapes.
    """
    if len(sizes) == 1:
        return
    shapes = [NetworkShape(size, planes) for size in (sizes[0], sizes[-1])]
    import torch

    with torch.device("meta"):
        small, large = (build_network(name, shape, values).state_dict() for shape in shapes)
    # On the device `meta`, so that only shapes are made and compared.
    names = sorted(small.keys() | large.keys())
    sized = [
        n for n in names if getattr(small.get(n), "shape", ()) != getattr(large.get(n), "shape", ())
    ]
    if sized:
        parts = " and ".join(dict.fromkeys(n.partition(".")[0] for n in sized))
        raise TrainingError(
            f"{where}: '{name}' cannot learn {board_names(sizes)} together because of its {parts}; "
            "use a tower with value = 'pooled', or one size of board"
        )


def continued(
    start: NetworkWeights,
    sizes: Sequence[int],
    *,
    name: str,
    values: Mapping[str, Any],
    norms: str,
    seed: int,
) -> NetworkWeights:
    """Return weights to train on, for these sizes of board, in a network that may be larger.

    More blocks and pooling begin without effect; other heads are initialised by `seed`.

    Args:
      name, values: the network of the config, and its parameters; others are those of `start`.
      norms: ``fixed`` if norms keep their statistics, so that nothing can be added.

    Raises:
      TrainingError: the network is another one, smaller, or different in more than its size; or it
        cannot learn the sizes.
    """
    header = start.header
    if header.network != name:
        raise TrainingError(
            f"network.start: weights for '{header.network}', but the config names '{name}'"
        )
    known = filled_parameters(name, header.network_parameters)
    filled = filled_parameters(name, {**known, **values})
    # Sizes of the start too: its tensors must be those of a network for any of them.
    every = sizes_of({*header.sizes, *sizes})
    check_sizes(name, filled, header.planes, every, where="network.start")
    if filled == known:
        update: dict[str, Any] = {"size": plain_sizes(sizes)}
        return NetworkWeights(start.network, header.model_copy(update=update))
    if norms == "fixed":
        raise TrainingError(
            "network.norms: fixed norms have the statistics of network.start, so it needs all "
            "blocks and heads of the network; train with norms = 'batch' first"
        )
    _check_growth(header.network, known, filled)
    shape = NetworkShape(sizes[0], header.planes)
    built = build_network(name, shape, filled, seed=seed)
    old, new = (
        {head: (values.get(head), values.get(f"{head}_parameters")) for head in Outputs._fields}
        for values in (known, filled)
    )
    _copy_weights(start.network, built, renewed={head for head in old if old[head] != new[head]})
    update = {
        "size": plain_sizes(sizes),
        "network_parameters": filled,
        "outputs": outputs_of(built, shape),
    }
    return NetworkWeights(built, header.model_copy(update=update))


def _check_growth(name: str, known: Mapping[str, Any], filled: Mapping[str, Any]) -> None:
    """Raise `TrainingError` if parameters differ in more than may grow: height, pooling, heads."""
    heads = Outputs._fields
    free = {"height", "pooling", *heads, *(f"{head}_parameters" for head in heads)}
    for key in sorted(filled.keys() - free):
        if filled[key] != known[key]:
            raise TrainingError(
                f"network.start: weights of '{name}' with {key} {known[key]!r}, but "
                f"network.parameters say {filled[key]!r}; only height, pooling and heads may "
                "differ"
            )


def _copy_weights(start: nn.Module, built: nn.Module, *, renewed: Set[str]) -> None:
    """Copy all weights but those of the renewed heads into a network that may be larger.

    Raises:
      TrainingError: weights do not fit, as the network is smaller.
    """
    weights = {
        name: tensor
        for name, tensor in start.state_dict().items()
        if name.partition(".")[0] not in renewed
    }
    places = built.state_dict()
    for name, tensor in weights.items():
        if name not in places or places[name].shape != tensor.shape:
            wanted = tuple(places[name].shape) if name in places else "no such weights"
            raise TrainingError(
                f"network.start: has '{name}' of shape {tuple(tensor.shape)}, but the network of "
                f"the config has {wanted}; it may have more blocks and pooling, not fewer"
            )
    built.load_state_dict(weights, strict=False)

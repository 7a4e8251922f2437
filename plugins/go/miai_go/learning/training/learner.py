"""A network that learns from batches: losses, optimiser, averaged weights."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from miai.process.processors import available_processors
from miai_go.errors import DivergedError, TrainingError
from miai_go.learning.training.config_sections import (
    LearningTables,
    OptimiserSection,
    TrainingRunSection,
)
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import NetworkWeights, Outputs, WeightsHeader, load_weights, save_weights
from miai_go.nets.torch_oracle import TorchOracle

Batched: TypeAlias = NDArray[Any] | Tensor
"""A value for each position of a lesson: an array, or a tensor on any device."""


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """n positions with the targets of a network; a target of None is not trained.

    Everything is from the view of the player to move; nan in value and score means unknown.

    Attributes:
      planes: uint8 of shape (n, planes, size, size).
      action: target moves, int64 of shape (n,).
      policy: target probabilities in place of moves, float32 of shape (n, size * size + 1).
      allowed: mask of the softmax over moves, bool of shape (n, size * size + 1); None allows all.
      weight: weight of each position in the policy loss, float32 of shape (n,); None means 1. A
        negative weight makes the move less likely.
      value: float32 of shape (n,), from -1 to 1.
      ownership: from -1 to 1, of shape (n, size, size), int8, or of floats where a teacher shares
        in it; all 0 where the owners are unknown.
      score: winning margin in points, float32 of shape (n,).
    """

    planes: Batched
    action: Batched | None = None
    policy: Batched | None = None
    allowed: Batched | None = None
    weight: Batched | None = None
    value: Batched | None = None
    ownership: Batched | None = None
    score: Batched | None = None


# Not minus infinity: its logarithm times a target of 0 would be nan.
_NEVER: Final = -1e9
"""A logit whose probability is 0, but finite."""


class Learner:
    """Trains a network step by step; the same lessons give the same weights on one thread.

    Args:
      network: trained in place, on the device of `run`.
      scales: factor of each plane, float32 of shape (planes,).
      config: optimiser, losses and run.
      norms: ``fixed``: batch norms keep the statistics that they have. Otherwise each batch is
        scaled by its own; as the edge is a larger part of a small board, a network that learns from
        batches of one size each then answers differently once it uses the mean statistics of all.

    Attributes:
      network: in training mode after each step, without its fixed norms.
      steps: optimiser steps made.
      seconds: wall time since the first step, earlier invocations included.
    """

    def __init__(
        self,
        network: nn.Module,
        scales: NDArray[np.float32],
        config: LearningTables,
        *,
        norms: Literal["batch", "fixed"] = "batch",
    ) -> None:
        run, optimiser = config.run, config.optimiser
        self._fixed_norms = norms == "fixed"
        self._device = torch.device(run.device)
        self.network = network.to(self._device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.steps = 0
        self._began = math.inf
        self._before = 0.0
        self._run = run
        self._loss = config.loss
        self._settings = optimiser
        self._scales = torch.from_numpy(scales.copy()).to(self._device).view(1, -1, 1, 1)
        self._average = {n: t.detach().clone() for n, t in network.state_dict().items()}
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        self._optimiser = _make_optimiser(self._parameters, optimiser)

    def learn(self, lesson: Lesson) -> dict[str, float]:
        """Make one step; return the losses and ``rate``, the learning rate.

        Raises:
          DivergedError: a loss is not a finite number; the weights were not changed.
        """
        # From the first step on, so that loading games and compiling are not part of the limit; a
        # monotonic clock, which setting the time of day does not move.
        self._began = min(self._began, time.monotonic())
        self._train()
        rate = self._rate()
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        outputs = self._answers(lesson)
        losses = self._losses(outputs, lesson)
        total = torch.stack(list(losses.values())).sum()
        known = torch.stack((*losses.values(), total)).tolist()  # waits once for the device
        # Before the backward pass: the weights are still those of the last good step.
        if not math.isfinite(known[-1]):
            raise DivergedError(
                f"the loss of step {self.steps + 1} is {known[-1]}: lower the rate or check the "
                "data"
            )
        self._optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        if self._settings.clip:
            nn.utils.clip_grad_norm_(self._parameters, self._settings.clip)
        self._optimiser.step()
        self.steps += 1
        self._follow_average()
        return {**dict(zip((*losses, "loss"), known, strict=True)), "rate": rate}

    def _train(self) -> None:
        self.network.train()
        if self._fixed_norms:
            for module in self.network.modules():
                if isinstance(module, nn.BatchNorm2d):
                    module.eval()

    def out_of_time(self) -> bool:
        """Return whether the run's time limit has passed."""
        return self._spent() >= 1

    def limits(self) -> str:
        """Return the steps of the run, and how much of its time has passed if that is limited."""
        steps, minutes = str(self._run.steps), self._run.minutes
        return f"{steps}, {self.seconds / 60:.1f} of {minutes:g} minutes" if minutes else steps

    @property
    def seconds(self) -> float:
        """Wall time since the first step, earlier invocations included."""
        return self._before + max(time.monotonic() - self._began, 0.0)

    def _spent(self) -> float:
        """Return the share of the time limit that has passed; 0 without a limit."""
        limit = 60 * self._run.minutes
        return self.seconds / limit if limit else 0.0

    def answers(self, planes: Batched) -> Outputs:
        """Return the network's outputs, without gradients, in fp32, on the CPU."""
        self.network.eval()
        with torch.inference_mode():
            outputs: Outputs = self.network(self._input(planes))
        return Outputs(*(None if t is None else t.float().cpu() for t in outputs))

    def save(self, path: Path, header: WeightsHeader) -> None:
        """Write the averaged weights. Raises `WeightsError`."""
        with self.averaged_weights():
            save_weights(path, self.network, header)

    def playing_copy(self, header: WeightsHeader, encoder: Encoder) -> TorchOracle:
        """Return a network with the averaged weights, ready to play.

        It leaves torch with one thread; `learning_threads` restores the run's.
        """
        with self.averaged_weights():
            return self._oracle(NetworkWeights(self.network, header), encoder)

    def earlier_player(self, path: Path, encoder: Encoder) -> TorchOracle:
        """Return the network of a file, such as an earlier checkpoint's, ready to play.

        Raises `WeightsError`. For torch's threads see `playing_copy`.
        """
        return self._oracle(load_weights(path, size=encoder.size), encoder)

    def _oracle(self, weights: NetworkWeights, encoder: Encoder) -> TorchOracle:
        run = self._run
        return TorchOracle(weights, encoder, precision=run.precision, threads=1, device=run.device)

    def playing_model(self, header: WeightsHeader) -> bytes:
        """Return a network with the averaged weights, for ONNX Runtime, in int8."""
        from miai_go.nets.onnx_export import onnx_model

        with self.averaged_weights():
            weights = NetworkWeights(copy.deepcopy(self.network).cpu().eval(), header)
        model: bytes = onnx_model(weights, precision="int8").SerializeToString()
        return model

    @contextmanager
    def averaged_weights(self) -> Iterator[None]:
        """Give the network its averaged weights while the context is open."""
        current = {n: t.detach().clone() for n, t in self.network.state_dict().items()}
        if self._run.average:
            self.network.load_state_dict(self._average)
        try:
            yield
        finally:
            self.network.load_state_dict(current)

    # -- checkpoints --------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors of a checkpoint: weights, averaged weights, optimiser state."""
        out = {f"network.{n}": t for n, t in self.network.state_dict().items()}
        if self._run.average:
            out |= {f"average.{n}": t for n, t in self._average.items()}
        for index, memory in self._optimiser.state_dict()["state"].items():
            for name, value in memory.items():
                if isinstance(value, Tensor):
                    out[f"optimiser.{index}.{name}"] = value
        return {name: tensor.detach().cpu().contiguous() for name, tensor in out.items()}

    def load_tensors(self, tensors: Mapping[str, Tensor], *, steps: int, seconds: float) -> None:
        """Resume from the result of `tensors` after `steps` steps that took `seconds`.

        Raises:
          TrainingError: the tensors belong to another network or optimiser.
        """
        try:
            self.network.load_state_dict(_below(tensors, "network."))
            if self._run.average:
                average = _below(tensors, "average.")
                for name in self._average:
                    self._average[name] = average[name].to(self._device)
            self._load_optimiser(_below(tensors, "optimiser."))
        except (KeyError, RuntimeError, ValueError) as error:
            raise TrainingError(
                f"the checkpoint belongs to another network or optimiser: {str(error)[:300]}; "
                "resume with the config of the run"
            ) from error
        self.steps = steps
        self._before = seconds

    def _load_optimiser(self, memory: Mapping[str, Tensor]) -> None:
        state: dict[int, dict[str, Tensor]] = {}
        for key, tensor in memory.items():
            index, _, name = key.partition(".")
            state.setdefault(int(index), {})[name] = tensor
        for number, entry in state.items():
            shape = self._parameters[number].shape
            if any(t.dim() and t.shape != shape for t in entry.values()):
                raise ValueError(f"the optimiser's memory of parameter {number} has another shape")
        whole = self._optimiser.state_dict()
        whole["state"] = state
        self._optimiser.load_state_dict(whole)

    # -- one step -----------------------------------------------------------------------------

    def _rate(self) -> float:
        """Return the learning rate of the next step: a linear rise, then half a cosine.

        The cosine goes by the steps or, where that is further, by the time of the run.
        """
        settings, step = self._settings, self.steps
        if step < settings.warm_steps:
            return settings.rate * (step + 1) / settings.warm_steps
        span = max(self._run.steps - settings.warm_steps, 1)
        done = min(max((step - settings.warm_steps) / span, self._spent()), 1.0)
        share = settings.last_rate + (1 - settings.last_rate) * (1 + math.cos(math.pi * done)) / 2
        return settings.rate * share

    def _input(self, planes: Batched) -> Tensor:
        tensor = self._tensor(planes).float() * self._scales
        return tensor.contiguous(memory_format=torch.channels_last)

    def _answers(self, lesson: Lesson) -> Outputs:
        bf16 = self._run.precision == "bf16"
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=bf16):
            outputs: Outputs = self.network(self._input(lesson.planes))
        return outputs

    def _losses(self, outputs: Outputs, lesson: Lesson) -> dict[str, Tensor]:
        """Return the weighted loss of each head that has a target."""
        losses: dict[str, Tensor] = {}
        share = self._loss
        taught = lesson.policy is not None or lesson.action is not None
        if outputs.policy is not None and share.policy and taught:
            losses["policy"] = share.policy * self._policy_loss(outputs.policy.float(), lesson)
        if outputs.value is not None and share.value and lesson.value is not None:
            loss = _known_mean(outputs.value.float(), self._tensor(lesson.value), _square)
            losses["value"] = share.value * loss
        if outputs.ownership is not None and share.ownership and lesson.ownership is not None:
            target = self._tensor(lesson.ownership).float()
            losses["ownership"] = share.ownership * _owned(outputs.ownership.float(), target)
        if outputs.score is not None and share.score and lesson.score is not None:
            huber = partial(functional.huber_loss, reduction="none")
            loss = _known_mean(outputs.score.float() / 10, self._tensor(lesson.score) / 10, huber)
            losses["score"] = share.score * loss
        if not losses:
            raise TrainingError(
                "nothing to train: the data has no target for the network's heads, or every loss "
                "has the weight 0"
            )
        return losses

    def _policy_loss(self, logits: Tensor, lesson: Lesson) -> Tensor:
        if lesson.allowed is not None:
            logits = logits.masked_fill(~self._tensor(lesson.allowed), _NEVER)
        if lesson.policy is not None:
            losses = -(self._tensor(lesson.policy) * functional.log_softmax(logits, 1)).sum(1)
        else:
            assert lesson.action is not None
            target = self._tensor(lesson.action)
            losses = functional.cross_entropy(logits, target, reduction="none")
        if lesson.weight is None:
            return losses.mean()
        return (losses * self._tensor(lesson.weight)).mean()

    def _tensor(self, column: Batched) -> Tensor:
        if not isinstance(column, Tensor):
            column = torch.from_numpy(np.ascontiguousarray(column))
        return column.to(self._device)

    def _follow_average(self) -> None:
        # At first the average follows closely, or the random weights of the start would stay in it.
        decay = min(self._run.average, self.steps / (self.steps + 10.0))
        if not self._run.average:
            return
        current = self.network.state_dict()
        real = [name for name, tensor in self._average.items() if tensor.is_floating_point()]
        with torch.no_grad():
            torch._foreach_lerp_(
                [self._average[name] for name in real], [current[name] for name in real], 1 - decay
            )
            for name in self._average.keys() - real:
                self._average[name].copy_(current[name])


def _square(a: Tensor, b: Tensor) -> Tensor:
    return (a - b) ** 2


def _known_mean(answer: Tensor, target: Tensor, loss: Any) -> Tensor:
    """Return the mean loss over the rows whose target is known; 0 where none is."""
    known = ~torch.isnan(target)
    losses: Tensor = loss(answer, torch.where(known, target, answer.detach()))
    return (losses * known).sum() / known.sum().clamp(min=1)


def _owned(answer: Tensor, target: Tensor) -> Tensor:
    """Return the mean square error over the rows that have an owned point; 0 where none has."""
    known = target.flatten(1).any(1)
    losses = ((answer - target) ** 2).flatten(1).mean(1)
    return (losses * known).sum() / known.sum().clamp(min=1)


def _make_optimiser(
    parameters: list[nn.Parameter], settings: OptimiserSection
) -> torch.optim.Optimizer:
    if settings.method == "adamw":
        return torch.optim.AdamW(
            parameters,
            lr=settings.rate,
            betas=(settings.momentum, 0.999),
            weight_decay=settings.decay,
        )
    return torch.optim.SGD(
        parameters,
        lr=settings.rate,
        momentum=settings.momentum,
        weight_decay=settings.decay,
        nesterov=settings.momentum > 0,
    )


def _below(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def prepare_torch(run: TrainingRunSection) -> None:
    """Set torch's threads and seed, and on processors deterministic algorithms.

    Raises:
      TrainingError: the device is unavailable.
    """
    if run.threads:
        torch.set_num_threads(run.threads)
    device = _known_device(run.device)
    if device.type == "cuda":
        # Batches have few shapes, so trying which algorithm is fastest for each pays off.
        torch.backends.cudnn.benchmark = True
    else:
        torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(run.seed)


def _known_device(name: str) -> torch.device:
    """Return a device by its name. Raises `TrainingError` if torch does not find it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise TrainingError(
            f"run.device = '{name[:40]}': no device of torch; use 'cpu', 'cuda' or 'cuda:1'"
        ) from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise TrainingError(f"run.device = '{name}': torch finds no such device; use 'cpu'")
    return device


def learning_threads(run: TrainingRunSection) -> None:
    """Give torch the threads of the run."""
    torch.set_num_threads(run.threads or available_processors())

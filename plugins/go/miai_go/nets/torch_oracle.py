"""Networks run by torch."""

from __future__ import annotations

import threading
import time
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from miai_go.errors import InferenceError
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import Outputs, folded
from miai_go.nets.oracle import (
    Answers,
    Counter,
    Planes,
    check_answers,
    check_planes,
    cut,
    join,
    rows,
)
from miai_go.nets.weights import NetworkWeights

MAX_BATCH = 1024
"""Most positions in one run of a network; more are cut, which keeps memory bounded."""

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class TorchOracle:
    """A network that torch runs, norms folded, channels last.

    Answers may be asked from several threads; one batch runs at a time.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
      header: what the network is.
      precision: ``fp32`` or ``bf16``.
      device: torch's name of it, ``cpu`` or ``cuda``.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self,
        weights: NetworkWeights,
        encoder: Encoder,
        *,
        precision: Literal["fp32", "bf16"] = "fp32",
        threads: int | None = 1,
        fixed_batch: int | None = None,
        device: str = "cpu",
    ) -> None:
        """Make the network ready.

        Args:
          threads: of torch in this process, all its networks together; None leaves it as it is.
          fixed_batch: every batch is filled up to so many positions, so that an answer does not
            depend, not even in its last digit, on what else was asked with it.

        Raises:
          InferenceError: the device is not there, or cannot hold the network.
        """
        if threads is not None:
            torch.set_num_threads(threads)
        self.encoder = encoder
        self.header = weights.header
        self.has_policy = "policy" in weights.header.outputs
        self.has_value = "value" in weights.header.outputs
        self.precision = precision
        self.device = device
        self._fixed_batch = fixed_batch
        self._dtype = _DTYPES[precision]
        self._lock = threading.Lock()
        self._counter = Counter()
        try:
            network = folded(weights.network).to(device=device, dtype=self._dtype)
            # The stubs of torch do not know this argument of Module.to.
            self._network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            self._scales = torch.from_numpy(encoder.scales).to(device).view(1, -1, 1, 1)
        except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
            reason = str(error).splitlines()[0]
            raise InferenceError(f"device '{device}' cannot be used: {reason}") from error

    def infer(self, planes: Planes) -> Answers:
        """Return what the network makes of planes.

        Raises:
          InferenceError: the planes do not fit, or the network fails or answers NaN.
        """
        check_planes(planes, self.encoder)
        with self._lock:
            began = time.perf_counter()
            batches = list(cut(planes, fixed_batch=self._fixed_batch, most=MAX_BATCH))
            answers = join([rows(self._run(batch), 0, count) for batch, count in batches])
            seconds = time.perf_counter() - began
        self._counter.add(positions=len(planes), seconds=seconds, batches=len(batches))
        return check_answers(answers, "the network")

    def statistics(self) -> dict[str, float]:
        """Return what was done so far; see `Counter.statistics`."""
        return self._counter.statistics()

    def close(self) -> None:
        """Release nothing: memory goes with the object."""

    def _run(self, batch: Planes) -> Answers:
        try:
            with torch.inference_mode():
                planes = torch.from_numpy(batch).to(self.device)
                scaled = (planes * self._scales).to(self._dtype)
                outputs: Outputs = self._network(
                    scaled.contiguous(memory_format=torch.channels_last)
                )
                return Answers(*(_array(output) for output in outputs))
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise InferenceError(
                f"the network failed on {len(batch)} positions: {reason}"
            ) from error


def _array(output: Tensor | None) -> NDArray[np.float32] | None:
    return None if output is None else output.float().cpu().numpy()

"""Networks that torch runs."""

from __future__ import annotations

from typing import Literal

import torch

from miai_go.errors import InferenceError, first_line
from miai_go.nets.encoder import Encoder
from miai_go.nets.network import NetworkWeights, Outputs, folded
from miai_go.nets.network_parameters import Precision
from miai_go.nets.oracle import Answers, NetworkOracle, Planes

_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


class TorchOracle(NetworkOracle):
    """A network that torch runs, norms folded, channels last.

    Attributes:
      precision: ``fp32`` or ``bf16``.
      device: torch's name of the device, such as ``cpu`` or ``cuda``.
    """

    def __init__(
        self,
        weights: NetworkWeights,
        encoder: Encoder,
        *,
        precision: Literal["fp32", "bf16"] = "fp32",
        threads: int | None = 1,
        device: str = "cpu",
        where: str = "the network",
    ) -> None:
        """Prepare the network; see `load_oracle`.

        Args:
          threads: threads of torch in this process, shared by all its networks; None: unchanged.
          where: the network, for messages.

        Raises:
          InferenceError: the device is missing or cannot hold the network.
        """
        super().__init__(weights.header, encoder, where=where)
        if threads is not None:
            torch.set_num_threads(threads)
        self.precision = precision
        self.device = device
        self._dtype = _DTYPES[precision]
        try:
            network = folded(weights.network).to(device=device, dtype=self._dtype)
            # The stubs of torch do not know this argument of Module.to.
            self._network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            self._scales = torch.from_numpy(encoder.scales).to(device).view(1, -1, 1, 1)
        except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
            raise InferenceError(
                f"device '{device}' cannot be used: {first_line(error)}"
            ) from error

    def _run(self, batch: Planes) -> Answers:
        with torch.inference_mode():
            planes = torch.from_numpy(batch).to(self.device)
            scaled = (planes * self._scales).to(self._dtype)
            outputs: Outputs = self._network(scaled.contiguous(memory_format=torch.channels_last))
            arrays = (getattr(outputs, name) for name in Answers._fields)
            return Answers(*(None if a is None else a.float().cpu().numpy() for a in arrays))


def torch_precision(precision: Precision, device: str) -> Literal["fp32", "bf16"]:
    """Return the precision that torch runs in.

    ``auto`` looks at the machine alone, so that every run on one machine chooses the same: bf16
    where the device multiplies it in hardware, else fp32.
    """
    if precision in ("fp32", "bf16"):
        return precision
    if device.startswith("cuda"):
        fast = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = bool(torch.cpu._is_avx512_bf16_supported())
    return "bf16" if fast else "fp32"

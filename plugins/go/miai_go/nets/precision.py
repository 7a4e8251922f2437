"""Which numbers a network is run in.

``auto`` looks at the machine alone, so that it chooses the same in every run on one machine: bf16
where the device multiplies bf16 in hardware, else fp32. int8 is taken only when asked for.
"""

from __future__ import annotations

from typing import Literal

Precision = Literal["auto", "fp32", "bf16", "int8"]


def torch_precision(precision: Precision, device: str) -> Literal["fp32", "bf16"]:
    """Return the precision that torch runs in, ``auto`` settled."""
    import torch

    if precision in ("fp32", "bf16"):
        return precision
    if device.startswith("cuda"):
        fast = torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = bool(torch.cpu._is_avx512_bf16_supported())
    return "bf16" if fast else "fp32"

"""The header of a weights file: what the network is, what it is fed and where it comes from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any, Final, Self

from pydantic import Field, model_validator

from miai.errors import ParameterError
from miai.parameters import StrictModel, build_parameters
from miai.plain import dumps, loads
from miai_go.errors import WeightsError
from miai_go.nets.network import NetworkShape, Outputs
from miai_go.tensors import Tensors

FORMAT_VERSION: Final = 1
METADATA_KEY: Final = "miai"
"""Where the header is in the metadata of a safetensors or an ONNX file."""

MAX_HEADER_BYTES: Final = 1 << 20
MAX_SIZE: Final = 25
MAX_PLANES: Final = 512
_MAX_KOMI: Final = 1000.0
_SHORT: Final = 200
_LONG: Final = 4000


class TrainingRecord(StrictModel):
    """One step of what made a network, such as a run of `miai go train sl`.

    Attributes:
      command: the command line, without paths of the machine.
      config: digest of its config, in hexadecimal; empty where it had none.
      data: what it learned from, in words.
      steps: optimiser steps.
      seed: seed of the run.
      date: the day it ended, as in 2026-11-21.
    """

    command: str = Field(max_length=_LONG)
    config: str = Field(default="", max_length=_SHORT)
    data: str = Field(default="", max_length=_LONG)
    steps: int = Field(default=0, ge=0)
    seed: int = 0
    date: str = Field(default="", max_length=_SHORT)


class WeightsHeader(StrictModel):
    """What stands in a weights file beside the weights.

    Attributes:
      version: of the format.
      network, network_parameters: the component of kind ``go.network``.
      encoder, encoder_parameters: the component of kind ``go.encoder`` whose planes it takes.
      size: points on a side.
      planes: planes of the encoder.
      komi: least and greatest komi it was trained for, in points.
      outputs: what it answers, of policy, value, ownership and score.
      history: what made it, the oldest first.
      licence: of the weights, as an SPDX expression; empty if nobody said.
      sha256: digest of the rest of the header and of the weights, in hexadecimal; written by
        `save_weights`.
    """

    version: int = FORMAT_VERSION
    network: str = Field(max_length=_SHORT)
    network_parameters: dict[str, Any] = Field(default_factory=dict)
    encoder: str = Field(max_length=_SHORT)
    encoder_parameters: dict[str, Any] = Field(default_factory=dict)
    size: int = Field(ge=1, le=MAX_SIZE)
    planes: int = Field(ge=1, le=MAX_PLANES)
    komi: tuple[float, float]
    outputs: tuple[str, ...] = ()
    history: tuple[TrainingRecord, ...] = Field(default=(), max_length=_SHORT)
    licence: str = Field(default="", max_length=_SHORT)
    sha256: str = Field(default="", max_length=64)

    @model_validator(mode="after")
    def _check(self) -> Self:
        least, most = self.komi
        if not (-_MAX_KOMI <= least <= most <= _MAX_KOMI) or not math.isfinite(least + most):
            raise ValueError(f"komi of {least} to {most} is no range of komi")
        if strange := set(self.outputs) - set(Outputs._fields):
            raise ValueError(f"outputs {sorted(strange)} are none of {list(Outputs._fields)}")
        return self

    @property
    def shape(self) -> NetworkShape:
        """What the network must fit."""
        return NetworkShape(size=self.size, planes=self.planes)

    def to_json(self) -> str:
        """Return the header as one line of JSON."""
        return dumps(self.model_dump(mode="json"))


def parse_header(text: str, *, where: str) -> WeightsHeader:
    """Return the header that a file holds.

    Args:
      where: the file, for the message.

    Raises:
      WeightsError: too long, malformed, of another version, or with an unknown or wrong field.
    """
    if len(text) > MAX_HEADER_BYTES:
        raise WeightsError(f"{where}: a header of more than {MAX_HEADER_BYTES} bytes is refused")
    try:
        values = loads(text)
    except ValueError as error:
        raise WeightsError(f"{where}: its header is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise WeightsError(f"{where}: its header is no JSON object")
    version = values.get("version")
    if version != FORMAT_VERSION:
        raise WeightsError(
            f"{where}: weights of format version {version!r}; this miai-go reads version "
            f"{FORMAT_VERSION}: install the miai-go that wrote it"
        )
    try:
        return build_parameters(WeightsHeader, values, where="header")
    except ParameterError as error:
        raise WeightsError(f"{where}: {'; '.join(str(error).splitlines())}") from None


def digest(header: WeightsHeader, tensors: Tensors) -> str:
    """Return the digest of a header, its own digest left out, and of the weights."""
    unsigned = header.model_copy(update={"sha256": ""})
    total = hashlib.sha256(unsigned.to_json().encode("ascii"))
    for name in sorted(tensors):
        array = tensors[name]
        total.update(f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def header_of_metadata(metadata: Mapping[str, str], *, where: str) -> WeightsHeader:
    """Return the header that a file's metadata holds. Raises `WeightsError` if there is none."""
    text = metadata.get(METADATA_KEY)
    if text is None:
        raise WeightsError(
            f"{where}: carries no header of miai for a network, so that what it is fed cannot be "
            "known; name weights of a network; rollout policies carry another header, and are "
            "measured by `miai go train rollout` as it ends"
        )
    return parse_header(text, where=where)

"""Networks that ONNX Runtime runs; torch need not be installed."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from miai.errors import WeightsError
from miai.files import reading
from miai.plugins.extras import extra_needed
from miai.tensors import MAX_FILE_BYTES
from miai_go.errors import InferenceError, first_line, require_torch
from miai_go.nets.network import INPUT, PRECISION_KEY, WeightsHeader, encoder_of
from miai_go.nets.network_parameters import Precision
from miai_go.nets.oracle import Answers, NetworkOracle, Planes

_QUIET = 3  # ONNX Runtime's level of errors; its warnings are about its own graph work


class OnnxModel:
    """A model that ONNX Runtime has opened.

    Attributes:
      session: ONNX Runtime's.
      header: of its weights.
      precision: of the model.
      where: the file, for messages.
    """

    def __init__(self, model: bytes, *, where: str = "the model", threads: int = 1) -> None:
        """Open a model, with a number of threads for it.

        Raises `MissingExtraError` without ONNX Runtime, `WeightsError` for another kind of bytes.
        """
        self.session = _session(model, where, threads)
        metadata = self.session.get_modelmeta().custom_metadata_map
        self.header = WeightsHeader.of_metadata(metadata, where=where)
        self.precision: str = metadata.get(PRECISION_KEY, "fp32")
        self.where = where
        _check_session(self.session, self.header, where)

    @classmethod
    def read(cls, path: Path, *, threads: int = 1) -> OnnxModel:
        """Open an ``.onnx`` file. Raises as `OnnxModel`, also if it cannot be read."""
        return cls(_read(path), where=str(path), threads=threads)


class OnnxOracle(NetworkOracle):
    """A network that ONNX Runtime runs on the CPU, in the precision of the model."""

    def __init__(
        self,
        model: OnnxModel | bytes,
        *,
        size: int | None = None,
        where: str = "the model",
        threads: int = 1,
    ) -> None:
        """Prepare a model, which carries the header of its weights.

        Args:
          model: an opened model, or the bytes of one to open with `where` and `threads`.
          size: as of `miai_go.nets.inference.load_oracle`.
          where: the file, for messages.
          threads: threads of ONNX Runtime for this model.

        Raises as `OnnxModel`, and `WeightsError` if the network is not for this size.
        """
        if isinstance(model, bytes):
            model = OnnxModel(model, where=where, threads=threads)
        self._session = model.session
        self.precision = model.precision
        super().__init__(
            model.header, encoder_of(model.header, where=model.where, size=size), where=model.where
        )

    def _run(self, batch: Planes) -> Answers:
        names = self.header.outputs
        outputs = self._session.run(list(names), {INPUT: batch})
        return Answers(**dict(zip(names, outputs, strict=True)))


def open_onnx(path: Path, precision: Precision, *, threads: int) -> OnnxModel:
    """Open an ``.onnx`` file, or a weights file, which is exported in int8 in memory.

    Raises as `OnnxModel`, and `InferenceError` if the file has another precision.
    """
    if path.suffix == ".onnx":
        model = OnnxModel.read(path, threads=threads)
        if precision not in ("auto", model.precision):
            raise InferenceError(
                f"{path}: was exported in {model.precision}, not in {precision}; leave the "
                "precision out, or export it again"
            )
        return model
    require_torch(f"{path}")
    header, _tensors = WeightsHeader.read_all(path)
    exported = _quantised(path, header.to_json())
    return OnnxModel(exported, where=str(path), threads=threads)


@lru_cache(maxsize=1)  # an export takes seconds, and workers and sizes open the same one in turn
def _quantised(path: Path, header: str) -> bytes:
    """Return the int8 model of a weights file, whose header identifies its content."""
    from miai_go.nets.network import load_weights
    from miai_go.nets.onnx_export import onnx_model

    model: bytes = onnx_model(load_weights(path), precision="int8").SerializeToString()
    return model


def _read(path: Path) -> bytes:
    with reading(path, WeightsError):
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise WeightsError(f"{path}: {size} bytes; the limit is {MAX_FILE_BYTES}")
        return path.read_bytes()


def _session(model: bytes, where: str, threads: int) -> Any:
    if find_spec("onnxruntime") is None:
        raise extra_needed(where, "onnxruntime", "miai-go[onnx]")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    # An idle thread that spins takes the core from the one that makes the next batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            model, sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # a library's, of many kinds
        raise WeightsError(
            f"{where}: not an ONNX model that can be run: {first_line(error)}; make it again with "
            "miai go export"
        ) from error


def _check_session(session: Any, header: WeightsHeader, where: str) -> None:
    """Raise unless the model's inputs and outputs fit its header.

    Lengths that depend on the board are named, not fixed, in a model for several sizes.
    """
    several = len(header.sizes) > 1
    size, actions = (None, None) if several else (header.sizes[0], header.shape.actions)
    shapes: dict[str, tuple[int | None, ...]] = {
        INPUT: (header.planes, size, size),
        "policy": (actions,),
        "value": (),
        "ownership": (size, size),
        "score": (),
    }
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if [i.name for i in inputs] != [INPUT] or [o.name for o in outputs] != list(header.outputs):
        raise WeightsError(f"{where}: its inputs and outputs do not fit its header")
    for tensor in (*inputs, *outputs):
        wanted = "tensor(uint8)" if tensor.name == INPUT else "tensor(float)"
        shape = tuple(n if isinstance(n, int) else None for n in tensor.shape[1:])
        if tensor.type != wanted or shape != shapes[tensor.name]:
            raise WeightsError(
                f"{where}: its '{tensor.name}' is {tensor.type} of shape {tensor.shape}, which "
                "does not fit its header"
            )

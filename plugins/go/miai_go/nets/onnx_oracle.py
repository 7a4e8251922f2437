"""Networks run by ONNX Runtime, for which torch need not be installed."""

from __future__ import annotations

import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from miai.files import reading
from miai_go.errors import InferenceError, MissingExtraError, WeightsError, require_torch
from miai_go.nets.encoder import Encoder
from miai_go.nets.inference import Precision
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
from miai_go.nets.weights import WeightsHeader
from miai_go.tensors import MAX_FILE_BYTES

MAX_BATCH = 1024
_INPUT = "planes"
_PRECISION = "miai_precision"
_QUIET = 3  # ONNX Runtime's level of errors; its warnings are of its own graph work


class OnnxOracle:
    """A network that ONNX Runtime runs on the CPU.

    Answers may be asked from several threads; one batch runs at a time.

    Attributes:
      encoder: makes the planes that it takes.
      has_policy, has_value: which answers it gives.
      header: what the model is.
      precision: ``fp32`` or ``int8``, as the model was exported.
    """

    encoder: Encoder
    has_policy: bool
    has_value: bool

    def __init__(
        self,
        model: bytes,
        *,
        where: str = "the model",
        threads: int = 1,
        fixed_batch: int | None = None,
    ) -> None:
        """Make a model ready.

        Args:
          model: an ONNX model that carries the header of its weights.
          where: the file, for messages.
          threads: of ONNX Runtime for this model.
          fixed_batch: answers shall not depend on what else is asked with a position. An int8
            model is given batches of so many positions. One in fp32 is given one at a time, which
            is about as fast: its sums depend on the place in the batch, too.

        Raises:
          MissingExtraError: ONNX Runtime is not installed.
          WeightsError: no ONNX model, without a header, or not what the header says.
        """
        from miai_go.nets.inference import encoder_of

        self._session = _session(model, where, threads)
        metadata = self._session.get_modelmeta().custom_metadata_map
        self.header = WeightsHeader.of_metadata(metadata, where=where)
        self.precision = metadata.get(_PRECISION, "fp32")
        _check_session(self._session, self.header, where)
        self.encoder = encoder_of(self.header, where=where)
        self.has_policy = "policy" in self.header.outputs
        self.has_value = "value" in self.header.outputs
        self._where = where
        self._fixed_batch = 1 if fixed_batch and self.precision == "fp32" else fixed_batch
        self._lock = threading.Lock()
        self._counter = Counter()

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
        return check_answers(answers, self._where)

    def statistics(self) -> dict[str, float]:
        """Return what was done so far; see `Counter.statistics`."""
        return self._counter.statistics()

    def close(self) -> None:
        """Release nothing: memory goes with the object."""

    def _run(self, batch: Planes) -> Answers:
        try:
            found = self._session.run(list(self.header.outputs), {_INPUT: batch})
        except Exception as error:  # a library's, of many kinds
            reason = str(error).splitlines()[0]
            raise InferenceError(
                f"{self._where}: failed on {len(batch)} positions: {reason}"
            ) from error
        answers = dict(zip(self.header.outputs, found, strict=True))
        return Answers(
            policy=answers.get("policy"),
            value=answers.get("value"),
            ownership=answers.get("ownership"),
            score=answers.get("score"),
        )


def open_onnx(
    path: Path, precision: Precision, *, threads: int, fixed_batch: int | None
) -> OnnxOracle:
    """Return the oracle of an ``.onnx`` file, or of a weights file, which is exported in memory.

    Raises:
      WeightsError: the file cannot be read or is not what it says.
      MissingExtraError: ONNX Runtime, or what exports, is not installed.
      InferenceError: the file is of another precision than asked for.
    """
    if path.suffix == ".onnx":
        oracle = OnnxOracle(_read(path), where=str(path), threads=threads, fixed_batch=fixed_batch)
        if precision not in ("auto", oracle.precision):
            raise InferenceError(
                f"{path}: was exported in {oracle.precision}, not in {precision}; leave the "
                "precision out, or export it anew"
            )
        return oracle
    if precision == "bf16":
        raise InferenceError(f"{path}: ONNX Runtime runs fp32 and int8 here; bf16 runs in torch")
    require_torch(f"{path}")
    from miai_go.nets.onnx import onnx_model
    from miai_go.nets.weights import load_weights

    model = onnx_model(load_weights(path), precision="int8" if precision == "int8" else "fp32")
    return OnnxOracle(
        model.SerializeToString(), where=str(path), threads=threads, fixed_batch=fixed_batch
    )


def _read(path: Path) -> bytes:
    with reading(path, WeightsError):
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise WeightsError(f"{path}: {size} bytes; more than {MAX_FILE_BYTES} are refused")
        return path.read_bytes()


def _session(model: bytes, where: str, threads: int) -> Any:
    if find_spec("onnxruntime") is None:
        raise MissingExtraError(
            f"{where} needs onnxruntime, which is not installed: pip install 'miai-go[onnx]'"
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _QUIET
    # An idle thread that spins takes the core from who makes the next batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            model, sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # a library's, of many kinds
        reason = str(error).splitlines()[0]
        raise WeightsError(f"{where}: no ONNX model that can be run: {reason}") from error


def _check_session(session: Any, header: WeightsHeader, where: str) -> None:
    """Raise where the model takes or gives something else than its header says."""
    size, planes = header.size, header.planes
    shapes: dict[str, tuple[int, ...]] = {
        _INPUT: (planes, size, size),
        "policy": (size**2 + 1,),
        "value": (),
        "ownership": (size, size),
        "score": (),
    }
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if [i.name for i in inputs] != [_INPUT] or [o.name for o in outputs] != list(header.outputs):
        raise WeightsError(f"{where}: its inputs and outputs are not those that its header tells")
    for tensor in (*inputs, *outputs):
        wanted = "tensor(uint8)" if tensor.name == _INPUT else "tensor(float)"
        if tensor.type != wanted or tuple(tensor.shape[1:]) != shapes[tensor.name]:
            raise WeightsError(
                f"{where}: its '{tensor.name}' is {tensor.type} of shape {tensor.shape}, which "
                "does not fit its header"
            )

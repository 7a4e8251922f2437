"""Vectors of 16 floats for kernels; LLVM alone would have to check whether arrays overlap.

All arrays are one-dimensional, contiguous float32; indices are not checked. A multiply-add may
round once or twice, as is faster on the processor.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

LANES: Final = 16
"""Number of floats in a vector."""

cgutils: Any = _cgutils
tuple_of: Any = types.UniTuple

_VECTOR: Final = ir.VectorType(ir.FloatType(), LANES)
_NUMBER_BYTES: Final = 4


def _row(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the address of an array's first element."""
    return context.make_array(kind)(context, builder, array).data


def _vector_at(builder: Any, data: Any, place: Any) -> Any:
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _load(builder: Any, data: Any, place: Any) -> Any:
    # Aligned to a number only: a vector may begin anywhere in its array.
    return builder.load(_vector_at(builder, data, place), align=_NUMBER_BYTES)


def _store(builder: Any, vector: Any, data: Any, place: Any) -> None:
    builder.store(vector, _vector_at(builder, data, place), align=_NUMBER_BYTES)


def _spread(builder: Any, number: Any) -> Any:
    """Return a vector with the same number in every lane."""
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, ir.IntType(32)(0))
    # A shuffle that takes lane 0 everywhere, which LLVM knows as a broadcast.
    firsts = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), firsts)


def _with_product(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``."""
    name, kind = f"llvm.fmuladd.v{LANES}f32", ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, [a, b, c])


def _of_two(combine: Any) -> Any:
    """Return an intrinsic that replaces the first of two vectors by their combination."""

    def typed(context: Any, out: Any, place: Any, row: Any, start: Any) -> tuple[Signature, Any]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            to = _row(context, builder, kinds[0], arguments[0])
            other = _row(context, builder, kinds[2], arguments[2])
            old = _load(builder, to, arguments[1])
            new = combine(builder, old, _load(builder, other, arguments[3]))
            _store(builder, new, to, arguments[1])
            return context.get_dummy_value()

        return types.void(out, types.int64, row, types.int64), generate

    return intrinsic(typed)


def _products(
    context: Any,
    out: Any,
    to: Any,
    inputs: Any,
    of: Any,
    weights: Any,
    first: Any,
    step: Any,
    n: Any,
) -> tuple[Signature, Any]:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        data, source, rows = (_row(context, builder, kinds[i], arguments[i]) for i in (0, 2, 4))
        places, starts = (
            [builder.extract_value(arguments[i], m) for m in range(len(kinds[i]))] for i in (1, 3)
        )
        # The sums stay in registers over the loop; memory is written once, at the end.
        sums = [cgutils.alloca_once_value(builder, _load(builder, data, p)) for p in places]
        with cgutils.for_range(builder, arguments[7], intp=ir.IntType(64)) as loop:
            place = builder.add(arguments[5], builder.mul(loop.index, arguments[6]))
            # One load of weights serves all rows.
            weight = _load(builder, rows, place)
            for total, start in zip(sums, starts, strict=True):
                number = builder.load(builder.gep(source, [builder.add(start, loop.index)]))
                old = builder.load(total)
                builder.store(_with_product(builder, _spread(builder, number), weight, old), total)
        for total, p in zip(sums, places, strict=True):
            _store(builder, builder.load(total), data, p)
        return context.get_dummy_value()

    rows = tuple_of(types.int64, len(to))
    numbers = (types.int64, types.int64, types.int64)
    return types.void(out, rows, inputs, rows, weights, *numbers), generate


add_lanes: Any = _of_two(lambda builder, a, b: builder.fadd(a, b))
"""``add_lanes(out, at, row, start)``: add 16 floats of `row` to 16 floats of `out`."""

raise_lanes: Any = _of_two(
    lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b)
)
"""``raise_lanes(out, at, row, start)``: write the elementwise maximum of both to `out`."""

add_products: Any = intrinsic(_products)
"""``add_products(out, to, inputs, of, weights, at, step, n)``: weights times a few columns.

For each m, add to the 16 floats of `out` at `to[m]` the sum over i < n of ``inputs[of[m] + i]``
times the 16 weights at ``at + i * step``. `to` and `of` are tuples of the same length; four columns
use a processor well.
"""

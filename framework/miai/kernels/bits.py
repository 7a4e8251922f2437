"""Bit operations on 64-bit words for kernels, each one instruction of the processor."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic


def _unary(name: str, *flags: bool) -> Any:
    """Return an intrinsic from uint64 to int64 that is one instruction of the processor."""

    def typed(context: Any, value: Any) -> tuple[Signature, Any]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            constants = [ir.Constant(ir.IntType(1), flag) for flag in flags]
            return getattr(builder, name)(arguments[0], *constants)

        return types.int64(types.uint64), generate

    return intrinsic(typed)


# The flag leaves the result for 0 undefined, which saves a branch on processors without LZCNT.
lowest = _unary("cttz", True)
"""Index of the lowest set bit of a nonzero word."""
leading_zeros = _unary("ctlz", True)
"""Number of zeros above the highest set bit of a nonzero word."""
popcount = _unary("ctpop")
"""Number of set bits."""


def _prefetch(context: Any, array: Any, index: Any) -> tuple[Signature, Any]:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(value.data, [arguments[1]])
        pointer, i32 = address.type, ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        # To be read, kept in all levels of the cache, as data.
        builder.call(function, [address, i32(0), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)
"""Prefetch the cache line of ``array[index]``, in a one-dimensional array."""

"""Processor instructions that NumPy's vocabulary lacks, as functions for compiled kernels.

A kernel that keeps the nearest rows must find the few values of a long slice that are small enough.
Comparing 64 neighbouring values at once gives a mask with one bit per value; almost always it is
zero and the slice is done. LLVM lowers each of these to what the processor has (``vpopcntb``,
``vpcmpub``, ``vcmppd`` with AVX-512; table look-ups and moves of masks elsewhere), so the same code
is right everywhere and fast where it matters. They work inside compiled functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic as _numba_intrinsic

from mlfs_dask.kernels._jit import jit

cgutils: Any = _cgutils  # ships no types

LANES = 64
"""Values compared at once: as many as a mask of type uint64 has bits."""


def intrinsic(generator: Callable[..., Any]) -> Any:
    """Register a function of compiled code; its first argument, numba's context, is not passed."""
    return _numba_intrinsic(generator)


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    """Return the number of set bits of an unsigned integer, in its own type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return word(word), generate


@intrinsic
def lowest_bit(typing_context: Any, mask: Any) -> Any:
    """Return the position of the lowest set bit of a mask that isn't zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return mask(mask), generate


@intrinsic
def saturating_add(typing_context: Any, total: Any, step: Any) -> Any:
    """Add an unsigned integer to one at least as wide; the sum stops at the type's largest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = arguments[0].type
        step = arguments[1]
        if step.type.width < wide.width:
            step = builder.zext(step, wide)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(wide, [wide, wide]), f"llvm.uadd.sat.i{wide.width}"
        )
        return builder.call(function, [arguments[0], step])

    return total(total, step), generate


@intrinsic
def lanes_below(typing_context: Any, values: Any, start: Any, limit: Any) -> Any:
    """Return the mask of ``values[start + lane] < limit`` for 64 lanes; reads all of them."""
    return _comparison("<", values)


@intrinsic
def lanes_at_most(typing_context: Any, values: Any, start: Any, limit: Any) -> Any:
    """Return the mask of ``values[start + lane] <= limit`` for 64 lanes; reads all of them."""
    return _comparison("<=", values)


@intrinsic
def lanes_smallest(typing_context: Any, values: Any, start: Any) -> Any:
    """Return the smallest of ``values[start + lane]`` over 64 lanes of an unsigned type."""
    return _reduction("umin", values)


@intrinsic
def lanes_largest(typing_context: Any, values: Any, start: Any) -> Any:
    """Return the largest of ``values[start + lane]`` over 64 lanes of an unsigned type."""
    return _reduction("umax", values)


def _reduction(operator: str, values: Any) -> Any:
    signature = values.dtype(values, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        element = ir.IntType(signature.args[0].dtype.bitwidth)
        loaded = _load_lanes(context, builder, signature.args[0], arguments, element)
        name = f"llvm.vector.reduce.{operator}.v{LANES}i{element.width}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(element, [loaded.type]), name
        )
        return builder.call(function, [loaded])

    return signature, generate


def _load_lanes(context: Any, builder: Any, array_type: Any, arguments: Any, element: Any) -> Any:
    """Load 64 neighbouring values, from the array and position in ``arguments``."""
    array = cgutils.create_struct_proxy(array_type)(context, builder, arguments[0])
    vector = ir.VectorType(element, LANES)
    pointer = builder.gep(array.data, [arguments[1]])
    # Slices of rows start anywhere: only the element's own alignment is known.
    size = array_type.dtype.bitwidth // 8
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=size)


def _comparison(operator: str, values: Any) -> Any:
    signature = types.uint64(values, types.intp, values.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load_lanes(context, builder, signature.args[0], arguments, arguments[2].type)
        undefined = ir.Constant(loaded.type, ir.Undefined)
        first = builder.insert_element(undefined, arguments[2], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        limits = builder.shuffle_vector(first, undefined, zeros)
        if isinstance(signature.args[0].dtype, types.Float):
            mask = builder.fcmp_ordered(operator, loaded, limits)
        else:
            mask = builder.icmp_unsigned(operator, loaded, limits)
        # Lane 0 becomes bit 0 on little-endian processors, the only ones supported.
        return builder.bitcast(mask, ir.IntType(LANES))

    return signature, generate


@jit
def first_lanes(count: int) -> Any:
    """Return the mask of the first ``count`` lanes, all of them from 64 on."""
    if count >= 64:
        return ~np.uint64(0)
    return (np.uint64(1) << np.uint64(count)) - np.uint64(1)

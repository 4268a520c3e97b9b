"""Convolutions and pools: entries of the table."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from ._values import TABLE, Builder, Unsupported, Value, pair


def _widened(b: Builder, weight: Value, bias: Value | None) -> Value | None:
    """The bias as kernels take it, in f32. One of another dtype than the weights is an error, as in PyTorch."""
    if bias is None or not bias.dtype == weight.dtype == "bf16":
        return bias
    return b.op("to_dtype", x=bias, dtype="f32")


def _conv(n: int) -> Callable[..., Value]:
    def conv(
        b: Builder,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Value:
        dilations = pair(dilation, n)
        if isinstance(padding, str):
            kernel = weight.shape[2:]
            total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, kernel, strict=True)]
            if any(t % 2 for t in total):
                # The odd one goes to the end, as in PyTorch.
                pads = [p for t in reversed(total) for p in (t // 2, t - t // 2)]
                x, total = b.op("pad", x=x, padding=pads), [0] * n
            padding = [t // 2 for t in total]
        return b.op(
            f"conv{n}d",
            x=x,
            weights=weight,
            bias=_widened(b, weight, bias),
            stride=pair(stride, n),
            padding=pair(padding, n),
            dilation=dilations,
            groups=groups,
        )

    return conv


def _conv_transpose(n: int) -> Callable[..., Value]:
    def conv(
        b: Builder,
        x: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Value:
        return b.op(
            f"conv_transpose{n}d",
            x=x,
            weights=weight,
            bias=_widened(b, weight, bias),
            stride=pair(stride, n),
            padding=pair(padding, n),
            output_padding=pair(output_padding, n),
            groups=groups,
            dilation=pair(dilation, n),
        )

    return conv


def _max_pool(n: int) -> Callable[..., Value]:
    def pool(
        b: Builder,
        x: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Value:
        return b.op(
            f"max_pool{n}d",
            x=x,
            kernel=pair(kernel_size, n),
            stride=pair(stride or kernel_size, n),
            padding=pair(padding, n),
            dilation=pair(dilation, n),
            ceil_mode=ceil_mode,
        )

    return pool


def _avg_pool(n: int) -> Callable[..., Value]:
    def pool(
        b: Builder,
        x: Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        if divisor_override is not None:
            raise Unsupported("`divisor_override`; scale the result of an average instead")
        return b.op(
            f"avg_pool{n}d",
            x=x,
            kernel=pair(kernel_size, n),
            stride=pair(stride or kernel_size, n),
            padding=pair(padding, n),
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )

    return pool


def _adaptive(op: str, n: int) -> Callable[..., Value]:
    def pool(b: Builder, x: Value, output_size: Any) -> Value:
        return b.op(f"{op}{n}d", x=x, output=pair(output_size, n))

    return pool


def _batched(n: int, function: Callable[..., Value]) -> Callable[..., Value]:
    """Takes a source without a batch too, as PyTorch does."""

    @functools.wraps(function)
    def call(b: Builder, x: Value, *args: Any, **options: Any) -> Value:
        if len(x.shape) != n + 1:
            return function(b, x, *args, **options)
        one = dataclasses.replace(b.op("unsqueeze", x=x, axis=0), shape=(1, *x.shape))
        return b.op("select", x=function(b, one, *args, **options), axis=0, index=0)

    return call


def _first(pool: Callable[..., Value]) -> Callable[..., list[Value | None]]:
    """The values of a pool that has values and indices."""

    @functools.wraps(pool)
    def values(b: Builder, x: Value, *args: Any, **options: Any) -> list[Value | None]:
        return [pool(b, x, *args, **options), None]

    return values


for _n in (1, 2, 3):
    TABLE[f"conv{_n}d"] = _batched(_n, _conv(_n))
    TABLE[f"conv_transpose{_n}d"] = _batched(_n, _conv_transpose(_n))
    TABLE[f"max_pool{_n}d"] = _batched(_n, _max_pool(_n))
    TABLE[f"avg_pool{_n}d"] = _batched(_n, _avg_pool(_n))
    TABLE[f"max_pool{_n}d_with_indices"] = _first(TABLE[f"max_pool{_n}d"])
    TABLE[f"adaptive_avg_pool{_n}d"] = _batched(_n, _adaptive("adaptive_avg_pool", _n))
    TABLE[f"adaptive_max_pool{_n}d"] = _first(_batched(_n, _adaptive("adaptive_max_pool", _n)))

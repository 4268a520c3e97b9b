"""PyTorch's fused call of `nn.TransformerEncoderLayer` in inference, in the calls that it is made of.

`torch.compile` records the fused one; `torch.export` of the module does not.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional as F

#: What a mask is of: `nn.MultiheadAttention.merge_masks`.
_OF_KEYS, _OF_HEADS = 1, 2


def _attention(x: torch.Tensor, embed_dim: int, heads: int, weights: Sequence[torch.Tensor], mask: torch.Tensor | None, of: int | None) -> torch.Tensor:
    """Attention of a sequence to itself. `weights` are those of queries, keys and values, and of the projection, each with its bias."""
    # The fused call takes masks so.
    mask = None if mask is None else mask.to(torch.bool)
    if mask is not None and of == _OF_HEADS:
        mask = mask.expand(x.shape[0], heads, x.shape[1], x.shape[1]).flatten(0, 1)
    of_keys, of_pairs = (mask, None) if of == _OF_KEYS else (None, mask)
    first, bias, last, last_bias = weights
    x = x.transpose(0, 1)
    projected = x, x, x, embed_dim, heads, first, bias, None, None, False, 0.0, last, last_bias
    made, _ = F.multi_head_attention_forward(
        *projected, training=False, key_padding_mask=of_keys, need_weights=False, attn_mask=of_pairs
    )
    return made.transpose(0, 1)


def _encoder_layer(
    src: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: torch.Tensor,
    norm_bias_1: torch.Tensor,
    norm_weight_2: torch.Tensor,
    norm_bias_2: torch.Tensor,
    ffn_weight_1: torch.Tensor,
    ffn_bias_1: torch.Tensor,
    ffn_weight_2: torch.Tensor,
    ffn_bias_2: torch.Tensor,
    mask: torch.Tensor | None = None,
    mask_type: int | None = None,
) -> torch.Tensor:
    """`torch._transformer_encoder_layer_fwd`."""

    def around(part: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        norm = (embed_dim,), weight, bias, eps
        return x + part(F.layer_norm(x, *norm)) if norm_first else F.layer_norm(x + part(x), *norm)

    def attention(x: torch.Tensor) -> torch.Tensor:
        weights = qkv_weight, qkv_bias, proj_weight, proj_bias
        return _attention(x, embed_dim, num_heads, weights, mask, mask_type)

    def linears(x: torch.Tensor) -> torch.Tensor:
        x = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(x) if use_gelu else F.relu(x), ffn_weight_2, ffn_bias_2)

    return around(linears, around(attention, src, norm_weight_1, norm_bias_1), norm_weight_2, norm_bias_2)


#: By the function of PyTorch.
FUSED: dict[Any, Callable[..., Any]] = {torch._transformer_encoder_layer_fwd: _encoder_layer}  # pyright: ignore[reportPrivateImportUsage]

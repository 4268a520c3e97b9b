"""Attention in `torch.compile`, and PyTorch's fused call of an encoder's layer in inference."""

import pytest
import torch
from compiling import close, compiled, fresh, graphs  # noqa: F401
from torch import nn

X = torch.randn(2, 7, 32)


def encoder(**options):
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


class Attention(nn.Module):
    def __init__(self, mask=None, keys=None, **options):
        super().__init__()
        self.inner, self.options = nn.MultiheadAttention(32, 4, batch_first=True), options
        self.register_buffer("mask", mask)
        self.register_buffer("keys", keys)

    def forward(self, x):
        return self.inner(x, x, x, attn_mask=self.mask, key_padding_mask=self.keys, **self.options)


class Masked(nn.Module):
    def __init__(self, mask=None, keys=None):
        super().__init__()
        self.inner = encoder()
        self.register_buffer("mask", mask)
        self.register_buffer("keys", keys)

    def forward(self, x):
        return self.inner(x, mask=self.mask, src_key_padding_mask=self.keys)


def causal():
    return torch.triu(torch.ones(7, 7, dtype=torch.bool), 1)


def keys():
    return torch.arange(7).expand(2, 7) >= torch.tensor([[7], [4]])


MODELS = {
    "encoder": encoder,
    "norm first": lambda: encoder(norm_first=True),
    "gelu": lambda: encoder(activation="gelu", layer_norm_eps=1e-3),
    "causal": lambda: Masked(causal()),
    "keys": lambda: Masked(keys=keys()),
    "both masks": lambda: Masked(causal(), keys()),
    "attention": Attention,
    "one head's weights": lambda: Attention(average_attn_weights=False),
    "no weights": lambda: Attention(need_weights=False),
    "attention, causal": lambda: Attention(causal(), need_weights=False),
    "attention, keys": lambda: Attention(keys=keys()),
    "attention, both": lambda: Attention(causal(), keys()),
}


@pytest.mark.parametrize("name", MODELS)
def test_fused_attention(name):
    torch.manual_seed(4)
    model = MODELS[name]().eval()
    assert torch.backends.mha.get_fastpath_enabled()
    fast = compiled(model, fullgraph=True)
    got, wanted = fast(X), model(X)
    close(got, wanted)
    if isinstance(wanted, tuple):
        assert (got[1] is None) == (wanted[1] is None)
    (graph,) = graphs()
    calls = {getattr(node.target, "__name__", "") for node in graph._graph.graph.nodes}
    assert ("_transformer_encoder_layer_fwd" in calls) == (not isinstance(model, Attention))
    assert torch.backends.mha.get_fastpath_enabled()
    assert "layers" in str(graph.plans[0]) or "inner" in str(graph.plans[0])

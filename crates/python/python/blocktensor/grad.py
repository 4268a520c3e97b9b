"""Gradients: a tape over ops, losses, optimisers, and the gradients of one op by its name.

>>> import blocktensor as bt, numpy as np
>>> with bt.grad.record() as tape:
...     w = tape.variable(np.float32([[1, 2], [3, 4]]))          # a tensor whose gradient is wanted
...     y = bt.ops.linear(np.float32([[1, -1]]), w)              # any op: a call on a variable is recorded
...     loss = bt.grad.mse_loss(y, np.float32([[0, 0]]))
>>> gradients = tape.backward(loss)
>>> gradients[w].numpy().tolist()
[[-1.0, 1.0], [-1.0, 1.0]]
>>> sgd = bt.grad.SGD(0.1, momentum=0.9)
>>> sgd.step({"w": w.tensor}, {"w": gradients[w]})["w"].numpy().tolist()
[[1.100000023841858, 1.899999976158142], [3.0999999046325684, 3.9000000953674316]]

Gradients have the layout of their tensors, and nothing is reordered on the way: state reorders with `.to_blocked()` and `.to_strided()`
of a variable, whose gradients are the reorders back. An array that a tensor shares must not be written to before `backward` has run.
"""

from ._native import SGD, AdamW, Gradients, Tape, Var, backward, cross_entropy, mse_loss
from ._native import check_gradients as check
from ._native import record_gradients as record

__all__ = [
    "SGD",
    "AdamW",
    "Gradients",
    "Tape",
    "Var",
    "backward",
    "check",
    "cross_entropy",
    "mse_loss",
    "record",
]

"""Copies and pickles of eager tensors keep what those of PyTorch's keep: the class, the user's attributes, shared memory."""

import copy
import io
import pickle

import blocktensor as bt
import blocktensor.torch as btt
import pytest
import torch

torch.manual_seed(38)
X = torch.randn(1, 8, 4, 4)


def saved(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x)), "save": saved}
COPIES |= {"protocol 2": lambda x: pickle.loads(pickle.dumps(x, 2))}


class Tagged(btt.EagerTensor):
    """Its own `__init__` takes more, which a copy does not call."""

    def __init__(self, data, tag):
        super().__init__(data)
        self.tag = tag


class Stateful(btt.EagerTensor):
    def __getstate__(self):
        return {"tag": [*self.tag, "got"]}

    def __setstate__(self, state):
        self.tag = [*state["tag"], "set"]


class Reduced(btt.EagerTensor):
    def __reduce__(self):
        return Reduced, (self.held,)


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_copies_keep_the_class_and_attributes(name, blocked):
    mine, theirs = Tagged(X, [3]), X.clone()
    mine.data = mine.to_blocked() if blocked else mine
    theirs.tag = mine.tag
    for x in (mine, theirs):
        x.other = {"a": x.tag}
        made = COPIES[name](x)
        assert made is not x and type(made) is type(x) and made.tag == [3]
        assert (made.tag is x.tag) == (name == "copy") and made.other["a"] is made.tag
    mine.itself = mine
    made = COPIES[name](mine)
    assert made.itself is (mine if name == "copy" else made)
    assert made.held.layout == mine.held.layout and torch.equal(made.to_strided().torch(), X)


@pytest.mark.parametrize("name", COPIES)
def test_copies_leave_out_what_a_tensor_notes_of_itself(name):
    x = btt.EagerTensor(X)
    y = x.data
    y.tag = 3
    made = COPIES[name](y)
    del x, y
    assert made.tag == 3 and type(made) is btt.EagerTensor and not made.way
    if name != "copy":
        # Its memory is its own.
        made.add_(1)
        assert torch.equal(made.torch(), X + 1)


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_a_class_with_a_state_of_its_own(name):
    x = Stateful(X)
    x.tag = []
    made = COPIES[name](x)
    assert made.tag == ["got", "set"] and torch.equal(made.torch(), X)
    assert type(COPIES[name](Reduced(X))) is Reduced


@pytest.mark.parametrize("name", ["deepcopy", "pickle", "save"])
def test_copies_that_are_made_together_share_memory(name):
    """So that a write into one of them, which PyTorch would show in the other, is refused."""
    x = btt.EagerTensor(X.clone())
    one, other = COPIES[name]([x, x[:, :2]])
    with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
        one.add_(1)
    with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
        other.relu_()
    del other
    one.add_(1)
    assert torch.equal(one.torch(), X + 1) and torch.equal(x.torch(), X)


CALLS = {
    "a function": torch.relu,
    "a method": lambda x: x.relu(),
    "an operator": lambda x: x + 1,
    "several results": lambda x: torch.chunk(x, 2, 1)[1],
    "of the table": lambda x: torch.nn.functional.leaky_relu(x, 0.1),
    "a list": lambda x: torch.cat([x, x]),
    "a view": lambda x: x[:, :1],
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_of_no_class_of_the_user(name):
    """That takes more than a tensor."""
    made = CALLS[name](Tagged(X, [3]))
    assert type(made) is btt.EagerTensor
    torch.testing.assert_close(made.torch(), CALLS[name](X))


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last, torch.preserve_format])
def test_a_clone_has_the_format_that_is_asked_for(format):
    for x in (X, X.to(memory_format=torch.channels_last)):
        y = btt.EagerTensor(x)
        made, wanted = y.clone(memory_format=format), x.clone(memory_format=format)
        assert made.stride() == wanted.stride() and torch.equal(made.torch(), wanted)
        made.add_(1)
        assert torch.equal(y.torch(), x)


def test_files_are_read_without_the_code_of_others():
    """`torch.load` takes weights alone, and those of the class `EagerTensor`."""
    x = btt.EagerTensor(X)
    x.tag = [3]
    file = io.BytesIO()
    torch.save({"x": x, "part": x[:, :2]}, file)
    made = torch.load(io.BytesIO(file.getvalue()))
    assert made["x"].tag == [3] and torch.equal(made["x"].torch(), X) and torch.equal(made["part"].torch(), X[:, :2])
    with pytest.raises(bt.UnsupportedOp, match="another eager tensor is a view of"):
        made["x"].add_(1)

"""200 random graphs on eager tensors: they agree with PyTorch, or raise an error of this package."""

import blocktensor as bt
import blocktensor.torch as btt
import torch
from graphs import Graph

COUNT = 200


def outcome(graph, x):
    """What happens: `ran`, `refused`, or what is wrong."""
    try:
        made = graph.run(x)
    except bt.Error as e:
        return "refused" if e.op and e.remedy else f"an error without op or remedy: {e!r}"
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    if not isinstance(made, btt.EagerTensor):
        return f"got {type(made).__name__}"
    got, wanted = made.to_strided().torch(), graph.wanted
    if got.shape != wanted.shape:
        return f"got {list(got.shape)} where PyTorch has {list(wanted.shape)}"
    if not torch.allclose(got, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()) + 1e-6):
        return f"differs by {float((got - wanted).abs().max())}"
    return "ran"


def outcomes(prepare):
    found = {}
    for seed in range(COUNT):
        graph = Graph(seed)
        found.setdefault(outcome(graph, prepare(graph.input)), []).append(graph)
    wrong = [f"{graph}\n# -> {what}" for what, graphs in found.items() if what not in ("ran", "refused") for graph in graphs]
    assert not wrong, "\n\n".join(wrong)
    return found


def test_nine_of_ten_random_graphs_run_and_the_rest_is_refused():
    found = outcomes(lambda x: btt.EagerTensor(x))
    refused = "\n\n".join(map(str, found.get("refused", [])))
    assert len(found["ran"]) >= COUNT * 9 // 10, f"{len(found['ran'])} of {COUNT} ran. Refused:\n\n{refused}"


def test_blocked_graphs_run_or_are_refused():
    found = outcomes(lambda x: btt.EagerTensor(x).to_blocked())
    assert len(found["ran"]) >= COUNT // 10 and len(found["refused"]) >= COUNT // 10

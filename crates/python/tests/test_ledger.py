"""The ledger's scopes: what they record and refuse, and what happens when they are left open."""

import threading

import blocktensor as bt
import numpy as np
import pytest

X = np.ones((1, 32, 4, 4), np.float32)


def reorder():
    return bt.from_dlpack(X).to_blocked("nChw16c")


def test_a_book_has_every_reorder_with_its_line():
    with bt.record() as book:
        xb = reorder()
        bt.ops.relu(xb).to_strided()
    assert [r["op"] for r in book.reorders] == ["to_blocked", "to_strided"]
    first = book.reorders[0]
    assert (first["from"], first["to"], first["bytes"], first["cause"]) == ("contiguous", "nChw16c", 2048, "call")
    path, line = first["site"].rsplit(":", 1)
    assert path == __file__ and 10 < int(line) < 20
    assert [r["op"] for r in book.runs] == ["relu"]
    assert len(book) == 2
    assert repr(book).startswith("2 reorders (call 2), 1 kernel run\n  reorder to_blocked")
    assert "nChw16c</td>" in book._repr_html_()
    assert book.chrome_trace().startswith("[")


def test_denied_reorders_name_the_line_and_the_remedy():
    with bt.deny_reorders():
        with pytest.raises(bt.ReorderDenied, match="test_ledger.py:") as e:
            reorder()
    assert "move the call out of the scope" in e.value.remedy
    assert isinstance(e.value, RuntimeError)
    reorder()
    with bt.budget(1):
        reorder()
        with pytest.raises(bt.ReorderDenied):
            reorder()
    assert repr(bt.budget(3)) == "budget(3)"


def odd(x):
    """The same array at an odd address."""
    raw = np.zeros(x.nbytes + 1, np.uint8)
    place = raw[1 - raw.ctypes.data % 2 :][: x.nbytes].view(x.dtype).reshape(x.shape)
    place[...] = x
    assert place.ctypes.data % 2 == 1
    return place


def test_a_run_copies_unaligned_inputs():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = bt.Model()
    model.input("x", [2, 3])
    model.op("y", "relu", [("x", "x")], {}, ["y"])
    model.output("y", "y")
    plan, place = model.plan(layouts="nchw"), np.zeros((2, 3), np.float32)
    runs = {"run": lambda x: plan.run(x)[0].numpy(), "run_timed": lambda x: plan.run_timed(x)[0][0].numpy()}
    runs["run_into"] = lambda x: plan.run_into(x, place) or place
    for name, run in runs.items():
        for given in (x, odd(x), memoryview(odd(x))):
            with bt.record() as book:
                assert (run(given) == x).all()
            copies = [(r["op"], r["cause"], r["from"], r["to"], r["bytes"], r["shape"]) for r in book.reorders]
            assert copies == ([] if given is x else [(name, "unaligned input", "unaligned", "contiguous", 24, [2, 3])])
            assert all(r["site"].startswith(__file__) for r in book.reorders)
        with bt.deny_reorders():
            assert (run(x) == x).all()
            with pytest.raises(bt.ReorderDenied, match=f"op `{name}`") as e:
                run(odd(x))
        assert "copy the input to aligned memory" in e.value.remedy
    # A place for results, and a tensor of the memory, are errors.
    for refused in (lambda: plan.run_into(x, odd(place)), lambda: bt.from_dlpack(odd(x))):
        with pytest.raises(bt.Misaligned):
            refused()


def test_scopes_nest():
    with bt.record() as outer, bt.budget(5):
        reorder()
        with bt.record() as inner, bt.budget(1):
            reorder()
            with pytest.raises(bt.ReorderDenied):
                reorder()
    assert (len(outer), len(inner)) == (2, 1)


def test_a_scope_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError):
        with bt.deny_reorders():
            1 / 0
    reorder()


def test_a_suspended_generator_inside_is_an_error_and_leaves_nothing_open():
    def suspended():
        with bt.deny_reorders():
            yield

    generator = suspended()
    with pytest.raises(bt.ScopeError, match="suspended generator") as e:
        with bt.record():
            next(generator)
    assert "finish or close the generator" in e.value.remedy
    with pytest.raises(bt.ReorderDenied):
        reorder()
    generator.close()
    with bt.record() as book:
        reorder()
    assert len(book) == 1


def test_a_generator_that_closes_too_late_is_an_error():
    def suspended():
        with bt.record():
            yield

    generator = suspended()
    next(generator)
    with bt.deny_reorders():
        with pytest.raises(bt.ScopeError, match="`record`"):
            generator.close()
    reorder()


def test_a_scope_is_of_one_thread():
    scope, failed = bt.deny_reorders(), []
    scope.__enter__()

    def elsewhere():
        reorder()
        try:
            scope.__exit__(None, None, None)
        except bt.ScopeError as e:
            failed.append(e)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "another thread" in str(failed[0])
    reorder()


def test_a_dropped_generator_closes_its_scope():
    def suspended():
        with bt.deny_reorders():
            yield

    generator = suspended()
    next(generator)
    del generator
    reorder()


def test_threads_record_on_their_own():
    def work(counts, n):
        with bt.record() as book:
            for _ in range(n):
                reorder()
        counts.append((n, len(book)))

    counts = []
    threads = [threading.Thread(target=work, args=(counts, n)) for n in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(n == seen for n, seen in counts) and len(counts) == 5


@pytest.mark.parametrize("scope", [bt.record, bt.deny_reorders, lambda: bt.budget(1)])
def test_a_scope_is_entered_once_at_a_time(scope):
    one = scope()
    with pytest.raises(bt.ScopeError, match="not open any more"):
        one.__exit__(None, None, None)
    with one:
        with pytest.raises(bt.ScopeError, match="open already") as e:
            one.__enter__()
        assert e.value.remedy == "make a new one for each block"
    with pytest.raises(bt.ScopeError, match="not open any more"):
        one.__exit__(None, None, None)
    # After its end it may be entered again.
    with one:
        pass

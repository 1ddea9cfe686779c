# SPDX-License-Identifier: Apache-2.0
"""``Prefetcher``: order, values, reused memory, errors, threads that terminate."""

import gc
import threading

import dpctl
import dpnp
import numpy as np
import pytest
from fresh_process import output

import sycl_dnn
from sycl_dnn import data
from sycl_dnn import functional as F

PATIENCE = 300


def test_batches_arrive_in_order_in_reused_memory(queue):
    buffer = np.empty((4, 256), "f4")

    def source():
        for number in range(40):
            buffer[:] = number
            yield {"x": buffer, "label": buffer[:, 0].astype("i8"), "number": number}

    weights = dpnp.ones((256, 256), dtype="f4", sycl_queue=queue)
    matches = []
    for batch in data.Prefetcher(source(), 3, device=queue):
        assert batch["x"].sycl_queue == queue
        assert batch["label"].dtype == np.int64
        matches.append((batch["number"], F.sum(F.matmul(batch["x"], weights))))
    for number, total in matches:
        assert float(total) == number * 4 * 256 * 256
    assert [number for number, _ in matches] == list(range(40))


def test_trees_of_all_kinds_of_arrays():
    queue = sycl_dnn.default_queue()
    other = dpctl.SyclQueue(queue.sycl_device)
    there = dpnp.arange(3, sycl_queue=queue)
    narrow = F.astype(F.arange(3.0), "bfloat16")
    provided = [np.float32(2.0), np.ones((2, 3), "f2").T, np.zeros((0, 2)), [there, narrow], "text",
             None, np.array(["a"]), dpnp.arange(3, sycl_queue=other), (np.array(5), 7)]  # fmt: skip
    (result,) = data.Prefetcher([provided], device=queue)
    assert result[0] is provided[0]
    assert (result[1].shape, str(result[1].dtype)) == ((3, 2), "float16")
    assert result[2].shape == (0, 2)
    assert result[3][0] is there
    assert result[3][1] is narrow
    assert result[4:6] == ["text", None]
    assert result[6] is provided[6]
    assert result[7].sycl_queue == queue
    assert (int(result[8][0]), result[8][0].shape, result[8][1]) == (5, (), 7)


def test_torch_dataloader_and_dtypes():
    torch = pytest.importorskip("torch")
    x, labels = torch.randn(10, 3), torch.arange(10)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, labels), 4)
    prefetcher = data.Prefetcher(loader)
    assert len(prefetcher) == 3
    for _ in range(2):  # each pass is a new one
        whole = [dpnp.asnumpy(batch[0]) for batch in prefetcher]
        np.testing.assert_array_equal(np.concatenate(whole), x.numpy())
    (narrow,) = data.Prefetcher([x.bfloat16()])
    assert narrow.dtype == "bfloat16"
    np.testing.assert_array_equal(narrow.asnumpy(), x.bfloat16().float().numpy())


def test_errors_are_raised_once_at_their_position():
    def source():
        yield np.ones(1)
        yield np.ones(2)
        raise KeyError("broken source")

    batches = iter(data.Prefetcher(source(), 1))
    assert [next(batches).size, next(batches).size] == [1, 2]
    with pytest.raises(KeyError, match="broken source"):
        next(batches)
    with pytest.raises(StopIteration):
        next(batches)
    batches._thread.join(PATIENCE)
    assert not batches._thread.is_alive()


def test_at_most_size_batches_are_prefetched():
    results, third = [], threading.Event()

    def source():
        for number in range(10):
            results.append(number)
            if number == 2:
                third.set()
            yield np.full(2, number)

    batches = iter(data.Prefetcher(source(), 2))
    # Two are ready, and a third is waiting for a slot.
    assert third.wait(PATIENCE)
    assert results == [0, 1, 2]
    next(batches)
    batches.close()
    assert not batches._thread.is_alive()
    assert len(results) <= 4
    with pytest.raises(StopIteration):
        next(batches)


@pytest.mark.slow
def test_the_thread_ends_when_the_iterator_is_dropped():
    closed = threading.Event()

    def source():
        try:
            while True:
                yield np.ones(2)
        finally:
            closed.set()

    batches = iter(data.Prefetcher(source()))
    next(batches)
    thread = batches._thread
    del batches
    gc.collect()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    gc.collect()
    assert closed.wait(PATIENCE)


def test_each_batch_goes_to_one_of_several_readers():
    batches, matches, lock = (
        iter(data.Prefetcher(np.arange(60).reshape(60, 1))),
        [],
        threading.Lock(),
    )

    def read():
        for batch in batches:
            with lock:
                matches.append(int(batch[0]))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sorted(matches) == list(range(60))


PROGRAM = """
import numpy as np
import sycl_dnn
from sycl_dnn import data

def source():
    while True:
        yield np.ones((64, 64), "f4")

batches = iter(data.Prefetcher(source()))
print(next(batches).shape)
"""


@pytest.mark.slow
def test_a_process_exits_while_a_thread_copies():
    assert output(PROGRAM) == "(64, 64)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: data.Prefetcher(3), TypeError, "batches must be iterable, got int"),
        (lambda: data.Prefetcher([], 0), ValueError, "size must be at least 1, got 0"),
        (lambda: data.Prefetcher([], device="gpu"), TypeError, "a dpctl.SyclQueue, got str"),
        (lambda: next(iter(data.Prefetcher([{"x": np.ones(2, "f2").view("V2")}]))), TypeError,
         "x cannot go to"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()

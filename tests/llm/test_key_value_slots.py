# SPDX-License-Identifier: Apache-2.0
"""Direct calls over a cache: logits of the whole text wherever there is room, else none."""

import dpnp
import numpy as np
import pytest
from small_language_models import decoder
from test_architectures import CASES_STORED

import sycl_dnn
from sycl_dnn import llm
from sycl_dnn.llm.key_value_slots import Slots

#: Texts are padded by these; positions processed first and then, slots, of which are read.
CALLS = {
    "all slots": ((0,), 56, 200, 256, None),
    "no more is read": ((0,), 0, 200, 256, 200),
    "a block of positions": ((0,), 128, 128, 256, None),
    "beyond a block": ((0, 17), 20, 129, 192, 149),
    "a row that begins late": ((3, 140), 0, 150, 256, None),
    "one by one": ((0, 5), 30, 1, 32, 31),
}


def slots(first, starts):
    return Slots(dpnp.asarray(np.int32(first)), dpnp.asarray(np.array(starts, np.int32)))


def forward(net, ids, cache, places, n_read):
    return net(ids, cache, places, n_read=n_read)


def over_a_cache(net, ids, call, run):
    """Return the logits of the last positions."""
    starts, first, _, capacity, n_read = call
    cache = llm.LanguageModel(net)._generator.new_cache(len(starts), capacity)
    if first:
        _, cache = run(net, dpnp.asarray(ids[:, :first]), cache, slots(0, starts), n_read)
    return run(net, dpnp.asarray(ids[:, first:]), cache, slots(first, starts), n_read)[0]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("case", ["llama", "mistral", "gemma2", "gemma3", "gpt2"])
@pytest.mark.sweep(20)
def test_positions_with_room_have_the_logits_of_the_whole_text(case, name):
    starts, first, length, *_ = CALLS[name]
    net = decoder(CASES_STORED[case]["config"] | {"n_positions": 256})
    net.eval()
    ids = np.random.default_rng(1).integers(0, 60, (len(starts), first + length)).astype("i4")
    actual = dpnp.asnumpy(over_a_cache(net, ids, CALLS[name], sycl_dnn.compile(forward)))
    for i, start in enumerate(starts):
        expected = dpnp.asnumpy(net(dpnp.asarray(ids[i : i + 1, start:])))[0]
        n = min(length, len(expected))
        np.testing.assert_allclose(actual[i, -n:], expected[-n:], atol=1e-4)


#: First slot, positions, slots, of which are read.
WITHOUT_ROOM = [(254, 4, 256, None), (140, 120, 256, None), (100, 200, 512, 256), (-1, 2, 256, 9)]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("case", ["llama", "mistral", "gpt2"])
@pytest.mark.parametrize(("first", "length", "capacity", "n_read"), WITHOUT_ROOM)
def test_without_room_there_are_no_logits(case, first, length, capacity, n_read):
    net = decoder(CASES_STORED[case]["config"])
    net.eval()
    cache = llm.LanguageModel(net)._generator.new_cache(1, capacity)
    given = net, dpnp.ones((1, length), dtype="i4"), cache, slots(first, (0,)), n_read
    for run in (forward, sycl_dnn.compile(forward)):
        assert dpnp.isnan(run(*given)[0]).all()


@pytest.mark.parametrize(("changed", "said"), [
    ({"ids": (1, 300)}, "as many new positions as the 256 slots that are read, got 300"),
    ({"n_read": 257}, "n_read must be from 1 to 256, got 257"),
    ({"n_read": 0}, "n_read must be from 1 to 256, got 0"),
    ({"ids": (2, 3)}, r"a row for each of 2 texts, got 1 and \(1,\)"),
    ({"slots": None}, "got 2 pairs without slots"),
    ({"cache": None}, "a pair for each of 2 layers, and slots, got none"),
    ({"cache": 1}, "a pair for each of 2 layers, and slots, got 1 pairs"),
])  # fmt: skip
@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_mismatched_slots_are_refused(changed, said, way):
    net = decoder()
    cache = llm.LanguageModel(net)._generator.new_cache(1, 256)
    given = {"ids": (1, 3), "slots": slots(0, (0,)), "n_read": None} | changed
    if "cache" in given:
        cache = given["cache"] and cache[: given["cache"]]
    run = forward if way == "eager" else sycl_dnn.compile(forward)
    with pytest.raises(ValueError, match=said):
        run(net, dpnp.ones(given["ids"], dtype="i4"), cache, given["slots"], given["n_read"])

"""Memory: what arrayx.memory reports, the cache of freed blocks and its limit, alignment, and that
nothing grows; the promises about running out of it."""

import concurrent.futures
import gc
import os
import pathlib
import resource
import sys
import threading

import numpy as np
import pytest
from checks import run_python
from hypothesis import given
from hypothesis import strategies as st

import arrayx as xp
from arrayx import memory

MiB = 1 << 20


@pytest.fixture(autouse=True)
def clean():
    """Each test starts with an empty cache and leaves the limit as it was."""
    limit = memory.limit()
    gc.collect()
    memory.empty_cache()
    yield
    memory.set_limit(limit)


def address(x):
    return np.asarray(x).ctypes.data


@pytest.mark.cpu
def test_info_is_a_named_tuple_of_bytes():
    info = memory.info()
    assert info == (info.in_use, info.cached, info.limit)
    assert all(type(n) is int and n >= 0 for n in info)
    assert info.limit == memory.limit() == memory.info("cpu").limit
    assert memory.info(xp.Device("cpu")) == info


@pytest.mark.cpu
def test_the_limit_is_a_part_of_the_machines_memory_by_default():
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 64 * MiB <= memory.limit() <= max(64 * MiB, pages // 2)


@pytest.mark.parametrize("size", [0, 1, 64, 1000, 65_536, 65_537, MiB, 5 * MiB + 3])
def test_arrays_in_use_are_counted_while_they_live(size):
    before = memory.info().in_use
    x = xp.zeros(size, dtype=xp.uint8)
    used = memory.info().in_use - before
    assert size <= used <= size * 1.125 + 4096
    view = x[::2]
    del x
    assert memory.info().in_use - before == used  # the view keeps it
    del view
    assert memory.info().in_use == before


@pytest.mark.cpu
def test_memory_of_others_is_not_counted():
    before = memory.info().in_use
    x = xp.asarray(np.zeros(MiB), copy=False)
    assert memory.info().in_use == before
    del x
    assert memory.info() == (before, 0, memory.limit())


def test_freed_blocks_are_cached_and_used_again():
    x = xp.ones(MiB, dtype=xp.uint8)
    place = address(x)
    del x
    cached = memory.info().cached
    assert MiB <= cached <= 1.125 * MiB
    y = xp.zeros(MiB - 100, dtype=xp.uint8)  # nearly as large is as good
    assert address(y) == place
    assert memory.info().cached == 0
    assert not np.asarray(y).any()
    del y
    assert memory.info().cached == cached


def test_emptying_gives_everything_back():
    kept = xp.ones(MiB)
    for _ in range(3):
        xp.ones(2 * MiB)
    assert memory.info().cached > 0
    in_use = memory.info().in_use
    memory.empty_cache()
    assert memory.info().cached == 0
    assert memory.info().in_use == in_use
    assert float(xp.sum(kept)) == MiB


def test_the_cache_stays_below_its_limit():
    memory.set_limit(8 * MiB)
    assert memory.limit() == memory.info().limit == 8 * MiB
    blocks = [xp.ones((1 + n) * MiB // 2, dtype=xp.uint8) for n in range(12)]
    assert memory.info().cached == 0
    while blocks:
        blocks.pop()
        assert memory.info().cached <= 8 * MiB
    assert memory.info().cached > 4 * MiB
    memory.set_limit(2 * MiB)
    assert memory.info().cached <= 2 * MiB
    xp.ones(16 * MiB, dtype=xp.uint8)  # larger than the limit: never kept
    assert memory.info().cached <= 2 * MiB
    memory.set_limit(0)
    assert memory.info().cached == 0
    xp.ones(MiB)
    assert memory.info().cached == 0


def test_the_block_unused_for_longest_goes_first():
    memory.set_limit(6 * MiB)
    old, new = xp.ones(4 * MiB, dtype=xp.uint8), xp.ones(2 * MiB, dtype=xp.uint8)
    del old
    del new
    small = xp.ones(MiB, dtype=xp.uint8)
    del small  # no room for all three
    assert memory.info().cached == 3 * MiB


@pytest.mark.parametrize("bad", [-1, -(2**63)])
def test_limits_are_not_negative(bad):
    before = memory.limit()
    with pytest.raises(ValueError, match=str(bad)):
        memory.set_limit(bad)
    assert memory.limit() == before


def test_limits_are_integers():
    for bad in (1.5, "1", None):
        with pytest.raises(TypeError):
            memory.set_limit(bad)


def test_devices_that_are_not_there():
    for call in (memory.info, memory.limit, memory.empty_cache, lambda d: memory.set_limit(0, d)):
        with pytest.raises(ValueError, match="cuda:9999"):
            call("cuda:9999")
        with pytest.raises(ValueError, match="unknown"):
            call("gpu")


@given(st.integers(0, 200_000), st.sampled_from(["uint8", "float32", "complex128"]))
def test_fresh_arrays_are_aligned(size, dtype):
    for x in (xp.empty(size, dtype=getattr(xp, dtype)), xp.zeros(size, dtype=getattr(xp, dtype))):
        assert address(x) % 64 == 0
    y = x + x if dtype != "uint8" else x * x
    assert address(y) % 64 == 0


def test_small_and_large_blocks_do_not_overlap():
    rng = np.random.default_rng(1)
    alive, expected = {}, {}
    for i in range(1000):
        size = int(rng.choice([0, 1, 7, 64, 65, 500, 8192, 8193, 70_000]))
        alive[i] = xp.full(size, i)
        expected[i] = size
        if rng.random() < 0.6:
            victim = int(rng.choice(list(alive)))
            x = alive.pop(victim)
            assert x.shape == (expected.pop(victim),)
            assert (np.asarray(x) == victim).all()
    for i, x in alive.items():
        assert (np.asarray(x) == i).all()


def resident():
    """Bytes of this process in physical memory."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="/proc is Linux's")
def test_nothing_grows_in_a_loop_of_varied_sizes():
    memory.set_limit(16 * MiB)
    rng = np.random.default_rng(2)
    sizes = [int(s) for s in 2.0 ** rng.uniform(0, 18, 300)]

    def work():
        for n in sizes:
            x = xp.ones(n, dtype=xp.float32)
            y = (x[::-1] + x) * 2.0
            xp.sum(y, axis=0)
            xp.concat([y, x])

    work()
    before, in_use = resident(), memory.info().in_use
    for _ in range(4):
        work()
    assert memory.info().in_use == in_use
    assert memory.info().cached <= 16 * MiB
    assert resident() - before < 24 * MiB  # four times the work needs no more


def has_huge_pages():
    modes = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return modes.exists() and "[never]" not in modes.read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="/proc is Linux's")
@pytest.mark.parametrize("make", [xp.zeros, lambda n, **options: xp.full(n, 0, **options)])
def test_zeros_take_no_memory_before_they_are_written_to(make):
    """A large block is pages of zeros, which the system makes when they are touched."""
    memory.empty_cache()
    before = resident()
    x = make(512 * MiB, dtype=xp.uint8, device="cpu")
    assert resident() - before < 64 * MiB
    x[300 * MiB] = 7
    assert resident() - before < 64 * MiB
    assert [int(x[i]) for i in (0, 300 * MiB, -1)] == [0, 7, 0]
    x[:] = 9
    del x  # the pages of one that an array has had go back, where the system makes huge ones
    x = make(512 * MiB, dtype=xp.uint8, device="cpu")
    assert resident() - before < (64 if has_huge_pages() else 600) * MiB
    assert not xp.any(x)
    x[:] = 9
    del x
    for n in (512, 510):  # the whole of a block, and part of one
        assert not xp.any(make(n * MiB, dtype=xp.uint8, device="cpu"))
    assert np.signbit(np.asarray(xp.full(8 * MiB, -0.0, device="cpu"))).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + xp.ones(3),
        lambda x: xp.reshape(x, (7, 3)),
        lambda x: x[100_000],
        lambda x: xp.astype(x * 1j, xp.float64),
        lambda x: xp.concat([x, xp.ones((2, 2))]),
        lambda x: x.__setitem__(0, "a"),
        lambda x: xp.full(1000, 2**70),
        lambda x: xp.asarray([[1.0] * 1000, [1.0]]),
    ],
)
def test_failed_calls_leave_nothing_behind(call):
    x = xp.ones(100_000)
    for round in range(50):
        with pytest.raises((ValueError, IndexError, TypeError, OverflowError)):
            call(x)
        if round == 0:
            gc.collect()
            before = memory.info().in_use
    gc.collect()
    assert memory.info().in_use == before


def test_memory_goes_back_from_other_threads():
    before = memory.info().in_use
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            made = list(pool.map(lambda n: xp.ones(n), [1, 100, 10_000, 100_000] * 4))
            assert [float(xp.sum(x)) for x in made] == [1, 100, 10_000, 100_000] * 4
            del made
    gc.collect()
    assert memory.info().in_use == before


def test_the_cache_is_shared_safely_by_threads():
    memory.set_limit(4 * MiB)
    stop = threading.Event()

    def meddle():
        while not stop.is_set():
            memory.empty_cache()
            memory.set_limit(2 * MiB)
            memory.info()
            memory.set_limit(4 * MiB)

    def compute(seed):
        rng = np.random.default_rng(seed)
        for _ in range(150):
            n = int(rng.integers(1, 200_000))
            x = xp.full(n, seed)
            y = x + x
            if not bool(xp.all(y == 2 * seed)):
                return False
        return True

    meddler = threading.Thread(target=meddle)
    meddler.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            assert all(pool.map(compute, range(6)))
    finally:
        stop.set()
        meddler.join()


def test_every_way_to_ask_for_too_much_is_refused_and_life_goes_on():
    x = xp.ones((1000, 1))
    wide = xp.broadcast_to(x, (1000, 1 << 45))
    calls = [
        lambda: xp.empty((1 << 50,), dtype=xp.uint8),
        lambda: xp.zeros(1 << 46),
        lambda: xp.full((1 << 23, 1 << 23), 1.5),
        lambda: xp.arange(1 << 47),
        lambda: xp.eye(1 << 24),
        lambda: xp.linspace(0, 1, 1 << 47),
        lambda: wide + 1.0,
        lambda: -wide,
        lambda: xp.astype(wide, xp.float32),
        lambda: wide.copy(),
        lambda: xp.reshape(wide, (-1,)),
        lambda: xp.concat([wide, wide]),
        lambda: xp.sort(wide, axis=0),
        lambda: xp.cumulative_sum(wide, axis=0),
        lambda: xp.sum(wide, axis=0),
        lambda: wide == wide,
        lambda: xp.tile(x, (1 << 20, 1 << 20)),
        lambda: xp.repeat(x, 1 << 40),
    ]
    in_use = memory.info().in_use
    for number, call in enumerate(calls):
        with pytest.raises(MemoryError, match="no room for an array of"):
            call()
            pytest.fail(f"call {number}")
    gc.collect()
    assert memory.info().in_use == in_use
    assert float(xp.sum(x + x)) == 2000


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited as Linux does it")
def test_a_process_that_really_runs_out_goes_on():
    """With a limit of the address space, allocations fail in the middle of work.

    Of few threads, each of which takes 64 MiB of it or more when it first allocates.
    """
    code = """
        import resource
        import arrayx as xp
        xp.sum(xp.ones(3_000_000) + 1.0)  # the threads are there, with their stacks
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        room = 512 << 20
        resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
        kept, refused = [], 0
        try:
            while True:
                kept.append(xp.ones(4_000_000))
        except MemoryError as error:
            assert "no room for an array of" in str(error)
            refused += 1
        assert 5 <= len(kept) <= 17, len(kept)
        operations = [
            lambda x: x + x, lambda x: -x, lambda x: xp.sort(x), lambda x: xp.astype(x, xp.float32),
            lambda x: x > 0.5, lambda x: xp.argsort(x), lambda x: x[::-1].copy(),
            lambda x: x[x > 0], lambda x: xp.unique_values(x), lambda x: xp.concat([x, x]),
            lambda x: xp.cumulative_sum(x), lambda x: xp.nonzero(x), lambda x: xp.exp(x),
        ]
        for operation in operations:
            try:
                operation(kept[0])
            except MemoryError:
                refused += 1
        assert refused > 1
        assert all(float(xp.sum(x)) == 4_000_000 for x in kept)
        del kept
        x = xp.ones(4_000_000)
        for operation in operations:
            operation(x)
        assert xp.memory.info().in_use < 64 << 20
    """
    run_python(code, OMP_NUM_THREADS="4")

"""Units, their order and their tasks."""

from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask.jobs import estimate
from mlfs_dask.jobs.agenda import Agenda
from mlfs_dask.jobs.digest import canonical_json, job_digest, run_id
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.streams import classifier_stream, selector_stream
from mlfs_dask.jobs.units import part_for, units_of
from mlfs_dask.testing.jobs import TINY_JOB

SIZES = Sizes(
    n_samples=60,
    n_features=8,
    n_labels=3,
    label_sets=8,
    tile=16,
    cells=480,
    bits=False,
    item_bytes=8,
)


def job(*overrides):
    return parse_job(TINY_JOB.encode(), "tiny.toml", overrides)


def test_units_of_a_job():
    units = units_of(job(), ["a", "b"])
    # Per data set: 2 x 3 folds of 2 selections and 3 curves, and 2 selections on all rows.
    assert len(units) == 2 * (6 * 5 + 2)
    assert len({unit.id for unit in units}) == len(units)
    curve = next(u for u in units if u.kind == "judge" and u.selector == "SPEC")
    assert curve.needs[0] in units
    assert next(u for u in units if u.selector == "all").needs == ()
    assert str(units[0]) == "select SPEC on a, repeat 0, fold 0"


def test_final_false_leaves_out_the_selection_on_all_rows():
    units = units_of(job("select.0.final=false"), ["a"])
    assert [u.selector for u in units if u.fold is None] == ["mllap"]


def drain(agenda, failed=(), seconds=0.0):
    order = []
    while (units := agenda.next()) is not None:
        order.append(units)
        for unit in units:
            agenda.finish(unit, seconds=seconds, failed=unit.id in failed)
    assert len(agenda) == 0
    return order


@given(n=st.integers(20, 10**6), d=st.integers(2, 2000), done=st.sets(st.integers(0, 31)))
def test_every_unit_is_handed_out_once_after_what_it_needs(n, d, done):
    units = units_of(job(), ["a"])
    finished = {units[i].id for i in done}
    sizes = {"a": Sizes(n, d, 3, min(n, 8), 4096, n * d, bits=False, item_bytes=8)}
    handed = [unit for task in drain(Agenda(job(), units, sizes, finished)) for unit in task]
    assert sorted(u.id for u in handed) == sorted(u.id for u in units if u.id not in finished)
    seen = set(finished)
    for unit in handed:
        assert all(needed.id in seen for needed in unit.needs)
        seen.add(unit.id)


def test_short_chains_share_tasks_and_long_units_stand_alone():
    units = units_of(job(), ["a"])
    assert len(drain(Agenda(job(), units, {"a": SIZES}), seconds=1e-3)) < 9
    large = Sizes(10**5, 500, 3, 8, 4096, 5 * 10**7, bits=False, item_bytes=8)
    tasks = drain(Agenda(job(), units, {"a": large}))
    assert all(len(task) == 1 for task in tasks if task[0].kind == "judge")


@given(
    n=st.integers(20, 10**6),
    d=st.integers(2, 2000),
    wrong=st.floats(0.0, 3.0),
    workers=st.integers(1, 5),
    done=st.sets(st.integers(0, 31)),
)
def test_tasks_are_those_of_the_plan(n, d, wrong, workers, done):
    """However many are in hand at a time, while units take up to three times what was thought."""
    units = units_of(job(), ["a"])
    finished = {units[i].id for i in done}
    sizes = {"a": Sizes(n, d, 3, min(n, 8), 4096, n * d, bits=False, item_bytes=8)}
    agenda = Agenda(job(), units, sizes, finished)
    planned, in_hand, tasks = set(agenda.groups), [], set()
    while len(agenda) or in_hand:
        while len(in_hand) < 2 * workers and (task := agenda.next()) is not None:
            tasks.add(task)
            in_hand.append(task)
        for unit in in_hand.pop(0):
            agenda.finish(unit, seconds=wrong * estimate.seconds(job(), unit, sizes["a"]))
    assert tasks == planned


def test_units_share_tasks_only_once_they_were_seen_to_be_short():
    """Estimates of a method may be far too low: who comes later must not wait for a long task."""
    units = units_of(job(), ["a"])
    agenda = Agenda(job(), units, {"a": SIZES})
    unseen = []
    while (task := agenda.next()) is not None:
        unseen.append(task)
    assert all(len({unit.selector for unit in task}) == 1 and len(task) <= 2 for task in unseen)
    slow = drain(Agenda(job(), units, {"a": SIZES}), seconds=5.0)
    assert [len(task) for task in slow].count(1) > 25


def sized(*overrides):
    """Two selectors that judge as many features as the other one selects."""
    return job("select.0.features.size_of=mllap", "select.1.features.size_of=SPEC", *overrides)


def test_curves_sized_by_another_selector_need_both():
    curve = next(u for u in units_of(sized(), ["a"]) if u.kind == "judge" and u.selector == "SPEC")
    assert [needed.selector for needed in curve.needs] == ["SPEC", "mllap"]
    assert {needed.fold for needed in curve.needs} == {curve.fold}
    own = units_of(job("evaluate.features={ size_of = 'SPEC' }"), ["a"])
    assert [len(u.needs) for u in own if u.kind == "judge" and u.selector == "SPEC"] == [1] * 6
    assert [len(u.needs) for u in own if u.kind == "judge" and u.selector == "mllap"] == [2] * 6
    assert all(u.needs == () for u in own if u.selector == "all")


@given(
    n=st.integers(20, 10**6),
    d=st.integers(2, 2000),
    done=st.sets(st.integers(0, 31)),
    seconds=st.sampled_from([0.0, 1e-3, 0.2, 5.0]),
)
def test_selectors_that_size_each_other_hold_up_nobody(n, d, done, seconds):
    units = units_of(sized(), ["a"])
    finished = {units[i].id for i in done}
    sizes = {"a": Sizes(n, d, 3, min(n, 8), 4096, n * d, bits=False, item_bytes=8)}
    tasks = drain(Agenda(sized(), units, sizes, finished), seconds=seconds)
    handed = [unit for task in tasks for unit in task]
    assert sorted(u.id for u in handed) == sorted(u.id for u in units if u.id not in finished)
    seen = set(finished)
    for unit in handed:
        assert all(needed.id in seen for needed in unit.needs)
        seen.add(unit.id)


def test_a_task_carries_only_its_part_of_the_job():
    unit = next(u for u in units_of(sized(), ["a"]) if u.kind == "judge" and u.selector == "SPEC")
    assert [s.label for s in part_for(sized(), [unit]).select] == ["SPEC", "mllap"]
    selection = units_of(job(), ["a"])[0]
    part = part_for(job(), [selection])
    assert ([s.label for s in part.select], part.evaluate.classifier) == (["SPEC"], ())
    assert part.seed == job().seed


def test_a_failed_selection_does_not_hold_up_the_rest():
    units = units_of(job(), ["a"])
    large = Sizes(10**5, 500, 3, 8, 4096, 5 * 10**7, bits=False, item_bytes=8)
    tasks = drain(Agenda(job(), units, {"a": large}), failed={units[0].id})
    assert sum(map(len, tasks)) == len(units)


def test_the_digest_knows_what_changes_numbers():
    data = [("tiny", "d" * 64)]
    same = job_digest(job(), data)
    assert job_digest(job("run.workers=4", "data.store=/else/where"), data) == same
    assert job_digest(job("seed=4"), data) != same
    assert job_digest(job("select.0.phi=1"), data) != same
    assert job_digest(job(), [("tiny", "e" * 64)]) != same
    assert job_digest(job("evaluate.baseline=false"), data) != same
    changes = (
        "select.0.prefilter={ method = 'mllap', n = 3 }",
        "select.0.datasets=['tiny']",
        "select.0.features={ counts = [3] }",
        "evaluate.features={ size_of = 'SPEC' }",
        "evaluate.split.kind=iterative",
        "data.missing.rate=0.1",
        "data.costs={ distribution = 'uniform', low = 0, high = 1 }",
    )
    assert len({job_digest(job(change), data) for change in changes} | {same}) == 8
    assert run_id("tiny", same) == f"tiny-{same[:10]}"


def test_defaults_spelled_out_are_the_same_job():
    data = [("tiny", "d" * 64)]
    spelled = job("evaluate.conventions=default", "select.0.similarity=jaccard")
    assert job_digest(job(), data) == job_digest(spelled, data)


def test_canonical_json_has_one_spelling():
    assert canonical_json({"b": 0.1, "a": "ö"}) == '{"a":"ö","b":0.1}'.encode()


def test_streams_are_those_of_the_design():
    from zlib import crc32

    assert selector_stream(7, "x", 1, 2).spawn_key == (3, crc32(b"x"), 1, 2)
    assert selector_stream(7, "x", None, None).spawn_key == (3, crc32(b"x"), 2**32 - 1, 2**32 - 1)
    assert classifier_stream(7, "y", 1, 2, 5).spawn_key == (4, crc32(b"y"), 1, 2, 5)
    assert selector_stream(7, "x", 1, 2).entropy == 7

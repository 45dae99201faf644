"""Costs and memory of selectors: there for each of them, and growing as the methods do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlfs_dask import registry
from mlfs_dask.jobs.calibrate import CASES, cost_of, planted
from mlfs_dask.jobs.classifier_costs import curve, room
from mlfs_dask.jobs.options import full_params
from mlfs_dask.jobs.row_shape import Shape
from mlfs_dask.jobs.selector_costs import COSTS, GUESSES
from mlfs_dask.jobs.selector_memory import MEMORY, kept_tiles, tile_in_hand, together
from mlfs_dask.jobs.stream_costs import BY_MEAN, BY_SIGNIFICANCE, arriving, standing

SELECTORS = sorted(COSTS)
DENSE = Shape(
    n=20_000,
    d=300,
    q=10,
    u=200,
    per_row=300,
    carried=3.0,
    sparse=False,
    bits=False,
    item_bytes=8,
    tile=4096,
    all_rows=20_000,
)
SPARSE = replace(DENSE, d=5000, per_row=100, sparse=True, item_bytes=12)


def params(name, **given):
    return full_params("selectors", name, given)


def test_every_selector_of_the_package_has_a_cost_and_a_memory():
    names = set(registry.names("selectors"))
    assert names >= set(COSTS)
    assert set(COSTS) == set(MEMORY)
    own = {n for n in names if registry.load("selectors", n).__module__.startswith("mlfs_dask.")}
    assert own == set(COSTS)


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("shape", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_time_grows_as_the_method_does(name, shape):
    more = replace(shape, n=4 * shape.n, all_rows=4 * shape.all_rows)
    seconds = [COSTS[name](s, params(name)).seconds for s in (shape, more)]
    growth = seconds[1] / seconds[0]
    by_pairs = ("laplacian", "mlrelieff", "relief-wrapper", "nrs-stream", "ofs-a3m")
    if name == "nrs-cost":  # by pairs, and by rows for each choice
        assert 4 < growth < 16.5
    else:
        assert (8 < growth < 16.5) if name in by_pairs else (1 <= growth < 4.5)


@pytest.mark.parametrize("name", SELECTORS)
@given(
    n=st.integers(1, 10**7),
    d=st.integers(1, 50_000),
    q=st.integers(1, 1000),
    sparse=st.booleans(),
    bits=st.booleans(),
    share=st.floats(0.01, 1.0),
)
def test_numbers_are_of_this_world(name, n, d, q, sparse, bits, share):
    shape = Shape(
        n=n,
        d=d,
        q=q,
        u=min(n, 2**q, 20_000),
        per_row=max(1.0, d / 20) if sparse else d,
        carried=min(q, 3.0),
        sparse=sparse,
        bits=bits,
        item_bytes=5 if sparse else 8,
        tile=4096,
        all_rows=n,
    )
    work = COSTS[name](shape, params(name))
    assert 0 < work.seconds < float("inf")
    assert all(stage.seconds >= 0 and stage.result_bytes >= 0 for stage in work.stages)
    room = MEMORY[name](shape, params(name), share)
    assert min(room.held, room.task, room.result) >= 0
    assert room.bytes(1) <= room.bytes(2) <= room.bytes(8)
    assert kept_tiles(shape, share) <= kept_tiles(shape, 1.0)
    assert tile_in_hand(shape) > 0


def test_memory_of_a_pass_grows_by_what_is_known_of_rows_alone():
    """Labels, their sets and weights; not what is in the rows."""
    more = replace(DENSE, n=10**7, all_rows=10**7)
    wider = replace(more, d=2 * DENSE.d, per_row=2 * DENSE.per_row)
    for name in ("variance", "chi2", "mutual-info", "mllap", "mddm", "spec"):
        few, many, wide = (
            MEMORY[name](s, params(name), 1.0).bytes(1) for s in (DENSE, more, wider)
        )
        assert many - few < 100 * 10**7
        assert wide - many < 0.2 * many


def test_calibration_takes_every_road():
    roads = set()
    for case in CASES:
        small = replace(case, n=60)
        roads.add(cost_of(small, *planted(small)).road)
    few = replace(SPARSE, bits=True, d=500, per_row=10)
    shapes = [DENSE, SPARSE, replace(SPARSE, bits=True), few, replace(DENSE, bits=True)]
    wanted = {COSTS[name](shape, params(name)).road for name in COSTS for shape in shapes}
    assert wanted <= roads
    bases = {"logistic", "tree", "c45", "knn", "svm-rbf", "naive-bayes"}
    assert {f"models of {base}" for base in bases} <= roads


TEXT = replace(SPARSE, n=28_596, d=49_060, per_row=104, bits=True, item_bytes=5, all_rows=28_596)


def test_rows_that_are_equal_on_what_joined_are_one():
    """As 2,000 words of long texts took: 4 seconds, not the minutes of all pairs of rows."""
    seconds, held = {}, {}
    for name, shape in (("bits", TEXT), ("values", replace(TEXT, bits=False))):
        given = params("nrs-stream", arrival=list(range(2000)))
        seconds[name] = COSTS["nrs-stream"](shape, given).seconds
        held[name] = MEMORY["nrs-stream"](shape, given, 1.0).held
    assert 1.5 < seconds["bits"] < 13
    assert seconds["values"] > 1000
    assert held["bits"] < 128 * 2**20 < 2**30 < held["values"]


@given(st.floats(0, 2000), st.floats(1, 400))
def test_rows_stand_at_no_more_points_than_there_are_rows(members, per_row):
    points = standing(replace(TEXT, per_row=per_row), members)
    assert 1 <= points <= TEXT.n
    assert points <= 1.0001 * standing(replace(TEXT, per_row=per_row), members + 100)
    assert standing(replace(TEXT, sparse=False), members) == TEXT.n


def test_points_of_few_features():
    assert standing(TEXT, 0) == 1
    assert standing(TEXT, 1) == pytest.approx(2)


def test_what_a_stream_rests_on_is_said():
    few, values = params("nrs-stream", max_features=20), replace(TEXT, bits=False)
    assert "20 of 60 features join" in GUESSES["nrs-stream"](TEXT, few)
    many = params("nrs-stream", max_features=200)
    assert "an upper bound" in GUESSES["nrs-stream"](values, many)
    assert "20 of 303 features join" in GUESSES["ofs-a3m"](TEXT, params("ofs-a3m", max_features=20))
    said = GUESSES["nrs-cost"](TEXT, params("nrs-cost", max_features=20))
    assert "20 features are chosen (twice as many would take 1.8 times as long)" in said


@pytest.mark.parametrize("shape", [TEXT, replace(TEXT, bits=False)], ids=["bits", "values"])
def test_few_members_of_sparse_rows_leave_few_points(shape):
    """No distances of all rows are kept then."""
    for name in ("nrs-stream", "ofs-a3m"):
        given = params(name, max_features=12)
        assert COSTS[name](shape, given).seconds < 10
        assert MEMORY[name](shape, given, 1.0).held < 128 * 2**20


def test_members_that_must_be_better_than_the_mean_are_few():
    def arrivals(joins, most):
        return arriving(TEXT, params("nrs-stream", max_features=most), joins)

    assert arrivals(BY_SIGNIFICANCE, 30) < 200 < 2000 < arrivals(BY_MEAN, 30) < 10_000
    assert arrivals(BY_MEAN, 200) == TEXT.d


@pytest.mark.parametrize("bits", [True, False])
@pytest.mark.parametrize(("n", "d", "per_row"), [(28_596, 49_060, 104), (6_400, 37_000, 40)])
def test_more_memory_never_makes_rough_sets_worse(n, d, per_row, bits):
    """A process that fits without rows that are prepared once fits with them, too."""
    shape = replace(TEXT, n=n, all_rows=n, d=d, per_row=per_row, bits=bits)
    limits = range(320 * 2**20, 4 * 2**30, 16 * 2**20)
    fits = [
        290 * 2**20 + together(shape, MEMORY["nrs-cost"](shape, {}, share), share, 1, 0.0)
        <= 0.8 * limit
        for limit in limits
        for share in [limit / 2**32]
    ]
    assert fits == sorted(fits)
    assert fits[-1]


def test_choices_of_rough_sets_count():
    def choices(most):
        return COSTS["nrs-cost"](TEXT, params("nrs-cost", max_features=most)).seconds

    assert choices(50) > 5 * choices(3)
    assert 17 < choices(50) < 100


def test_few_label_sets_are_summed_instead_of_labels():
    many = replace(DENSE, n=10**6, all_rows=10**6, u=1000, carried=6.6, q=30)
    stages = {stage.name for stage in COSTS["mllap"](many, params("mllap")).stages}
    assert "sums by label set" in stages
    free = replace(TEXT, u=TEXT.n)
    assert "sums by label" in {stage.name for stage in COSTS["mllap"](free, params("mllap")).stages}


def test_a_stream_that_ends_with_enough_members_takes_less():
    def seconds(**given):
        return COSTS["nrs-stream"](TEXT, params("nrs-stream", **given)).seconds

    assert seconds(max_features=50) < seconds(max_features=200) < seconds() / 10
    assert seconds(max_features=TEXT.d) == seconds()


def test_times_of_neighbours_follow_what_is_asked_of_them():
    def seconds(method, shape=DENSE, **given):
        given = full_params("classifiers", method, given)
        return curve(method, given, shape, 2000, (100, 300)).seconds

    assert seconds("brknn") < 0.2 * seconds("mlknn")  # training rows have no neighbours there
    assert seconds("dmlknn") > seconds("mlknn") < seconds("iblr")
    many = replace(DENSE, q=300)
    assert seconds("iblr", many) > 50 * seconds("iblr")
    assert seconds("iblr", plus=True) > seconds("iblr")
    assert seconds("br", replace(SPARSE, q=10), base="tree") < seconds(
        "br", replace(SPARSE, q=10, sparse=False, per_row=5000), base="tree"
    )


def test_models_hold_copies_of_rows_and_of_their_classes():
    def task(method, shape=DENSE, **given):
        given = full_params("classifiers", method, given)
        return room(method, given, shape, 2000, (300,), 1.0).task

    assert task("br", base="c45") > 3 * 8 * DENSE.n * DENSE.d
    text = replace(SPARSE, bits=True, item_bytes=5)
    assert task("br", text, base="naive-bayes") > task("br", text, base="tree")
    assert task("lp", base="tree") > task("br", base="tree")


def test_rankings_of_problems_count_as_numbers_that_are_kept():
    few, many = (
        MEMORY["spec-wrapper"](replace(TEXT, q=q), params("spec-wrapper", order=1), 1.0).held
        for q in (22, 220)
    )
    assert many > few + 100 * 198 * TEXT.d


@pytest.mark.parametrize("name", SELECTORS)
@pytest.mark.parametrize("shape", [DENSE, SPARSE, TEXT], ids=["dense", "sparse", "text"])
def test_less_memory_never_takes_less_time(name, shape):
    """What cannot be kept is made, or read, anew."""
    works = [COSTS[name](replace(shape, share=share), params(name)) for share in (1.0, 0.2, 0.02)]
    for some in ([w.seconds for w in works], [sum(s.read_bytes for s in w.stages) for w in works]):
        assert some == sorted(some)
    assert sum(stage.read_bytes for stage in works[0].stages) > 0


def test_rough_sets_that_find_no_room_for_their_rows_look_at_all_of_them():
    given = params("nrs-cost", max_features=10)
    kept, anew = (COSTS["nrs-cost"](replace(TEXT, share=share), given) for share in (1.0, 0.1))
    assert anew.seconds > 10 * kept.seconds
    assert anew.stages[-1].tasks == 10 * TEXT.tiles  # by tile, not by blocks of rows

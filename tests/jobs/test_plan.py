"""The plan: counted, estimated, nothing computed."""

import hashlib

import msgspec
import numpy as np
import pytest

from mlfs_dask.errors import JobFileError, PlanError
from mlfs_dask.jobs import agenda
from mlfs_dask.jobs.backends import InProcess
from mlfs_dask.jobs.data import open_datasets
from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.jobfile import parse_job
from mlfs_dask.jobs.needs import Needs
from mlfs_dask.jobs.plan import make_plan
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.sizes import parse_bytes, show_bytes, show_seconds
from mlfs_dask.jobs.units import units_of
from mlfs_dask.storage.ingest import ingest
from mlfs_dask.storage.rows import RowReader
from mlfs_dask.testing.jobs import TINY_JOB, make_tiny_store
from mlfs_dask.testing.tables import ArrayTable


def plan(*overrides):
    job = parse_job(TINY_JOB.encode(), "tiny.toml", overrides)
    return make_plan(job, open_datasets(job, "tiny.toml"))


@pytest.fixture
def rare_label(tmp_path):
    """Label 1 has one positive (in row 0), label 2 no negative."""
    Y = np.zeros((30, 3), dtype=np.uint8)
    Y[::2, 0] = Y[0, 1] = 1
    Y[:, 2] = 1
    X = np.random.default_rng(0).normal(size=(30, 4))
    (tmp_path / "stores").mkdir()
    ingest(ArrayTable(X, Y), tmp_path / "stores" / "rare.zarr", tile=16, name="rare")
    return "data.store=rare"


def test_units_tasks_and_sizes(tiny_store, monkeypatch):
    def refuse(*_):
        raise AssertionError("the plan reads rows")

    monkeypatch.setattr(RowReader, "__getitem__", refuse)
    made = plan()
    assert (made.n_selections, made.n_curves) == (14, 18)
    assert made.workers == 0
    assert made.n_tasks > 0
    assert made.state is None
    assert 0 < made.seconds < 60
    assert made.warnings == []
    assert plan("run.workers=3").workers == 3


def test_files_sweeps_cells_and_costs_are_told(tiny_store, tmp_path):
    column = tmp_path / "groups.csv"
    column.write_text("".join(f"{i // 4}\n" for i in range(60)))
    made = plan(
        f"evaluate.split={{ kind = 'groups', folds = 3, column = '{column}' }}",
        "data.missing.rate=0.05",
        "data.costs={ distribution = 'normal', mean = 100, std = 30 }",
        "sweep.select.0.phi=[1, 2, 3]",
        "sweep.select.0.n_features_to_select=[2, 3]",
        "sweep.evaluate.classifier.0.n_neighbors=[3, 5]",
    )
    (file,) = made.files
    assert (file.key, file.path) == ("evaluate.split.column", str(column))
    assert file.bytes == column.stat().st_size
    assert file.sha256 == hashlib.sha256(column.read_bytes()).hexdigest()
    assert made.sweep == {"select.0": 6, "evaluate.classifier.0": 2}
    assert made.missing_rate == 0.05
    assert made.costs == "drawn, normal with mean 100 and std 30"
    assert (made.n_selections, made.n_curves) == (7 * 4, 3 * 8 * 2)
    plain = plan()
    assert (plain.files, plain.sweep, plain.missing_rate, plain.costs) == ([], {}, None, None)


def test_selectors_are_not_looked_up_one_by_one(tiny_store):
    """How often a plan goes through all selectors depends on the folds, not on the units."""

    class Counted(tuple):
        passes = 0

        def __iter__(self):
            Counted.passes += 1
            return super().__iter__()

    def passes(n):
        shares = [round((i + 1) / n, 4) for i in range(n)]
        job = parse_job(TINY_JOB.encode(), "x", [f"sweep.select.0.n_features_to_select={shares}"])
        job = msgspec.structs.replace(job, select=Counted(job.select))
        datasets = open_datasets(job, "x")
        Counted.passes = 0
        made = make_plan(job, datasets)
        assert made.n_selections == 7 * (n + 1)
        return Counted.passes

    assert 0 < passes(3) == passes(60)


def test_strict_looks_at_the_folds_of_every_kind(rare_label, tmp_path):
    column = tmp_path / "groups.csv"
    column.write_text("".join(f"{i // 3}\n" for i in range(30)))
    for split in ("kind = 'iterative'", f"kind = 'groups', column = '{column}'"):
        change = f"evaluate.split={{ {split}, folds = 3 }}"
        pairs = {(p.label, p.lacks) for p in plan(rare_label, change).constant_labels}
        assert pairs == {("l1", "positives"), ("l2", "negatives")}
        with pytest.raises(PlanError, match="strict = true, and 4 pairs"):
            plan(rare_label, change, "evaluate.strict=true")


def test_labels_without_positives_or_negatives_are_listed(rare_label):
    made = plan(rare_label)
    lacking = {(p.label, p.lacks) for p in made.constant_labels}
    assert lacking == {("l1", "positives"), ("l2", "negatives")}
    # Row 0 is a test row once per repeat; label 2 is constant in all six folds.
    assert len(made.constant_labels) == 2 + 6
    assert "8 pairs of label and training fold" in made.warnings[0]


def test_strict_refuses_them(rare_label):
    with pytest.raises(PlanError, match="label 'l1' has no positives in repeat 0") as caught:
        plan(rare_label, "evaluate.strict=true")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("evaluate.split.folds=61", "evaluate.split: tiny: folds = 61"),
        ("evaluate.features={ counts = [9] }", "evaluate.features: tiny: features.counts"),
    ],
)
def test_what_the_data_cannot_give_is_refused(tiny_store, override, part):
    with pytest.raises(JobFileError) as caught:
        plan(override)
    assert part in caught.value.problems[0]


def test_holdout_needs_a_split(rare_label):
    with pytest.raises(JobFileError, match="ships none"):
        plan(rare_label, "evaluate.split={ kind = 'holdout' }")


def test_data_sets_of_one_name_are_refused(tiny_store, tmp_path):
    make_tiny_store(tmp_path / "elsewhere", seed=1)
    other = tmp_path / "elsewhere" / "tiny.zarr"
    with pytest.raises(JobFileError, match="both named 'tiny'"):
        plan(f'data.store=["tiny", "{other}"]')


def test_more_neighbours_than_rows_are_told(tiny_store):
    assert not any("n_neighbors" in warning for warning in plan().warnings)
    (told,) = plan("evaluate.classifier=[{ method = 'mlknn', n_neighbors = 59 }]").warnings
    assert told.startswith(
        "mlknn [n_neighbors=59]: n_neighbors = 59, but a training row of tiny has only "
    )


def test_a_limit_below_what_a_process_needs_is_refused_with_one_that_is_enough(tiny_store):
    with pytest.raises(PlanError, match="a process needs about") as caught:
        plan("run.memory_per_worker='10 MB'")
    error = caught.value
    assert error.exit_code == 2
    enough = error.facts["enough"]
    assert f"memory_per_worker to {show_bytes(enough)} or more" in error.hint
    made = plan(f"run.memory_per_worker='{enough // 2**20} MiB'")
    assert made.memory_bytes <= 0.95 * enough
    with pytest.raises(PlanError):
        plan(f"run.memory_per_worker='{enough // 2**20 - 64} MiB'")


def test_tiles_that_would_fit_are_named(tmp_path):
    """Wide dense rows in few tiles: with smaller ones a process of that size is enough."""
    sizes = Sizes(10**5, 5000, 5, 32, 16384, 5 * 10**8, bits=False, item_bytes=8)
    job = parse_job(TINY_JOB.encode(), "tiny.toml", ["run.memory_per_worker='1 GiB'"])
    needs = Needs(job, units_of(job, ["tiny"]), {"tiny": sizes}, Rates(), 1)
    assert not needs.fits(2**30)
    error = needs.refuse(2**30)
    tile = error.facts["tile"]
    assert f"--tile {tile}" in error.hint
    assert needs.fits(2**30, tile)
    assert not needs.fits(2**30, 2 * tile)
    assert needs.fits(error.facts["enough"])


def test_what_is_kept_follows_the_memory_of_a_process():
    sizes = Sizes(28596, 500, 22, 1341, 4096, 28596 * 500, bits=False, item_bytes=8)
    job = parse_job(
        TINY_JOB.replace('"mllap"', '"mlrelieff"').encode(), "tiny.toml", ["run.workers=1"]
    )
    needs = Needs(job, units_of(job, ["tiny"]), {"tiny": sizes}, Rates(), 1)
    needed = [needs.most(limit)[0] for limit in (2**29, 2**30, 2**32, 2**40, None)]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]
    assert needed[-2] == needed[-1]


def test_a_run_does_the_units_and_tasks_of_its_plan(run_tiny, monkeypatch):
    done = []

    def submit(self, task, seconds, n_tasks):
        done.append(task.units)
        self._task = task

    monkeypatch.setattr(InProcess, "submit", submit)
    monkeypatch.setattr(agenda, "_WRONG", 1e9)  # kernels may be compiled meanwhile
    made = plan()
    finished = run_tiny()
    assert finished.state == "done"
    assert len(done) == made.n_tasks
    assert sum(map(len, done)) == made.n_selections + made.n_curves


def test_sizes_and_times_for_people():
    assert parse_bytes("4 GiB") == 4 * 2**30
    assert parse_bytes("500MB") == 500 * 10**6
    assert [parse_bytes(text) for text in ("4", "GiB", "-1 MB", "1 XB")] == [None] * 4
    assert show_bytes(5 * 2**40) == "5.0 TiB"
    assert [show_seconds(s) for s in (0.001, 59.6, 61, 3700, 4e5, 6e7, 9e10)] == [
        *("0.001 s", "60 s", "1 min 1 s", "1 h 1 min", "5 days", "694 days", "2,854 years"),
    ]


def test_workers_that_share_a_task_keep_each_its_part_of_the_tiles(tmp_path):
    """What is told is what they will take; what fits is what one of them takes without others."""
    store = tmp_path / "stores" / "wide.zarr"
    store.parent.mkdir()
    rows = np.random.default_rng(0).random((3000, 400))
    ingest(ArrayTable(rows, (rows[:, :3] > 0.5).astype(np.uint8)), store, tile=200, name="wide")
    text = f'schema = 1\nname = "wide"\n[data]\nstore = "{store}"\n[[select]]\nmethod = "chi2"\n'

    def made(wide, *given):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("mlfs_dask.jobs.plan.is_worth_it", lambda *_: wide)
            job = parse_job(text.encode(), "wide.toml", given)
            return make_plan(job, open_datasets(job))

    whole, shared = made(False, "run.workers=4"), made(True, "run.workers=4")
    assert whole.memory_bytes - shared.memory_bytes == pytest.approx(rows.nbytes * 3 / 4, rel=1e-6)
    found = []
    for wide in (False, True):
        with pytest.raises(PlanError) as caught:
            made(wide, "run.workers=4", 'run.memory_per_worker="280 MiB"')
        found.append(caught.value.facts)
    assert found[0] == found[1]

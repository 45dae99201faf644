"""Plans of every selector and classifier against their runs, on shapes made for it and real ones.

Units and tasks must be as planned. Memory counts where a process takes noticeably more than one
that has nothing to do, since of the others next to nothing is predicted. Time counts where a
command takes more than a few seconds: others spend most of theirs on starting.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from benchmarks.large import LargeStores
from benchmarks.planned import Planned, planned
from benchmarks.side_by_side import Row, SideBySide

_MEMORY: Final = 1.5
_TIME: Final = 3.0
_COUNTED_SECONDS: Final = 3.0
_TOO_LONG: Final = 15.0
_CALIBRATION: Final = os.environ.get("MLFS_CALIBRATION")  # before tests are kept from it

Options: TypeAlias = Sequence[str]
SHAPES: Final[Mapping[str, Options]] = {
    "sparse floats, 7,001 x 3,000, 0.5 %": (
        *("-n", "7001", "-d", "3000", "-q", "17", "--sparse", "--density", "0.005"),
        *("--dtype", "float64", "--seed", "1"),
    ),
    "sparse floats, 9,000 x 700, 10 %": (
        *("-n", "9000", "-d", "700", "-q", "40", "--sparse", "--density", "0.1"),
        *("--label-sets", "300", "--seed", "2"),
    ),
    "sparse bits, 3,000 x 9,001, 1 %": (
        *("-n", "3000", "-d", "9001", "-q", "100", "--sparse", "--density", "0.01"),
        *("--dtype", "uint8", "--label-sets", "700", "--seed", "4"),
    ),
    "dense bits, 20,000 x 150": (
        *("-n", "20000", "-d", "150", "-q", "5", "--density", "0.3", "--dtype", "uint8"),
        *("--seed", "5"),
    ),
    "dense doubles, 2,500 x 1,500": (
        *("-n", "2500", "-d", "1500", "-q", "30", "--dtype", "float64", "--seed", "6"),
    ),
    "dense floats, 30,001 x 91, tiles of 512": (
        *("-n", "30001", "-d", "91", "-q", "13", "--label-sets", "200", "--tile", "512"),
        *("--seed", "7"),
    ),
}
REAL: Final = (
    *("corel5k", "medical", "genbase", "mediamill-small", "bibtex", "delicious", "imdb"),
    *("rcv1sub1", "yahoo-arts", "yahoo-business", "yahoo-education", "yahoo-science"),
)
WHOLE: Final = "28,596 x 49,060 as tmc2007"
SMALL: Final = ("-n", "60", "-d", "30", "-q", "4", "--density", "0.5", "--dtype", "uint8")
SELECTORS: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    ("variance", {}),
    ("chi2", {}),
    ("mutual-info", {}),
    ("mddm", {"constraint": "proj"}),
    ("mddm", {}),
    ("spec", {}),
    ("spec", {"phi": 3}),
    ("spec-wrapper", {"order": 1}),
    ("spec-wrapper", {"order": 2}),
    ("mllap", {}),
    ("pmu", {"n_features_to_select": 15}),
    ("mdmr", {"n_features_to_select": 15}),
    ("laplacian", {"n_neighbors": 12}),
    ("mlrelieff", {"n_neighbors": 7}),
    ("relief-wrapper", {"order": 1}),
    ("nrs-cost", {"max_features": 12}),
    ("nrs-stream", {"max_features": 12}),
    ("ofs-a3m", {"max_features": 12}),
    ("mlnb", {"n_generations": 2}),
)
CLASSIFIERS: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    *((name, {"n_neighbors": 8}) for name in ("mlknn", "brknn", "dmlknn", "iblr")),
    ("mlnb", {}),
    *(
        ("br", {"base": base})
        for base in ("logistic", "tree", "c45", "knn", "svm-rbf", "naive-bayes")
    ),
    ("clr", {"base": "naive-bayes"}),
    ("lp", {"base": "tree"}),
    ("rakel", {"base": "naive-bayes"}),
)


def _text(store: str, method: str, params: Mapping[str, Any], *, judged: bool) -> str:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in params.items())
    data = f'schema = 1\nname = "planned"\n[data]\nstore = {json.dumps(store)}\n'
    if judged:
        split = 'split = { kind = "kfold", folds = 2 }\nfeatures = { fractions = [0.3, 1.0] }\n'
        selector = '[[select]]\nmethod = "variance"\n'
        judge = f'[evaluate]\n{split}[[evaluate.classifier]]\nmethod = "{method}"\n{lines}'
        return f"{data}{selector}{judge}"
    if method == "nrs-cost":
        data += 'costs = { distribution = "uniform", low = 0, high = 100 }\n'
    return f'{data}[[select]]\nmethod = "{method}"\n{lines}'


def _all_of(store: str, runs: Path, *, full: bool) -> list[Planned]:
    """Every method in a process of its own; without a whole run, only some of them."""
    found = []
    for judged, methods in ((False, SELECTORS), (True, CLASSIFIERS)):
        for number, (method, params) in enumerate(methods if full else methods[::6]):
            name = " ".join([method, *(f"{key}={value}" for key, value in params.items())])
            text = _text(store, method, params, judged=judged)
            folder = runs / f"{judged}-{number}"
            run = planned(name, text, ("run.workers=0",), folder, most_seconds=_TOO_LONG)
            if run is not None:
                print(run, flush=True)
                found.append(run)
    return found


def _rows(what: str, runs: Sequence[Planned]) -> list[Row]:
    """How many are near enough, and which is farthest off."""
    return [
        _row(f"{what}: memory", [r for r in runs if r.is_above_its_floor], _by_memory, _MEMORY),
        _row(f"{what}: time", [r for r in runs if r.took > _COUNTED_SECONDS], _by_time, _TIME),
    ]


def _by_memory(run: Planned) -> float:
    return run.memory_ratio


def _by_time(run: Planned) -> float:
    return run.time_ratio


def _row(what: str, runs: Sequence[Planned], ratio: Callable[[Planned], float], most: float) -> Row:
    near = [run for run in runs if 1 / most <= ratio(run) <= most]
    farthest = max(runs, key=lambda run: max(ratio(run), 1 / ratio(run)), default=None)
    off = "" if farthest is None else f"; farthest {ratio(farthest):.2f}x, {farthest.name}"
    return Row(
        what=f"plans, {what}",
        ours=f"{len(near)} of {len(runs)} methods",
        against="measured",
        theirs="",
        result=f"within {most:g}x{off}",
        asked=f"all within {most:g}x",
        met=len(near) == len(runs),
    )


@pytest.fixture(autouse=True)
def rates_of_this_machine(side_by_side: SideBySide, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans by what ``mlfs doctor --calibrate`` found, as times are asked for."""
    if side_by_side.full and _CALIBRATION is None:
        monkeypatch.delenv("MLFS_CALIBRATION")
    elif side_by_side.full:
        monkeypatch.setenv("MLFS_CALIBRATION", str(_CALIBRATION))


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [*SHAPES, *REAL, WHOLE] if os.environ.get("MLFS_BENCH") else ["small"]
)
def test_plans(side_by_side: SideBySide, large: LargeStores, tmp_path: Path, shape: str) -> None:
    full = side_by_side.full
    if not full:
        store = large.made("planned-small", *SMALL)
    elif shape == WHOLE:
        store = large.tmc2007()
    elif shape in REAL:
        store = large.real(shape)
    else:
        store = large.made(f"planned-{list(SHAPES).index(shape)}", *SHAPES[shape])
    runs = _all_of(store, tmp_path, full=full)
    assert runs
    if full:
        side_by_side.rows += _rows(shape, runs)


@pytest.mark.slow
@pytest.mark.cluster
def test_plans_on_workers(side_by_side: SideBySide, large: LargeStores, tmp_path: Path) -> None:
    """Few methods, whose tasks are spread over one and two workers with little memory."""
    shape = "sparse floats, 9,000 x 700, 10 %"
    full = side_by_side.full
    store = large.made("planned-1", *SHAPES[shape]) if full else large.made("planned-small", *SMALL)
    runs = []
    for method in ("laplacian", "spec", "mutual-info") if full else ("spec",):
        for workers, memory in ((1, "1 GiB"), (2, "2 GiB")) if full else ((2, "2 GiB"),):
            name = f"{method} on {workers} workers of {memory}"
            given = (f"run.workers={workers}", f'run.memory_per_worker="{memory}"')
            text = _text(store, method, {}, judged=False)
            run = planned(name, text, given, tmp_path / name.replace(" ", "-"))
            assert run is not None
            runs.append(run)
    if full:
        side_by_side.rows += _rows(f"{shape}, on workers", runs)

"""What deploy/README.md says of numbers of workers is what the model says."""

import re
from pathlib import Path

import pytest

from mlfs_dask.jobs.estimate import Sizes
from mlfs_dask.jobs.options import full_params
from mlfs_dask.jobs.rates import Rates
from mlfs_dask.jobs.scaling import SAMPLES, WORKERS, forecasts
from mlfs_dask.jobs.spec import Method

TEXT = (Path(__file__).parents[2] / "deploy" / "README.md").read_text(encoding="utf-8")
LINE = re.compile(
    r"^ *\| `([a-z0-9-]+)`[^|]*\| (sparse|dense|wide) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
    re.MULTILINE,
)
LINES = LINE.findall(TEXT)
ROWS = {
    "sparse": Sizes(10**6, 1000, 30, 1000, 4096, 20_000_000, False, 8, sparse=True, carried=8.6),
    "wide": Sizes(10**6, 49_060, 22, 1341, 4096, 104_000_000, True, 5, sparse=True, carried=8.6),
    "dense": Sizes(10**6, 200, 30, 1000, 4096, 200_000_000, False, 4, carried=8.5),
}
PARAMS = {"mddm": {"constraint": "proj"}}
NEAR = 5  # percent points


def test_the_advice_covers_every_bottleneck():
    assert len(LINES) >= 8
    assert len({bottleneck for *_, bottleneck in LINES}) >= 4


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line[0]}-{line[1]}")
def test_a_line_of_the_advice(line):
    method, rows, *shares, bottleneck = line
    params = full_params("selectors", method, PARAMS.get(method, {}))
    chosen = Method(method=method, label=method, params=params)
    found = forecasts(rows, chosen, ROWS[rows], Rates())
    said = [int(share) for share in re.findall(r"(\d+) %", " ".join(shares))]
    assert len(said) == len(SAMPLES) * len(WORKERS)
    right = [round(100 * forecast.efficiency) for forecast in found]
    assert said == pytest.approx(right, abs=NEAR), f"now {right}"
    [on_128] = [f for f in found if (f.n_samples, f.workers) == (10**6, 128)]
    assert bottleneck == on_128.bottleneck

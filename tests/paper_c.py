"""Table 2 of paper C (Cheng & Hüllermeier 2009) beside a run of the job `iblr-study`, cell by cell.

From the checkout; the run may have any of the study's data sets and any number of repeats::

    python tests/paper_c.py runs/iblr-study-0123456789
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata, spearmanr

from mlfs_dask.jobs.results import open_run

_PRINTED = json.loads((Path(__file__).parent / "cases" / "paper_c_ranks.json").read_text())
COLUMNS = _PRINTED["methods"]
MEASURES = list(_PRINTED["measures"])
ROWS = [name.lower() for name in _PRINTED["datasets"]]
# How far a mean of 5 x 10 folds may be from what is printed; twice as far with one repeat.
BANDS = dict.fromkeys(MEASURES, 0.005) | {"coverage": 0.03}
BANDS_OF_TREES = dict.fromkeys(MEASURES, 0.02) | {"coverage": 0.1}
YEAST_COVERAGE = 0.06


class Cell(NamedTuple):
    """A number of ours beside the printed one."""

    dataset: str
    measure: str
    column: str
    found: float
    printed: float
    band: float

    @property
    def apart(self):
        """Ours minus the printed one."""
        return self.found - self.printed

    @property
    def inside(self):
        """Whether it lies in its band; a rounded digit is no difference."""
        return abs(self.apart) <= self.band + 0.0005

    @property
    def shown(self):
        """Ours, how far apart, a star if that is too far; 17 characters."""
        return f"{self.found:9.3f} {self.apart:+6.3f}{' ' if self.inside else '*'}"


def band(dataset, measure, column, repeats=5):
    """How far a cell may be from the printed one."""
    if column in ("LP", "BR-C4.5"):
        limit = BANDS_OF_TREES[measure]
    elif (dataset, measure) == ("yeast", "coverage"):
        limit = YEAST_COVERAGE
    else:
        limit = BANDS[measure]
    return limit if repeats == 5 else 2 * limit


def cells(done, repeats=5):
    """All cells that a run has, by measure, data set and column."""
    rows = done.evaluation
    found = []
    for measure in MEASURES:
        for position, dataset in enumerate(ROWS):
            for column, printed in zip(COLUMNS, _row(measure, "values", position), strict=True):
                here = (rows["metric"] == measure) & (rows["dataset"] == dataset)
                here &= rows["classifier"] == column
                if here.any():
                    mean = float(rows["value"][here].mean())
                    limit = band(dataset, measure, column, repeats)
                    found.append(Cell(dataset, measure, column, mean, printed, limit))
    return found


def agreement(found, datasets):
    """Measure -> Spearman's correlation of mean ranks of the methods, ours and the printed."""
    values = {(cell.dataset, cell.measure, cell.column): cell.found for cell in found}
    return {
        measure: float(
            spearmanr(
                np.mean([_ranks(values, name, measure) for name in datasets], axis=0),
                np.mean([_row(measure, "ranks", ROWS.index(name)) for name in datasets], axis=0),
            ).statistic
        )
        for measure in MEASURES
    }


def _row(measure, what, position):
    return _PRINTED["measures"][measure][what][position]


def _ranks(values, dataset, measure):
    row = [values[dataset, measure, column] for column in COLUMNS]
    return rankdata(np.negative(row) if measure == "average_precision" else row)


def main():
    found = cells(open_run(sys.argv[1]))
    for measure in MEASURES:
        print(f"\n{measure:18}" + "".join(f"{column:>17}" for column in COLUMNS))
        for dataset in dict.fromkeys(cell.dataset for cell in found):
            row = {c.column: c for c in found if (c.dataset, c.measure) == (dataset, measure)}
            shown = [row[column].shown if column in row else " " * 17 for column in COLUMNS]
            print(f"{dataset:18}" + "".join(shown))
    print("\n* outside its band. Spearman's correlation of mean ranks with the printed ones:")
    have = {cell.dataset for cell in found}
    for datasets in (("emotions", "scene", "yeast"), ("emotions", "genbase", "scene", "yeast")):
        if have >= set(datasets):
            shown = ", ".join(f"{m} {rho:.2f}" for m, rho in agreement(found, datasets).items())
            print(f"  {', '.join(datasets)}: {shown}")


if __name__ == "__main__":
    main()

"""A message with a count has its noun in the number of the count."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlfs_dask.errors import InputError
from mlfs_dask.selectors.nrs_stream import NRSStream
from mlfs_dask.selectors.spec import SPEC

# A count by its name, and straight behind it a noun in the plural.
COUNT = r"(?:len\([^{}]*\)(?: [-+] \d)?|(?:\w+\.)*n_\w+|[dnqk])(?::,)?"
NOUN = (
    "arrivals|attributes|blocks|bytes|cells|classes|columns|cores|costs|decisions|features|folds|"
    "generations|groups|labels|methods|models|names|others|pairs|partitions|problems|rows|runs|"
    "samples|selections|selectors|steps|subsets|tasks|units|values|workers"
)
BARE = re.compile(rf"{{{COUNT}}} (?:[a-z]+ )?(?:{NOUN})\b")
BARE_ON_PAGES = re.compile(rf"}}}} (?:[a-z]+ )?(?:{NOUN})\b")

# In these the count is above one, or scikit-learn's checks look for the sentence as it is.
KNOWN = {
    "classifiers/base.py": ["{source.n_features} features", "{self.n_features_in_} features"],
    "selectors/base.py": ["{self.n_features_in_} features"],
    "graphs/principal.py": ["{d} features"],
    "jobs/rundir.py": ["{len(found)} runs"],
    "storage/readers/arff_cells.py": ["{len(table.values)} values"],
}
KNOWN_ON_PAGES = {
    "report/templates/comparison.html": ["}} runs"],
    "report/templates/sections/alike.html": ["}} selectors"],
}


@pytest.mark.parametrize(
    ("ending", "bare", "known"),
    [("py", BARE, KNOWN), ("html", BARE_ON_PAGES, KNOWN_ON_PAGES)],
    ids=["code", "pages"],
)
def test_counts_are_said_with_their_noun(
    ending: str, bare: re.Pattern[str], known: dict[str, list[str]]
) -> None:
    root = Path(str(files("mlfs_dask")))
    found = {
        path.relative_to(root).as_posix(): bare.findall(path.read_text("utf-8"))
        for path in root.rglob(f"*.{ending}")
    }
    assert {path: hits for path, hits in found.items() if hits} == known


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda X, Y: SPEC().fit(X[:1], Y), "X has 1 row, Y has 6"),
        (lambda X, Y: SPEC(n_features_to_select=3).fit(X[:, :1], Y), r"X has 1 feature\n"),
        (lambda X, Y: NRSStream(arrival=[4]).fit(X[:, :1], Y), "X has 1 feature, numbered"),
    ],
)
def test_one_is_said_in_the_singular(act: Callable[[Any, Any], Any], message: str) -> None:
    X = np.arange(24.0).reshape(6, 4)
    Y = np.array([[0, 1], [1, 0]] * 3)
    with pytest.raises(InputError, match=message):
        act(X, Y)

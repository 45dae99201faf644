"""What streams measure before it is asked for: the same decisions, in fewer readings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from mlfs_dask.graphs import dependency, kept_distances
from mlfs_dask.selectors import online_answers
from mlfs_dask.selectors.nrs_stream import NRSStream
from mlfs_dask.selectors.ofs_a3m import OFSA3M
from reference.tables import kinds, streams


@given(
    case=streams(),
    method=st.sampled_from([NRSStream, OFSA3M]),
    likely=st.sampled_from([0.0, 0.6]),
    few=st.sampled_from([0, 4]),
    data=st.data(),
)
def test_what_is_measured_ahead_changes_nothing(case, method, likely, few, data):
    X, Y, nominal = case
    order = data.draw(st.permutations(range(X.shape[1])))
    selector = method(arrival=order, max_features=data.draw(st.sampled_from([None, 3])))
    expected = selector.fit(X, Y, feature_kind=kinds(X, nominal)).selection_record()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online_answers, "_LIKELY", likely)
        patch.setattr(kept_distances, "_CACHE_BYTES", -1)
        patch.setattr(dependency, "_SMALL", 0)
        patch.setattr(dependency, "_LOOK_COST", few)
        ahead = clone(selector).fit(X, Y, feature_kind=kinds(X, nominal))
    assert ahead.selection_record() == expected


def test_arrivals_that_go_on_as_before_are_measured_in_one_reading(monkeypatch):
    rng = np.random.default_rng(5)
    X = (rng.random((90, 24)) < 0.5).astype(np.uint8)  # the first is the label, the others noise
    monkeypatch.setattr(kept_distances, "_CACHE_BYTES", -1)
    monkeypatch.setattr(dependency, "_LOOK_COST", 0)
    asked = []
    measure = kept_distances.KeptDistances.measure

    def counted(self, columns, spans):
        asked.append(len(spans))
        return measure(self, columns, spans)

    monkeypatch.setattr(kept_distances.KeptDistances, "measure", counted)
    fitted = NRSStream().fit(X, X[:, :1])
    assert [step["kept"] for step in fitted.path_] == [True] + [False] * 23
    assert max(asked) > 2
    assert len(asked) < 15

"""scikit-learn's own checks, and what its users do with an estimator."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import estimator_checks

from mlfs_dask.errors import InputError
from mlfs_dask.selectors.baselines import ChiSquared, MutualInformation, Variance
from mlfs_dask.selectors.laplacian import LaplacianScore
from mlfs_dask.selectors.mddm import MDDM
from mlfs_dask.selectors.mdmr import MDMR
from mlfs_dask.selectors.mllap import MLLAP
from mlfs_dask.selectors.mlnb import MLNB
from mlfs_dask.selectors.mlrelieff import MLReliefF
from mlfs_dask.selectors.nrs_cost import NRSCost
from mlfs_dask.selectors.nrs_stream import NRSStream
from mlfs_dask.selectors.ofs_a3m import OFSA3M
from mlfs_dask.selectors.pmu import PMU
from mlfs_dask.selectors.relief_wrapper import ReliefWrapper
from mlfs_dask.selectors.spec import SPEC
from mlfs_dask.selectors.spec_wrapper import SPECWrapper

# Their target is a vector of class codes 0, 1, 2; labels are columns of 0 and 1.
EXPECTED = frozenset(
    [
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_dont_overwrite_parameters",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
    ]
)


def parametrize_with_checks(estimators, **options):
    """scikit-learn's; that of 1.7 makes a generator with one check twice, which pytest refuses."""
    mark = estimator_checks.parametrize_with_checks(estimators, **options)
    names, cases = mark.args
    ids = mark.kwargs["ids"]
    by_id = {tuple(map(ids, getattr(case, "values", case))): case for case in cases}
    return pytest.mark.parametrize(names, list(by_id.values()), **mark.kwargs)


def is_expected(estimator, check):
    """Whether a check has to fail. In 1.7.0 the rows of one have two classes, which labels can be.

    Of streams it asks what they are not made for, whatever the labels.
    """
    name = check.func.__name__
    if name == MORE_FEATURES and sklearn.__version__ == "1.7.0":
        return hasattr(estimator, "partial_fit")
    return name in EXPECTED


def as_labels(y):
    """One column per class."""
    codes = np.asarray(y)
    return (codes.reshape(-1, 1) == np.unique(codes)).astype(np.uint8)


class OnClasses:
    """Takes the targets of the checks that `EXPECTED` lists, so that these run as well."""

    def fit(self, X, y=None, **kwargs):
        return super().fit(X, None if y is None else as_labels(y), **kwargs)


# Classes of this module, since the checks pickle them.
class SpecOnClasses(OnClasses, SPEC):
    pass


class MllapOnClasses(OnClasses, MLLAP):
    pass


class MlnbOnClasses(OnClasses, MLNB):
    pass


class PmuOnClasses(OnClasses, PMU):
    pass


class MdmrOnClasses(OnClasses, MDMR):
    pass


class VarianceOnClasses(OnClasses, Variance):
    pass


class ChiSquaredOnClasses(OnClasses, ChiSquared):
    pass


class MutualInformationOnClasses(OnClasses, MutualInformation):
    pass


class MddmOnClasses(OnClasses, MDDM):
    pass


class LaplacianOnClasses(OnClasses, LaplacianScore):
    pass


class MLReliefFOnClasses(MLReliefF):
    """As `SpecOnClasses`."""

    def fit(self, X, y=None, **kwargs):
        return super().fit(X, None if y is None else as_labels(y), **kwargs)


class ReliefWrapperOnClasses(ReliefWrapper):
    """As `SpecOnClasses`."""

    def fit(self, X, y=None, **kwargs):
        return super().fit(X, None if y is None else as_labels(y), **kwargs)


class SPECWrapperOnClasses(SPECWrapper):
    """As `SpecOnClasses`."""

    def fit(self, X, y=None, **kwargs):
        return super().fit(X, None if y is None else as_labels(y), **kwargs)


class NRSCostOnClasses(OnClasses, NRSCost):
    pass


class StreamOnClasses(OnClasses):
    def partial_fit(self, X, y=None, **kwargs):
        return super().partial_fit(X, None if y is None else as_labels(y), **kwargs)


class NRSStreamOnClasses(StreamOnClasses, NRSStream):
    pass


class OFSA3MOnClasses(StreamOnClasses, OFSA3M):
    pass


@parametrize_with_checks(
    [
        *(SPEC(), MLLAP(), PMU(), MDMR(), MLReliefF(), NRSCost(), NRSStream()),
        *(OFSA3M(random_state=0), MLNB(n_generations=3)),
    ]
)
def test_estimator_checks(estimator, check):
    if not is_expected(estimator, check):
        check(estimator)
        return
    # Not by marks: for these pytest looks up the source of every line of each traceback, which
    # takes longer than all the checks.
    with pytest.raises((InputError, AssertionError)):
        check(estimator)


MORE_FEATURES = "check_n_features_in_after_fitting"
BY_FEATURES = "partial_fit takes further features of the same rows, so their number may differ"
NO_NUMBERS = "objects that are no numbers are refused by InputError, which is no TypeError"


@parametrize_with_checks(
    [
        *(SpecOnClasses(), MllapOnClasses(), PmuOnClasses(), MdmrOnClasses(), MddmOnClasses()),
        *(LaplacianOnClasses(), VarianceOnClasses()),
        *(ChiSquaredOnClasses(), MutualInformationOnClasses()),
        *(MLReliefFOnClasses(), ReliefWrapperOnClasses(), SPECWrapperOnClasses()),
        *(NRSCostOnClasses(), NRSStreamOnClasses(), OFSA3MOnClasses(random_state=0)),
        MlnbOnClasses(n_generations=3),
    ],
    expected_failed_checks=lambda estimator: {
        "check_dtype_object": NO_NUMBERS,
        **({MORE_FEATURES: BY_FEATURES} if isinstance(estimator, StreamOnClasses) else {}),
    },
)
def test_estimator_checks_on_classes(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 6))
    Y = (rng.random((40, 3)) < 0.4).astype(np.uint8)
    X[:, 2] += 3 * Y[:, 0]
    return X, Y


@pytest.mark.parametrize(
    "selector",
    [
        *(SPEC(phi=2), MLLAP(), PMU(), MDMR(), MDDM(), LaplacianScore()),
        *(Variance(), MutualInformation()),
    ],
    ids=["spec", "mllap", "pmu", "mdmr", "mddm", "laplacian", "variance", "mutual-info"],
)
def test_attributes_agree_with_each_other(selector, data):
    X, Y = data
    for k, expected in ((None, 6), (1, 1), (4, 4), (6, 6), (0.4, 2), (1.0, 6)):
        fitted = clone(selector).set_params(n_features_to_select=k).fit(X, Y)
        assert fitted.support_.sum() == expected
        assert fitted.support_.tolist() == (fitted.ranking_ <= expected).tolist()
        assert sorted(fitted.order_.tolist()) == list(range(6))
        assert fitted.ranking_[fitted.order_].tolist() == list(range(1, 7))
        kept = np.flatnonzero(fitted.support_)
        np.testing.assert_array_equal(fitted.transform(X), X[:, kept])
        np.testing.assert_array_equal(fitted.transform(sp.csr_matrix(X)).toarray(), X[:, kept])


def test_a_selector_in_a_pipeline(data):
    X, Y = data
    pipeline = make_pipeline(MinMaxScaler(), SPEC(phi=2, n_features_to_select=2))
    out = pipeline.fit(X, Y).transform(X)
    assert out.shape == (40, 2)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(X), out)


def test_names_of_a_data_frame_reach_the_output(data):
    pd = pytest.importorskip("pandas", reason="pandas is no dependency")
    X, Y = data
    frame = pd.DataFrame(X, columns=[f"col {j}" for j in range(6)])
    selector = SPEC(phi=2, n_features_to_select=3).set_output(transform="pandas").fit(frame, Y)
    names = [f"col {j}" for j in np.flatnonzero(selector.support_)]
    assert selector.transform(frame).columns.tolist() == names
    assert selector.get_feature_names_out().tolist() == names


def test_dask_arrays_stay_lazy(data):
    import dask.array as da

    X, Y = data
    lazy = da.from_array(X, chunks=(7, 2))
    selector = SPEC(phi=2, n_features_to_select=2).fit(lazy, da.from_array(Y, chunks=9))
    assert selector.order_.tolist() == SPEC(phi=2).fit(X, Y).order_.tolist()
    out = selector.transform(lazy)
    assert isinstance(out, da.Array)
    np.testing.assert_array_equal(out.compute(), X[:, selector.support_])


def test_a_dataset_brings_labels_names_and_costs(data, tmp_path):
    from mlfs_dask.graphs.source import as_source
    from mlfs_dask.storage.ingest import ingest
    from mlfs_dask.testing.tables import ArrayTable

    X, Y = data
    table = ArrayTable(X, Y, feature_cost=np.arange(6.0))
    dataset = ingest(table, tmp_path / "made.zarr", tile=16)
    selector = SPEC(phi=2, n_features_to_select=2, tile=16).fit(dataset)
    assert selector.order_.tolist() == SPEC(phi=2).fit(X, Y).order_.tolist()
    kept = np.flatnonzero(selector.support_)
    assert selector.get_feature_names_out().tolist() == [f"f{j}" for j in kept]
    for rows in (dataset, as_source(dataset), X):
        np.testing.assert_array_equal(selector.transform(rows), X[:, kept])
    assert selector.selection_record()["cost"] == kept.sum()


def test_record_for_the_run_folder(data):
    X, Y = data
    X[:, 1] = 5.0
    record = SPEC(phi=2, n_features_to_select=2).fit(X, Y).selection_record()
    assert record["problems"] is None
    assert record["scores"][1] is None
    assert record["order"][-1] == 1
    assert record["support"] == sorted(record["order"][:2])
    assert record["higher_is_better"] is False
    assert record["cost"] is None
    path = MLLAP().fit(X, Y, feature_cost=np.ones(6)).selection_record()["path"]
    assert [step["step"] for step in path] == list(range(5))
    assert set(path[1]) == {"step", "feature", "score", "reason", "increase"}


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(value, data):
    X, Y = data
    X[3, 2] = value
    with pytest.raises(ValueError, match=r"infinity or a value too large: feature 2"):
        SPEC().fit(X, Y)

"""Values that no parameter takes, and extreme numbers: one InputError that names the parameter.

Extreme numbers may also give a result, which must be one without infinities and without warnings.
"""

import inspect
import typing
import warnings

import numpy as np
import pytest

from mlfs_dask import registry
from mlfs_dask.errors import InputError, MlfsWarning

rng = np.random.default_rng(0)
X = rng.random((8, 4))
Y = (rng.random((8, 3)) < 0.5).astype(np.uint8)


class Stranger:
    """An object that no method knows."""

    def __repr__(self):
        return "a stranger"


ODD = [
    np.array([1.5, 2.5]),
    np.array([[0.5, 1.0], [1.0, 2.0]]),
    np.array(["none", None], dtype=object),
    np.array(-1),
    "odd",
    b"odd",
    [[1], [2, [3]]],
    {"odd"},
    Stranger(),
    len,
    2j,
    -1,
    -(10**30),
    10**400,
    float("nan"),
]
# They take any number; the largest are refused where they are used.
SEEDS = {"random_state"}

METHODS = [(kind, name) for kind in ("selectors", "classifiers") for name in registry.names(kind)]
NAMES = [f"{kind}-{name}" for kind, name in METHODS]


def refused(name, call):
    """What is wrong with what was raised, if anything."""
    try:
        call()
    except InputError as error:
        return None if str(error).startswith(name) else f"does not name it: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "taken"


@pytest.mark.parametrize(("kind", "name"), METHODS, ids=NAMES)
def test_odd_values_are_refused_by_name(kind, name):
    method = registry.load(kind, name)
    arguments = list(inspect.signature(method.fit).parameters)[3:]
    wrong = []
    for odd in ODD:
        for parameter in inspect.signature(method).parameters:
            if parameter in SEEDS and isinstance(odd, int) and odd > 0:
                continue
            made = method(**{parameter: odd})
            said = refused(parameter, lambda made=made: made.fit(X, Y))
            wrong += [f"{parameter} = {odd!r:.40}: {said}"] if said else []
        for argument in arguments:
            given = {argument: odd}
            said = refused(argument, lambda given=given: method().fit(X, Y, **given))
            wrong += [f"fit({argument}={odd!r:.40}): {said}"] if said else []
    assert not wrong, "\n".join(wrong)


EXTREME = [5e-324, 1e-320, 1e-160, 1e-17, np.nextafter(1.0, 0.0), 1e160, 1e308]
# In which parameters count that others leave aside, and fewer rounds.
OPTIONS = {
    "selectors-spec": [{"similarity": "rbf-labels"}, {"similarity": "rbf-features", "phi": 2}],
    "selectors-mddm": [{}, {"constraint": "proj", "normalize": "none"}],
    "selectors-nrs-stream": [{"n_iter": 3}],
    "selectors-mlnb": [{"n_generations": 2, "n_individuals": 4, "n_folds": 2}],
}


def takes_fractions(method, parameter):
    """Whether a parameter of a method is a number, or also one."""
    hint = typing.get_type_hints(method.__init__)[parameter]
    return float in (hint, *typing.get_args(hint))


def unusual(method, options, rows, labels, costs):
    """What is unusual about what a method makes of extreme numbers, if anything."""
    made = method(**options)
    if not hasattr(made, "predict"):
        made.fit(rows, labels, feature_cost=costs)
        orders = np.sort(np.atleast_2d(made.order_))  # wrappers have one for each problem
        return None if (orders == np.arange(5)).all() else "no order"
    shown = made.fit(rows, labels).predict_proba(rows)
    return None if ((shown >= 0) & (shown <= 1)).all() else "probabilities that are none"


@pytest.mark.parametrize(("kind", "name"), METHODS, ids=NAMES)
def test_extreme_numbers_give_a_result_or_are_refused_by_name(kind, name):
    method = registry.load(kind, name)
    drawn = np.random.default_rng(1)
    rows = np.round(8 * drawn.random((40, 5))) / 8
    rows[:, 0], rows[:, 4], rows[3] = rows[:, 0] > 0.5, 2.0, rows[7]
    labels = (drawn.random((40, 2)) < 0.4).astype(np.uint8)
    wrong = []
    for options in OPTIONS.get(f"{kind}-{name}", [{}]):
        for parameter in inspect.signature(method).parameters:
            for value in EXTREME if takes_fractions(method, parameter) else []:
                given = {**options, parameter: value}
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        warnings.simplefilter("ignore", MlfsWarning)
                        said = unusual(method, given, rows, labels, np.arange(1.0, 6.0))
                except InputError as error:
                    said = None if str(error).startswith(parameter) else f"refused: {error}"
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                wrong += [f"{given}: {said}"] if said else []
    assert not wrong, "\n".join(wrong)

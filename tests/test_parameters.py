"""Values that no parameter of any method takes: one InputError each, which names the parameter."""

import inspect

import numpy as np
import pytest

from mlfs_dask import registry
from mlfs_dask.errors import InputError

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

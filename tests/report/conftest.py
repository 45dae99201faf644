"""Where the runs of the reports lie."""

import pytest


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"

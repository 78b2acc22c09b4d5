"""A host of its own for each test, with fixed random numbers."""

import pytest
import tenon


@pytest.fixture(autouse=True)
def host():
    with tenon.Host(threads=2, seed=5) as made:
        yield made

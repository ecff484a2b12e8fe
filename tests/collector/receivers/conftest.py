"""One collector for each module of receiver tests, its store emptied before each test."""

import pytest

from collector_kit import Store, collector


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    store = Store()
    with collector(tmp_path_factory.mktemp("home"), store) as running:
        yield running, store


@pytest.fixture
def running(shared):
    shared[1].batches.clear()
    shared[1].hook = lambda _: None
    return shared[0]


@pytest.fixture
def store(shared, running):
    return shared[1]

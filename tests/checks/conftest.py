"""The sandbox kinds that work on this machine."""

import pytest

from cakebook.checks.sandbox import KINDS, Sandbox, probe


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found = probe(request.param)
    if found is None:
        pytest.skip(f"{request.param} does not work here: not installed, or no user namespaces")
    return found

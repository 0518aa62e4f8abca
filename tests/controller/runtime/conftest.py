"""A cluster for what runs on one."""

from __future__ import annotations

import pytest

from support.rigs.managed_sandbox import ManagedSandbox


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox without our CRDs."""
    return ManagedSandbox()

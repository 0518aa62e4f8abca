from __future__ import annotations

import pytest

from handloop_sandbox.kinds import defaults
from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.rules.validation import validate
from support.builders.misfits import STORAGE_MISFITS, Misfit

_RESOURCES = {(found.api_version, found.plural): found for found in builtin_resources()}


@pytest.mark.parametrize("misfit", STORAGE_MISFITS)
def test_each_misfit_is_found(misfit: Misfit) -> None:
    """In the words of a server."""
    resource = _RESOURCES[misfit.api_version, misfit.plural]
    found = validate(resource, defaults.default_object(resource, misfit.made()), None)
    told = sorted(f"{cause.field}: {cause.message}" for cause in found)
    assert len(told) == len(misfit.complaints), told
    assert all(map(str.startswith, told, sorted(misfit.complaints))), told

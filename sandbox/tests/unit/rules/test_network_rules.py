from __future__ import annotations

import pytest

from support.builders.misfits import NETWORK_MISFITS, Misfit


@pytest.mark.parametrize("misfit", NETWORK_MISFITS)
def test_each_misfit_is_found(misfit: Misfit) -> None:
    """In the words of a server."""
    misfit.check_rules()

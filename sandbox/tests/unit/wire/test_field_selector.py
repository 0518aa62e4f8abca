from __future__ import annotations

import pytest

from handloop_sandbox.kinds.kinds import builtin_resources
from handloop_sandbox.wire import field_selector
from handloop_sandbox.wire.status import StatusError


def test_a_selector_is_refused_with_a_400() -> None:
    """For its grammar, and for a field that the kind does not offer."""
    pods = next(each for each in builtin_resources() if each.plural == "pods")
    field_selector.check_supported(field_selector.parse("spec.nodeName=a"), pods)
    with pytest.raises(StatusError, match="field label not supported") as raised:
        field_selector.check_supported(field_selector.parse("spec.x=1"), pods)
    assert raised.value.code == 400
    with pytest.raises(StatusError, match="can't understand 'spec'") as raised:
        field_selector.parse("spec")
    assert raised.value.code == 400

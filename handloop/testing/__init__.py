"""
A kit for testing controllers, in addition to the pytest fixtures `sandbox` and `operator`.

    eventually          wait for something that sends no event
    assert_quiet        nothing is being written any more
    assert_kstatus      what kstatus says about an object, as kstatus(obj) returns it
    assert_rbac_exact   the declared access equals the used access
    assert_converts     no version of a kind loses what another has
    FakeClock           time that the test moves
    caches, FakeRecorder, RecordedWrites    parts of a Context, for a reconciler without a server

The modules running_sandbox and running_operator have the fixtures as context managers, managed_sandbox has a
sandbox without sockets, and sharing has replicas that share slots. They need the sandbox extra; the names
above do not.
"""

from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.testing.conversion_proof import assert_converts
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from handloop.testing.filled_caches import FilledCaches, caches
from handloop.testing.kstatus import assert_kstatus, kstatus
from handloop.testing.quiet import assert_quiet
from handloop.testing.recorded_writes import RecordedWrites
from handloop.testing.request_attributes import RequestAttributes
from handloop.testing.role_grants import assert_rbac_exact

__all__ = [
    "FakeClock",
    "FakeRecorder",
    "FilledCaches",
    "RecordedWrites",
    "RequestAttributes",
    "assert_converts",
    "assert_kstatus",
    "assert_quiet",
    "assert_rbac_exact",
    "caches",
    "eventually",
    "kstatus",
]

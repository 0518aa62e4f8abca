"""
A kit for testing controllers, in addition to the pytest fixtures `sandbox` and `operator`.

    eventually          wait for something that sends no event
    assert_quiet        check that the controller has stopped writing
    assert_kstatus      check an object's state by the rules of kstatus; kstatus(obj) returns it
    assert_rbac_exact   check that the declared access equals the used access
    assert_converts     check that conversions between a kind's versions lose no data
    FakeClock           a clock that the test advances
    caches, FakeRecorder, RecordedWrites    parts of a Context, for a reconciler without a server

The modules running_sandbox and running_operator offer the fixtures as context managers, managed_sandbox
offers a sandbox without sockets, and sharing runs several replicas that divide the objects among them. These
modules need the sandbox extra; the names above do not.
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

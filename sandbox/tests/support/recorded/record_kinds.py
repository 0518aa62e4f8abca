"""
Ask a real kube-apiserver once more for everything in sandbox/tests/recorded.

Run as `TEST_KUBECONFIG=... PYTHONPATH=tests:sandbox/tests python -m support.recorded.record_kinds`.
"""

from __future__ import annotations

from support.builders.thing import DEFINITION
from support.recorded import apply_cases, default_cases, mutants, object_cases, patch_cases
from support.recorded.recordings import keep
from support.servers.real_server import RealServer, real_server


def record(server: RealServer) -> None:
    """Write every recording."""
    keep("defaults", default_cases.ask(server))
    keep("creations", mutants.ask_create(server))
    keep("patches", patch_cases.ask(server, seed=1, count=200))
    server.define(DEFINITION)
    for plural in apply_cases.RESOURCES:
        keep(f"apply-{plural}", apply_cases.ask(server, plural, seed=1, stories=25))
    object_cases.create_samples(server)
    try:
        keep("objects", object_cases.ask(server))
        keep("updates", mutants.ask_update(server))
    finally:
        object_cases.delete_samples(server)


if __name__ == "__main__":
    with real_server() as found:
        record(found)

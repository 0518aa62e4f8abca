"""Other people's clients on a sandbox of their own, found by its kubeconfig as any cluster is."""

from __future__ import annotations

from handloop.pytest_plugin import sandbox

__all__ = ["sandbox"]

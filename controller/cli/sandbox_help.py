"""What `sandbox --help` says about how far the sandbox can be trusted."""

from __future__ import annotations

_INDENT = "  "


def sandbox_differences() -> str:
    """The sandbox's own list of where it is not like a cluster."""
    # a controller in a cluster does without the package
    from handloop.sandbox.differences import bullets  # noqa: PLC0415

    return f"\nwhere it is not like a kube-apiserver with its controllers:\n{bullets(_INDENT, 100)}"

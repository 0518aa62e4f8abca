"""Every test runs under the checks of the session."""

from __future__ import annotations

pytest_plugins = ["support.checks.session"]

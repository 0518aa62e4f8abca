"""Every test runs under the checks of the session."""

from __future__ import annotations

import signal

pytest_plugins = ["support.checks.session"]

# a shell that starts tests in the background has them ignore ^C, and so would each program that they start
signal.signal(signal.SIGINT, signal.default_int_handler)

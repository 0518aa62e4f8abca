"""
Runs a sandbox in its own process, as a server to be measured.

The script prints the kubeconfig as one JSON string, and serves until its standard input is closed. The
sandbox's controllers do not run, so that only the API is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from handloop_sandbox.server import Sandbox


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tls", action="store_true")
    options = parser.parse_args()
    with Sandbox(controllers=(), history_size=20_000, tls=options.tls) as sandbox:
        print(json.dumps(sandbox.kubeconfig_text()), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()

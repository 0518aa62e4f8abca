"""When a process traces: only where somebody has set a provider."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def started(code: str, **environment: str) -> tuple[str, str]:
    """What a new interpreter prints: of the modules that it has loaded, and of warnings."""
    end = "import sys; print(any(name.startswith('opentelemetry') for name in sys.modules), TRACING.on)"
    head = (
        f"import logging; logging.basicConfig(); from handloop.seams.tracer_provider import *\n{code}\n{end}"
    )
    done = subprocess.run(
        [sys.executable, "-c", head], capture_output=True, text=True, cwd=ROOT, env=environment, check=True
    )
    return done.stdout.strip(), done.stderr.strip()


SET = "from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider\n"
GONE = "import sys; sys.modules['opentelemetry'] = None\n"


@pytest.mark.parametrize(
    ("code", "environment", "state", "said"),
    [
        ("import handloop; handloop.Manager; start_tracing()", {}, "False False", ""),
        ("start_tracing()", {"OTEL_TRACES_EXPORTER": "none"}, "False False", ""),
        ("import opentelemetry.trace; start_tracing()", {}, "True False", ""),
        (f"{SET}trace.set_tracer_provider(TracerProvider()); start_tracing()", {}, "True True", ""),
        (
            f"{SET}trace.set_tracer_provider(TracerProvider()); start_tracing()",
            {"OTEL_SDK_DISABLED": "true"},
            "True False",
            "",
        ),
        (
            "start_tracing()",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"},
            "True False",
            "use opentelemetry-instrument to set a tracer provider asked='OTEL_EXPORTER_OTLP_ENDPOINT'",
        ),
        (
            f"{GONE}start_tracing()",
            {"OTEL_TRACES_EXPORTER": "otlp"},
            "True False",
            "pip install 'handloop[otel]' asked='OTEL_TRACES_EXPORTER'",
        ),
    ],
)
def test_a_process_traces_where_a_provider_is_set(
    code: str, environment: dict[str, str], state: str, said: str
) -> None:
    """
    The interpreter says whether it has loaded anything of OpenTelemetry, and whether it traces.

    Without a provider and variables nothing is loaded; variables alone are told, as their spans go nowhere.
    """
    out, errors = started(code, **environment)
    assert out == state
    assert (said in errors) if said else not errors

"""Starts tracing if OpenTelemetry is set up in this process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from handloop.seams.logs import get_logger
from handloop.seams.tracing import TRACING

log = get_logger("tracing")

_ASKED: Final = (
    "OTEL_TRACES_EXPORTER",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_PYTHON_TRACER_PROVIDER",
)


def start_tracing(environment: Mapping[str, str] = os.environ) -> None:
    """
    Start tracing if OpenTelemetry has a tracer provider in this process. A manager calls this when it runs.

    Without a provider, and without environment variables that request one, nothing is imported. If the
    variables request tracing, but the provider or the package is missing, a warning says that no spans are
    sent.
    """
    asked = next((name for name in _ASKED if environment.get(name, "none") != "none"), "")
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    if not asked and "opentelemetry.trace" not in sys.modules:
        return
    try:
        from handloop.seams.otel_tracer import new_tracer  # noqa: PLC0415 - it is an extra that few have
    except ImportError as error:
        log.warning("No spans are sent: pip install 'handloop[otel]'", asked=asked, err=str(error))
        return
    tracer = new_tracer()
    if tracer is not None:
        TRACING.start(tracer)
    elif asked:
        log.warning("No spans are sent: use opentelemetry-instrument to set a tracer provider", asked=asked)

"""What is read of others' traces, and the end of tracing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.seams.tracing import NO_TRACER, SpanContext, Tracing, Work, annotated, parse_traceparent
from support.rigs.traced import OTHERS, THEIRS

TRACE, SPAN = THEIRS.trace_id, THEIRS.span_id


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"00-{TRACE}-{SPAN}-01", THEIRS),
        (f"00-{TRACE}-{SPAN}-00", THEIRS._replace(sampled=False)),
        (f"00-{TRACE}-{SPAN}-03", THEIRS),
        (f"cc-{TRACE}-{SPAN}-01", THEIRS),
        (f"cc-{TRACE}-{SPAN}-01-what-comes", THEIRS),
        (f"cc-{TRACE}-{SPAN}-01.what-comes", None),
        (f"00-{TRACE}-{SPAN}-01-what-comes", None),
        (f"00-{TRACE}-{SPAN}-01-", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE[1:]}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-1", None),
        (f" 00-{TRACE}-{SPAN}-01", None),
        (f"00-{TRACE}-{SPAN}-01\n", None),
        (f"00-{TRACE}-{SPAN}-0\u0661", None),
        (f"cc-{TRACE}-{SPAN}-01-{'x' * 500}", None),
        ("", None),
    ],
)
def test_a_traceparent_is_read_as_the_w3c_says(text: str, found: SpanContext | None) -> None:
    """Whoever may write an object may write anything there: what is not exactly a context is none."""
    assert parse_traceparent(text) == found


@given(st.text() | st.from_regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}.*", fullmatch=True))
def test_what_is_read_can_be_written(text: str) -> None:
    """Nothing raises, and what goes on is a text of ours."""
    found = parse_traceparent(text)
    assert found is None or parse_traceparent(str(found)) == found


def test_the_name_of_the_proposal_comes_first() -> None:
    """tracing.k8s.io/traceparent, and traceparent where that is missing or no context."""
    proposed, plain = {"tracing.k8s.io/traceparent": str(THEIRS)}, {"traceparent": str(OTHERS)}
    assert annotated(plain | proposed) == THEIRS
    assert annotated(plain | {"tracing.k8s.io/traceparent": "rubbish"}) == OTHERS
    assert annotated({"other": str(THEIRS)}) is None


def test_a_thread_that_comes_after_the_end_traces_nothing() -> None:
    """It looked at `on` before."""
    tracing = Tracing()
    tracing.start(NO_TRACER)
    tracing.stop()
    headers: dict[str, str] = {}
    with tracing.tracer.reconcile(Work("reconcile a", {})) as span:
        with tracing.tracer.request("get foos", {}, headers):
            span.tell({}, failed="why")
        assert (tracing.on, tracing.exemplar(), tracing.ids(), headers) == (False, None, {}, {})

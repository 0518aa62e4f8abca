"""The kind Sample."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handloop import Kind, PrinterColumn


class Sample(Kind, group="example.com", version="v1alpha1"):
    """A text in a top-level field. The kind has no spec and no status."""

    printer_columns = (PrinterColumn(name="Test String", type="string", json_path=".testString"),)

    test_string: Annotated[str, Meta(max_length=100)] = "hello"

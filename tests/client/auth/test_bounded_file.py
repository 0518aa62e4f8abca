"""Files that a configuration names."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from handloop.client.auth.bounded_file import FILE_BYTES, read_bounded, read_file
from handloop.testing.eventually import eventually as until
from support.checks.threads import Background


@pytest.fixture
def fifo(tmp_path: Path) -> str:
    """A named pipe without a writer."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return str(path)


@contextmanager
def piped() -> Iterator[tuple[str, int]]:
    """A pipe as `<(...)` gives it: the path of its reading end, and its writing end."""
    reader, writer = os.pipe()
    try:
        yield f"/dev/fd/{reader}", writer
    finally:
        os.close(reader)


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    """Up to the limit, through symbolic links, as the kubelet makes them."""
    (tmp_path / "data").write_bytes(b"x" * FILE_BYTES)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert len(read_file(str(tmp_path / "link"))) == FILE_BYTES
    assert len(read_bounded(str(tmp_path / "link"), seconds=20, stop=threading.Event())) == FILE_BYTES


@pytest.mark.parametrize("name", ["more", "/dev/zero"])
def test_more_than_the_limit_is_refused(tmp_path: Path, name: str) -> None:
    """A file without end does not fill the memory."""
    (tmp_path / "more").write_bytes(b"x" * (FILE_BYTES + 1))
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_bounded(str(tmp_path / name), seconds=20, stop=threading.Event())


@pytest.mark.parametrize("name", ["fifo", "/dev/zero"])
def test_what_is_read_again_and_again_must_be_a_regular_file(tmp_path: Path, fifo: str, name: str) -> None:
    """A token or certificate that is a pipe is refused at once: it would hold up requests."""
    assert fifo == str(tmp_path / "fifo")
    reading = Background(lambda: read_file(str(tmp_path / name)))
    with pytest.raises(OSError, match="not a regular file"):
        reading.result()


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    """The error is the system's own."""
    for read in (read_file, lambda path: read_bounded(path, seconds=1, stop=threading.Event())):
        with pytest.raises(FileNotFoundError):
            read(str(tmp_path / "missing"))
    with pytest.raises(IsADirectoryError):
        read_bounded(str(tmp_path), seconds=1, stop=threading.Event())


def test_a_pipe_is_read_to_its_end() -> None:
    """A process substitution: the parts come when they come, and the end with the writer's."""
    with piped() as (path, writer):
        reading = Background(lambda: read_bounded(path, seconds=20, stop=threading.Event()))
        for part in (b"current-", b"context: ", b"a"):
            os.write(writer, part)
        os.close(writer)
        assert reading.result() == b"current-context: a"


def test_a_pipe_that_was_written_and_left_is_read() -> None:
    """`cat` of a small file has ended before we look."""
    with piped() as (path, writer):
        os.write(writer, b"a: b")
        os.close(writer)
        assert read_bounded(path, seconds=20, stop=threading.Event()) == b"a: b"


def test_a_named_pipe_waits_for_its_writer(fifo: str) -> None:
    """The end of a pipe without a writer yet is not its end."""
    reading = Background(lambda: read_bounded(fifo, seconds=20, stop=threading.Event()))

    def opened() -> int:
        with suppress(OSError):  # before a reader comes
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        return 0

    writer = until(opened, "read", seconds=10)
    os.write(writer, b"a: b")
    os.close(writer)
    assert reading.result() == b"a: b"


def test_a_pipe_has_a_deadline(fifo: str) -> None:
    """No writer, or a writer that does not end."""
    with pytest.raises(TimeoutError, match=r"it did not end within 0.1 s"):
        read_bounded(fifo, seconds=0.1, stop=threading.Event())
    with piped() as (path, writer):
        os.write(writer, b"a")
        with pytest.raises(TimeoutError):
            read_bounded(path, seconds=0.1, stop=threading.Event())
        os.close(writer)


def test_a_stop_ends_the_wait(tmp_path: Path, fifo: str) -> None:
    """Whoever waits for a pipe can be stopped, long before the deadline; a file on a disk is read anyway."""
    stop = threading.Event()
    reading = Background(lambda: read_bounded(fifo, seconds=1000, stop=stop))
    stop.set()
    with pytest.raises(InterruptedError, match="stopped"):
        reading.result()
    (tmp_path / "file").write_bytes(b"x")
    assert read_bounded(str(tmp_path / "file"), seconds=0, stop=stop) == b"x"

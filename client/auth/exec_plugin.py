"""
Credentials from an exec plugin, which is a program that prints an ExecCredential.

A plugin has a deadline, and its output is limited. Usually, the plugin runs in a process group of its own. At
the deadline, when stop is set and when our process ends, we kill this group: the plugin and all processes
that it started. A plugin that can prompt on a terminal runs in our group instead, because no other group can
read from the terminal. In that case, Ctrl-C interrupts both the plugin and our process, and a deadline kills
only the plugin.
Follows: client-go plugin/pkg/client/auth/exec/exec.go, differs: a plugin has a deadline and limited output,
and ends at a stop; it runs in the kubeconfig's folder, and receives the cluster entry as in the kubeconfig.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from handloop.apis.decoders import converted, decoder_of
from handloop.apis.grammar.times import parse_time
from handloop.client.auth.credentials import FETCH_SECONDS, Fetched
from handloop.client.auth.tls import KeyPair
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.locks import new_lock

_OUTPUT_BYTES: Final = 1 << 20
_COMPLAINT_CHARACTERS: Final = 2000
_LOOK_SECONDS: Final = 0.05
# How long a plugin may still run after the stop event, because some requests are sent after a stop. It is
# shorter than the time that a process has left after losing its lease.
_STOP_SECONDS: Final = 0.5
_STOPS: Final = "ended, as the program stops"
_STDIN: Final = 0
_STDERR: Final = 2
_GO_ZERO: Final = parse_time("0001-01-01T00:00:00Z")
_EXTENSION: Final = "client.authentication.k8s.io/exec"


class _PluginError(Exception):
    """A plugin failed to return credentials. The message contains no part of its output."""


class _Variable(msgspec.Struct):
    name: str
    value: str | None = None


class _Plugin(msgspec.Struct, rename="camel"):
    """A user's `exec` section."""

    api_version: str
    command: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    interactive_mode: str | None = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    status: _Status | None = None


def fetch_from_plugin(
    section: Mapping[str, Any],
    cluster: Mapping[str, Any],
    folder: str,
    *,
    stop: threading.Event,
    seconds: float = FETCH_SECONDS,
) -> Fetched:
    """
    Run an exec plugin once.

    Args: section is the user's `exec`. cluster is the cluster's entry, or {} if the plugin did not ask for
    it. Relative paths are resolved against folder. Half a second after stop is set, the plugin is killed.
    Raises: ConfigError that names the program, and includes the kubeconfig's install hint if the program does
    not exist.
    Blocks: until the program has ended, for at most the given seconds.
    """
    command = str(section.get("command", ""))
    hint = str(section.get("installHint") or "").strip()
    _require_program(command, folder, hint)
    try:
        plugin = converted(dict(section), _Plugin)
        return _fetched(_run(plugin, cluster, folder, seconds, stop), plugin.api_version)
    except (_PluginError, OSError, msgspec.ValidationError) as error:
        raise ConfigError(
            ConfigProblem.EXEC_PLUGIN,
            f'exec plugin "{command}" failed',
            cause=str(error),
            fix=f"run `{command}` by hand; you may have to log in again",
            plugin=command,
            install_hint=hint,
        ) from error


def _require_program(command: str, folder: str, hint: str) -> None:
    import shutil  # noqa: PLC0415 - it loads five archive formats

    found = shutil.which(str(Path(folder, command)) if "/" in command else command)
    if not command or found is None:
        raise ConfigError(
            ConfigProblem.EXEC_PLUGIN,
            f'exec plugin "{command}" not found' + ("" if "/" in command else " in PATH"),
            fix=hint or f"install {command or 'the plugin'}, or use a kubeconfig that does not need it",
            plugin=command,
            install_hint=hint,
        )


def _run(
    plugin: _Plugin, cluster: Mapping[str, Any], folder: str, seconds: float, stop: threading.Event
) -> bytes:
    """Return the plugin's output."""
    asks, began_at = _may_ask(plugin), time.monotonic()
    child = _PluginProcess(group=not asks)
    # Register this before the plugin starts, because an exiting interpreter does not wait for this thread.
    atexit.register(child.end)
    try:
        with child.start(
            [plugin.command, *(plugin.args or ())], folder, _environment(plugin, cluster, asks=asks)
        ) as process:
            try:
                output, complaint = _written(process, began_at, seconds, stop)
            finally:
                child.end()
    finally:
        atexit.unregister(child.end)
    if process.returncode:
        text = complaint.decode("utf-8", "backslashreplace").strip()[:_COMPLAINT_CHARACTERS]
        raise _PluginError(f"exit code {process.returncode}" + (f": {text}" if text else ""))
    return output


def _may_ask(plugin: _Plugin) -> bool:
    """Return whether the plugin may read from our terminal."""
    has_terminal = os.isatty(_STDIN)
    if plugin.interactive_mode == "Always" and not has_terminal:
        raise _PluginError("it needs a terminal (interactiveMode: Always), and there is none")
    return has_terminal and plugin.interactive_mode != "Never"


def _environment(plugin: _Plugin, cluster: Mapping[str, Any], *, asks: bool) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": asks}
    if cluster:
        extensions = cluster.get("extensions") or ()
        own = [each.get("extension") for each in extensions if each.get("name") == _EXTENSION]
        asked = {key: value for key, value in cluster.items() if key != "extensions"}
        spec["cluster"] = {**asked, **({"config": own[0]} if own else {})}
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    added = {variable.name: variable.value or "" for variable in plugin.env or ()}
    return {**os.environ, **added, "KUBERNETES_EXEC_INFO": json.dumps(info, default=str)}


class _PluginProcess:
    """
    The plugin's process.

    Threads: used by the thread that runs the plugin, and by the main thread when the interpreter exits.
    """

    def __init__(self, *, group: bool) -> None:
        self._group = group
        self._lock = new_lock("_PluginProcess._lock", 95)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def start(
        self, command: list[str], folder: str, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """
        Start it.

        Raises: _PluginError after `end`.
        """
        # A concurrent end() waits here until a process exists.
        with self._lock:
            if self._is_over:
                raise _PluginError(_STOPS)
            self._process = subprocess.Popen(  # noqa: S603 - the kubeconfig's program, run without a shell
                command,
                stdin=subprocess.DEVNULL if self._group else None,
                stdout=subprocess.PIPE,
                # What a plugin writes to stderr is for people, such as a code to type into a browser.
                stderr=None if os.isatty(_STDERR) else subprocess.PIPE,
                cwd=folder or None,
                env=environment,
                process_group=0 if self._group else None,
            )
            return self._process

    def end(self) -> None:
        """Kill the process if it is still running, and prevent a later start."""
        with self._lock:
            self._is_over = True
            if self._process is None:
                return
            if self._process.poll() is None:
                with suppress(ProcessLookupError):
                    # The process has not been reaped yet, so no other process can have its PID.
                    os.killpg(self._process.pid, signal.SIGKILL) if self._group else self._process.kill()
            self._process.wait()


def _written(
    process: subprocess.Popen[bytes], began_at: float, seconds: float, stop: threading.Event
) -> tuple[bytes, bytes]:
    """
    Read until the plugin ends, not until its pipes are closed: its child processes may hold the pipes open.

    Returns: its output and, unless stderr is a terminal, its error output.
    Raises: _PluginError if it takes too long or writes too much.
    """
    output, complaint = bytearray(), bytearray()
    stopped_at = math.inf
    with selectors.DefaultSelector() as selector:
        for stream, text in ((process.stdout, output), (process.stderr, complaint)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, text)
        while True:
            # Check this first. A read is known to be the last one only if the plugin had ended before it.
            has_ended = process.poll() is not None
            ready = selector.select(0 if has_ended else _LOOK_SECONDS)
            for key, _ in ready:
                if not _read_block(key.fd, key.data):
                    selector.unregister(key.fileobj)
            if has_ended and not ready:
                return bytes(output), bytes(complaint)
            now = time.monotonic()
            if stop.is_set():
                stopped_at = min(stopped_at, now)
            if now > stopped_at + _STOP_SECONDS:
                raise _PluginError(_STOPS)
            if now > began_at + seconds:
                raise _PluginError(f"no answer in {seconds:g} s, so it was stopped")


def _read_block(descriptor: int, text: bytearray) -> bool:
    """Append the available bytes to text. Returns: whether more may follow."""
    block = os.read(descriptor, _OUTPUT_BYTES)
    text += block
    if len(text) > _OUTPUT_BYTES:
        raise _PluginError(f"wrote more than {_OUTPUT_BYTES >> 20} MiB, so it was stopped")
    return bool(block)


def _fetched(output: bytes, api_version: str) -> Fetched:
    try:
        answer = decoder_of(_ExecCredential).decode(output)
    except (ValueError, RecursionError) as error:  # a token in other bytes is a UnicodeDecodeError
        raise _PluginError(f"its answer is not an ExecCredential: {error}") from error
    if answer.api_version != api_version:
        raise _PluginError(f"answered with apiVersion {answer.api_version}, not {api_version}")
    status = answer.status or _Status()
    token, certificate, key = status.token, status.client_certificate_data, status.client_key_data
    if token and not (token.isascii() and token.isprintable()):
        raise _PluginError("answered with a token that is not valid in a header")
    if bool(certificate) != bool(key):
        raise _PluginError("answered with half a key pair")
    if not token and not certificate:
        raise _PluginError("answered without a token or client certificate")
    return Fetched(
        authorization=f"Bearer {token}" if token else "",
        key_pair=KeyPair(certificate.encode(), key.encode()) if certificate and key else None,
        expires_at=_expiry(status.expiration_timestamp),
    )


def _expiry(timestamp: str | None) -> float | None:
    if timestamp is None:
        return None
    try:
        expires_at = parse_time(timestamp)
    except ValueError as error:
        raise _PluginError(f'answered with a bad expirationTimestamp: "{timestamp}"') from error
    # Go programs write this zero time if there is no expiry.
    return None if expires_at == _GO_ZERO else expires_at

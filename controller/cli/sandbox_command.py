"""`sandbox` and `--sandbox`: run the built-in API server, either alone or with the controllers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Final, TextIO

from handloop.client.auth.credentials import StaticCredentials
from handloop.client.auth.tls import TLSOptions
from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import ClientError, ConfigError, ConfigProblem
from handloop.client.server_url import shown_server
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.connection_problems import config_problem
from handloop.controller.cli.declarations import declared_kinds
from handloop.controller.cli.extensions import extension
from handloop.controller.cli.logs import tell
from handloop.controller.cli.operator import Setup, shown_path
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_OK, port_in_use
from handloop.controller.cli.terminal import show
from handloop.controller.cli.webhook import definition_of
from handloop.controller.runtime.serving.listening import ListenError, listen_error

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ANSWER_SECONDS: Final = 2.0
"""The longest wait for an answer from a server on this machine."""


@contextmanager
def running_sandbox(options: Options) -> Iterator[Path]:
    """
    Run a sandbox until the context ends. The CRDs are installed unless --bare is set.

    Returns: the path of the kubeconfig, which is deleted at the end.
    Raises: ListenError if the port is in use; ConfigError if the kubeconfig cannot be written or names a
    running server, or if no certificate can be created.
    """
    _refuse_a_kubeconfig_in_use(options.sandbox_kubeconfig)
    program = extension("sandbox")
    address, port = options.sandbox_address, options.sandbox_port
    try:
        sandbox = program.Sandbox(
            port=port,
            speed=options.sandbox_speed,
            address=address,
            tls=options.sandbox_tls,
            controllers=() if options.bare else None,
        )
    except program.NoCertificateError as error:
        fix = "pip install 'handloop[tls]', or leave out --sandbox-tls"
        raise ConfigError(ConfigProblem.CERTIFICATE, str(error), fix=fix) from error
    try:
        sandbox.start()
    except OSError as error:
        raise listen_error(error, address, port, "the sandbox") from error
    try:
        credentials = StaticCredentials(f"Bearer {sandbox.token}")
        tls = TLSOptions(ca=sandbox.certificate)
        if not options.bare:
            _install(ClientConfig(host=sandbox.url, credentials=credentials, tls=tls), options)
            sandbox.engine.keep_as_start()
        path = _written(sandbox.write_kubeconfig, options.sandbox_kubeconfig)
        try:
            yield path
        finally:
            sandbox.remove_kubeconfig(path)
    finally:
        sandbox.stop()


def _refuse_a_kubeconfig_in_use(path: str) -> None:
    """
    Refuse to overwrite a kubeconfig that names a running server, because somebody may be using it.

    Raises: ConfigError if the kubeconfig names a running server.
    """
    try:
        config = load_config(kubeconfig=path)
        with closing(HTTPTransport(config, request_seconds=_ANSWER_SECONDS)) as transport:
            transport.request("GET", "/version")
    except ClientError:
        return
    raise ConfigError(
        ConfigProblem.UNREADABLE,
        f"cannot write {path}",
        cause=f"it names {shown_server(config.host)}, which is running: another sandbox was started here",
        fix="stop that one, or write another file: --sandbox-kubeconfig PATH",
        path=path,
    )


def _install(server: ClientConfig, options: Options) -> None:
    """Create the CRDs of all controllers, with a separate request for each, as kubectl does."""
    everything = replace(options, controllers=())
    with closing(HTTPTransport(server)) as transport:
        for kind in declared_kinds(everything):
            body = json.dumps(definition_of(kind, options)).encode()
            answer = transport.request("POST", CRDS, headers={"Content-Type": "application/json"}, body=body)
            if answer.status != HTTPStatus.CREATED:
                raise OSError(f"the sandbox refused the CRD: {answer.body.decode(errors='replace')}")


def _written(write: Callable[[Path], Path], given: str) -> Path:
    try:
        return write(Path(given))
    except OSError as error:
        raise ConfigError(
            ConfigProblem.UNREADABLE,
            f"cannot write {given}",
            cause=(error.strerror or str(error)).lower(),
            fix="--sandbox-kubeconfig PATH",
            path=given,
        ) from error


def sandbox_hint(kubeconfig: Path, setups: Sequence[Setup], stream: TextIO) -> None:
    """
    Print the next commands to type.

    Args: setups are the controllers whose CRDs are installed, or () with --bare.
    """
    lines = ["sandbox ready; in another terminal:", f"  export KUBECONFIG={shown_path(kubeconfig)}"]
    foreign = dict.fromkeys(kind.resource.group_resource for setup in setups for kind in setup.foreign)
    lines += [
        f"  kubectl apply -f FILE   (this program does not contain the CRD of {one})" for one in foreign
    ]
    with_kinds = [setup for setup in setups if setup.kinds]
    if with_kinds:
        lines += [f"  {with_kinds[0].sample_fix()}", f"  kubectl get {with_kinds[0].watched} -w"]
    elif not setups:
        lines += ["  export USE_EXISTING_CLUSTER=true   (for test suites written for envtest)"]
    show("\n".join([*lines, ""]), stream)


def run_sandbox(options: Options, stop: threading.Event, stream: TextIO) -> int:
    """Serve the sandbox until stop is set. Returns: the exit code."""
    try:
        with running_sandbox(options) as kubeconfig:
            show(extension("sandbox").LIMITS, stream)
            setups = () if options.bare else options.operator.setups()
            sandbox_hint(kubeconfig.resolve(), setups, stream)
            stop.wait()
    except ListenError as error:
        return tell(port_in_use(error), options, stream)
    except ConfigError as error:
        return tell(config_problem(error, options.operator.command), options, stream)
    return EXIT_OK

"""The preflight checks for one configuration and one command line, the same for `run` and `doctor`."""

from __future__ import annotations

from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.server_url import shown_server
from handloop.controller.cli.declared import declared_access, declared_kinds, rbac_command, watched_namespaces
from handloop.controller.cli.expiry import expired_credentials
from handloop.controller.cli.options import Options
from handloop.controller.cli.preflight import Preflight
from handloop.workqueue.clock import Clock


def preflight_for(client: Client, config: ClientConfig, options: Options, clock: Clock) -> Preflight:
    """Ask for what the chosen controllers need, where they watch, and for the lease where it is."""
    return Preflight(
        client,
        host=shown_server(config.host),
        custom=[kind.resource for kind in declared_kinds(options)],
        access=declared_access(options),
        namespaces=watched_namespaces(options),
        rbac_command=rbac_command(options),
        log_in=config.credentials.authorization,
        credentials=lambda: expired_credentials(config, clock.time()),
        clock=clock,
    )

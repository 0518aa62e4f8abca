from __future__ import annotations

from handloop.client.errors import ConfigError, ConfigProblem


def test_config_error_reads_as_message_and_cause() -> None:
    """The command line has its parts, everybody else one line."""
    error = ConfigError(ConfigProblem.UNREADABLE, "kubeconfig /x", cause="no such file", fix="ls -l /x")
    assert str(error) == "kubeconfig /x: no such file"
    assert str(ConfigError(ConfigProblem.CONTEXT, "no context")) == "no context"

from __future__ import annotations

from handloop.client.errors import ConfigError, ConfigProblem, CredentialsError, TransportError


def test_transport_error_names_method_host_and_path() -> None:
    """A lost answer says which request it was, and that its outcome is unknown."""
    error = TransportError("connection reset", host="https://h:1", request="PUT /a", outcome_unknown=True)
    assert str(error) == "PUT https://h:1/a: connection reset (outcome unknown)"
    assert str(TransportError("gone")) == "gone"
    assert str(TransportError("gone", host="https://h")) == "https://h: gone"


def test_credentials_error_keeps_the_problem() -> None:
    """A request that could not be sent for want of credentials carries what the command line explains."""
    problem = ConfigError(ConfigProblem.EXEC_PLUGIN, "not found", plugin="p", install_hint="brew install p")
    error = CredentialsError(problem, host="https://h", request="GET /version")
    assert error.problem is problem
    assert str(error) == "GET https://h/version: not found"
    assert not error.outcome_unknown

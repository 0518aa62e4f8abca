"""
Everything that can go wrong between us and the server, as one tree.

    ClientError
        ConfigError             no usable configuration; retrying cannot help until somebody changes it
        TransportError          no complete answer; retrying can help
        APIError                the server answered "no", with a Status
        DecodeError             the answer is not what it claims to be
"""

from __future__ import annotations


class ClientError(Exception):
    """Root of the tree."""


class DecodeError(ClientError):
    """The server sent bytes that are not the JSON they should be. The client took nothing from them."""

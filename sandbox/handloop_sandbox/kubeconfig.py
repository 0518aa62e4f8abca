"""Writes a sandbox's kubeconfig, which is a separate file, not the user's own kubeconfig."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from handloop_sandbox.grammar.yaml_text import to_yaml

CONTEXT: Final = "sandbox"
DEFAULT_PATH: Final = Path(".sandbox") / "kubeconfig"


def kubeconfig(url: str, token: str, *, certificate: bytes = b"") -> str:
    """
    Return the text of a kubeconfig whose only context is `sandbox`.

    Over plain HTTP, the URL contains the token, because kubectl would not send it in a header. The kubeconfig
    also turns off TLS verification, because the JavaScript client refuses plain HTTP otherwise.

    Args: token is "" if requests need no token. certificate is the authority to trust, as PEM text.
    """
    user: dict[str, Any] = {"token": token} if token else {}
    plain = url.startswith("http://")
    cluster: dict[str, Any] = {"server": f"{url}/{token}" if token and plain else url}
    if plain:
        cluster["insecure-skip-tls-verify"] = True
    if certificate:
        cluster["certificate-authority-data"] = base64.b64encode(certificate).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [
            {"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}
        ],
    }
    return to_yaml(document)


def write(path: Path, text: str) -> Path:
    """
    Write a kubeconfig atomically. Only its owner can read the file.

    Returns: the absolute path. Raises: OSError if the file cannot be written.
    """
    path = path.absolute()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp creates the file with mode 0600. Renaming it is atomic, so readers never see half a file.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

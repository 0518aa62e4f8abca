from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from handloop_sandbox import kubeconfig


def test_one_context_called_sandbox() -> None:
    """One cluster with the token in its URL, one user with the token, one context, which is current."""
    document = yaml.safe_load(kubeconfig.kubeconfig("http://127.0.0.1:1", "secret"))
    assert document["current-context"] == "sandbox"
    assert document["clusters"][0]["cluster"] == {
        "server": "http://127.0.0.1:1/secret",
        "insecure-skip-tls-verify": True,
    }
    assert document["users"][0]["user"] == {"token": "secret"}
    assert document["contexts"][0]["context"]["namespace"] == "default"


def test_without_a_token_there_are_no_credentials() -> None:
    """Neither in the URL nor as a user."""
    document = yaml.safe_load(kubeconfig.kubeconfig("http://x", ""))
    assert document["clusters"][0]["cluster"] == {"server": "http://x", "insecure-skip-tls-verify": True}
    assert document["users"][0]["user"] == {}


def test_over_tls_the_certificate_is_verified() -> None:
    """The token goes in a header then, and nothing tells the client to trust blindly."""
    document = yaml.safe_load(kubeconfig.kubeconfig("https://x", "secret", certificate=b"pem"))
    assert document["clusters"][0]["cluster"] == {
        "server": "https://x",
        "certificate-authority-data": "cGVt",
    }


def test_the_file_is_private_and_replaced_at_once(tmp_path: Path) -> None:
    """Folders are made, the file is 0600, a second write replaces it and leaves nothing beside it."""
    target = tmp_path / ".sandbox" / "kubeconfig"
    assert kubeconfig.write(target, "one") == target
    kubeconfig.write(target, "two")
    assert target.read_text() == "two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["kubeconfig"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the new file cannot be put in place, the old one stays and nothing is left over."""
    target = tmp_path / "kubeconfig"
    kubeconfig.write(target, "one")

    def refuse(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refuse)
        with pytest.raises(OSError, match="no"):
            kubeconfig.write(target, "two")
    assert target.read_text() == "one"
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]

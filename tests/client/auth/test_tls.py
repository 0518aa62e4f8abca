from __future__ import annotations

import os
import shutil
import ssl
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from handloop.client.auth.tls import KeyPair, TLSContexts, TLSOptions, build_context
from handloop.client.errors import ConfigError, ConfigProblem
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.servers.certificates import CertificateAuthority


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path / "ca")


def test_verification_is_on_by_default() -> None:
    """Certificates and names are checked unless the configuration turns it off."""
    context = build_context(TLSOptions())
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_verification_is_off_only_on_request() -> None:
    """insecure-skip-tls-verify is honoured when set."""
    context = build_context(TLSOptions(insecure_skip_verify=True))
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_ca_from_file_or_data(authority: CertificateAuthority) -> None:
    """Both ways of giving a CA trust exactly it."""
    pem = authority.certificate.read_bytes()
    for options in (TLSOptions(ca_file=str(authority.certificate)), TLSOptions(ca=pem, ca_file="/nowhere")):
        assert len(build_context(options).get_ca_certs()) == 1


def test_a_ca_between_words_in_any_encoding(authority: CertificateAuthority, tmp_path: Path) -> None:
    """Such as a bundle that names its authorities in UTF-8."""
    pem = authority.certificate.read_bytes()
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes("# Főtanúsítvány\n".encode() + pem + b"# caf\xe9\n")
    for options in (TLSOptions(ca_file=str(bundle)), TLSOptions(ca=bundle.read_bytes())):
        assert len(build_context(options).get_ca_certs()) == 1


def test_a_ca_without_extensions_is_trusted(tmp_path: Path) -> None:
    """As by Go. Python 3.13's default context refuses it, and with it clusters of EKS, GKE and microk8s."""
    authority = CertificateAuthority(tmp_path / "bare", bare=True)
    serving = authority.issue("server").server_context()
    options = TLSOptions(ca=authority.certificate.read_bytes())
    assert shakes_hands(build_context(options), serving)
    strict = ssl.create_default_context(cafile=str(authority.certificate))
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    assert not shakes_hands(strict, serving)


def test_an_intermediate_ca_is_trusted_without_its_root(tmp_path: Path) -> None:
    """As by Go, where a company's CA signs the cluster's and the kubeconfig has only that one."""
    root = CertificateAuthority(tmp_path / "root", "root")
    authority = CertificateAuthority(tmp_path / "ca", signer=root)
    serving = authority.issue("server").server_context()
    for ca, trusted in ((authority, True), (CertificateAuthority(tmp_path / "other"), False)):
        options = TLSOptions(ca=ca.certificate.read_bytes())
        assert shakes_hands(build_context(options), serving) is trusted


def shakes_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> bool:
    """Whether the client trusts the server, both in this thread."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(5):
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
            sides.remove(side)
    return not sides


def test_a_key_pair_from_files_or_data(authority: CertificateAuthority) -> None:
    """Both ways of giving a client certificate load, and leave no file behind."""
    issued = authority.issue("client")
    files = KeyPair(certificate_file=str(issued.certificate), key_file=str(issued.key))
    data = KeyPair(issued.certificate.read_bytes(), issued.key.read_bytes())
    for pair in (files, data):
        build_context(TLSOptions(key_pair=pair))
    assert not list(Path(tempfile.gettempdir()).glob("handloop-*/tls.key"))


def test_a_certificate_goes_without_its_authority(authority: CertificateAuthority) -> None:
    """For each certificate that OpenSSL would add, a server verifies one signature more with each request."""
    issued = authority.issue("client")
    alone, ca = issued.certificate.read_text(), authority.certificate.read_text()
    server = issued.server_context(client_ca=authority.certificate)
    for given, sent in ((alone, [alone, alone]), (alone + ca, [alone, ca])):
        pair = KeyPair(certificate=given.encode(), key=issued.key.read_bytes())
        client = build_context(TLSOptions(ca=ca.encode(), key_pair=pair))
        assert chain_sent(client, server) == sent


def chain_sent(client: ssl.SSLContext, server: ssl.SSLContext) -> list[str]:
    """The client's certificates as they reach a server, PEM."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname="localhost")
    asked = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for end in (asking, asked):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    # public from Python 3.13 on
    chain = asked._sslobj.get_unverified_chain()  # type: ignore[attr-defined]
    return [each.public_bytes(1) for each in chain]


def test_what_does_not_load_is_a_config_error(authority: CertificateAuthority, tmp_path: Path) -> None:
    """A missing file, garbage, a mismatch or an encrypted key name the file or field, and never ask."""
    one, other = authority.issue("one"), authority.issue("other")
    garbage = tmp_path / "garbage.crt"
    garbage.write_text("garbage")
    encrypted = (
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg=\n"
        b"-----END ENCRYPTED PRIVATE KEY-----\n"
    )
    cases = [
        (TLSOptions(ca_file="/nowhere/ca.crt"), "/nowhere/ca.crt", "No such file"),
        (TLSOptions(ca_file=str(garbage)), str(garbage), ""),
        (TLSOptions(ca=b"garbage"), "certificate-authority-data", ""),
        (TLSOptions(ca=b"\xff"), "certificate-authority-data", ""),
        (
            TLSOptions(key_pair=KeyPair(certificate_file="/nowhere/c.crt", key_file="/k")),
            "/nowhere/c.crt",
            "No such",
        ),
        (
            TLSOptions(key_pair=KeyPair(certificate_file=str(one.certificate), key_file=str(other.key))),
            str(one.certificate),
            "do not match",
        ),
        (
            TLSOptions(key_pair=KeyPair(one.certificate.read_bytes(), b"garbage")),
            "client-certificate-data",
            "not PEM",
        ),
        (
            TLSOptions(key_pair=KeyPair(one.certificate.read_bytes(), encrypted)),
            "client-certificate-data",
            "",
        ),
    ]
    for options, where, cause in cases:
        with pytest.raises(ConfigError) as caught:
            build_context(options)
        assert caught.value.kind is ConfigProblem.CERTIFICATE
        assert where in caught.value.message
        assert cause.lower() in caught.value.cause.lower()
        assert caught.value.cause


@pytest.mark.parametrize("part", ["ca", "certificate", "key"])
@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "huge"])
def test_a_file_that_does_not_end_is_refused(
    authority: CertificateAuthority, tmp_path: Path, part: str, name: str
) -> None:
    """CA, certificate and key: a pipe, a device or a file of megabytes is an error with its name."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "huge").write_bytes(b"x" * ((1 << 20) + 1))
    path, issued = str(tmp_path / name), authority.issue("one")
    pair = KeyPair(certificate_file=str(issued.certificate), key_file=str(issued.key))
    options = {
        "ca": TLSOptions(ca_file=path),
        "certificate": TLSOptions(key_pair=pair._replace(certificate_file=path)),
        "key": TLSOptions(key_pair=pair._replace(key_file=path)),
    }[part]
    building = Background(lambda: build_context(options))
    with pytest.raises(ConfigError) as caught:
        building.result()
    assert caught.value.kind is ConfigProblem.CERTIFICATE
    assert path in caught.value.message
    assert caught.value.cause == ("larger than 1 MiB" if name == "huge" else "not a regular file")


def test_the_same_context_while_nothing_changes(authority: CertificateAuthority) -> None:
    """Files are read once."""
    contexts = TLSContexts(TLSOptions(ca_file=str(authority.certificate)))
    assert contexts.current() == contexts.current()


def test_files_that_change_are_read_again(authority: CertificateAuthority, tmp_path: Path) -> None:
    """A rotated CA or key pair makes a new context of a new generation."""
    ca_file = tmp_path / "ca.crt"
    shutil.copy(authority.certificate, ca_file)
    contexts = TLSContexts(TLSOptions(ca_file=str(ca_file)))
    before, generation = contexts.current()
    ca_file.write_bytes(CertificateAuthority(tmp_path / "new").certificate.read_bytes())
    after, new_generation = contexts.current()
    assert after is not before
    assert new_generation == generation + 1
    assert contexts.current() == (after, new_generation)


def test_a_rotation_caught_half_way_keeps_the_last_good_context(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    """A file that is missing or garbage for a moment changes nothing but a log line."""
    ca_file = tmp_path / "ca.crt"
    shutil.copy(authority.certificate, ca_file)
    contexts = TLSContexts(TLSOptions(ca_file=str(ca_file)))
    good = contexts.current()
    with captured_logs() as entries:
        ca_file.write_text("half a fi")
        assert contexts.current() == good
        ca_file.unlink()
        assert contexts.current() == good
    assert {entry["event"] for entry in entries} == {"Rotated certificate files are not usable yet"}
    shutil.copy(authority.certificate, ca_file)
    assert contexts.current()[1] == good[1] + 1


def test_a_key_pair_that_is_handed_in(authority: CertificateAuthority) -> None:
    """A plugin's certificate replaces the configured one, and a broken one is an error."""
    contexts = TLSContexts(TLSOptions(ca_file=str(authority.certificate)))
    first = authority.issue("first")
    pair = KeyPair(first.certificate.read_bytes(), first.key.read_bytes())
    _, generation = contexts.current()
    assert contexts.current(pair)[1] == generation + 1
    assert contexts.current(pair)[1] == generation + 1
    with pytest.raises(ConfigError):
        contexts.current(KeyPair(b"garbage", b"garbage"))


def test_nothing_secret_in_a_repr() -> None:
    """Keys are not shown by accident."""
    options = TLSOptions(ca=b"CANARY", key_pair=KeyPair(b"CANARY", b"CANARY", "/tls.crt"))
    assert "CANARY" not in repr(options)
    assert "/tls.crt" in repr(options)

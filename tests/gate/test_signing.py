"""SSH signatures: what ssh-keygen makes we accept, what it refuses we refuse, and where we are stricter it is written down."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.gate import signing
from cakebook.gate.signing import (
    HARDWARE,
    KINDS,
    PublicKey,
    SignatureInvalid,
    Signer,
    SigningFailed,
    find_signer,
    public_key,
    sign,
    verify,
    verify_with_ssh_keygen,
)

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

MADE = {
    "ed25519": ("ed25519", ""),
    "ecdsa-256": ("ecdsa", "256"),
    "ecdsa-384": ("ecdsa", "384"),
    "ecdsa-521": ("ecdsa", "521"),
    "rsa-2048": ("rsa", "2048"),
    "rsa-3072": ("rsa", "3072"),
}
NAMES = [*MADE]
BOTH = (verify, verify_with_ssh_keygen)
BEGIN, END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
MESSAGE = b"a message\n"
SPACE = "a-namespace"


def keygen(*arguments: object, message: bytes = b"") -> bytes:
    return subprocess.run(["ssh-keygen", *map(str, arguments)], input=message, capture_output=True, check=True).stdout


def make(path: Path, kind: str = "ed25519", bits: str = "", passphrase: str = "") -> Path:
    keygen("-q", "-t", kind, *(["-b", bits] if bits else []), "-N", passphrase, "-C", "a comment", "-f", path)
    return path


def copy(source: Path, target: Path) -> Path:
    """A private key alone, without its public half."""
    shutil.copy(source, target)
    target.chmod(0o600)
    return target


def by_keygen(path: Path, message: bytes = MESSAGE, namespace: str = SPACE, hashed: str = "sha512") -> bytes:
    return keygen("-Y", "sign", "-n", namespace, "-O", f"hashalg={hashed}", "-f", path, message=message)


def pub(path: Path) -> PublicKey:
    return public_key(path.with_name(path.name + ".pub").read_text())


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def numbers(der: bytes) -> bytes:
    """The two numbers of an ECDSA signature as OpenSSH writes them: as short as they are, and not negative."""
    return b"".join(string(n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in decode_dss_signature(der))


def armour(data: bytes) -> bytes:
    return BEGIN + b"\n" + base64.encodebytes(data) + END + b"\n"


def bare(signature: bytes) -> bytes:
    return base64.b64decode(signature.removeprefix(BEGIN).partition(END)[0])


def signed_data(
    message: bytes = MESSAGE, namespace: bytes = SPACE.encode(), hashed: str = "sha512", reserved: bytes = b""
) -> bytes:
    digest = hashlib.new(hashed, message).digest()
    return b"SSHSIG" + string(namespace) + string(reserved) + string(hashed.encode()) + string(digest)


def assemble(
    blob: bytes,
    inner: bytes,
    namespace: bytes = SPACE.encode(),
    hashed: str = "sha512",
    reserved: bytes = b"",
    start: bytes = b"SSHSIG\0\0\0\1",
) -> bytes:
    return armour(start + string(blob) + string(namespace) + string(reserved) + string(hashed.encode()) + string(inner))


def refused(check, key: PublicKey, namespace: str, message: bytes, signature: bytes) -> bool:
    try:
        check(key, namespace, message, signature)
    except SignatureInvalid as error:
        assert str(error) and "\n" not in str(error)
        return True
    return False


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither an agent nor a window nor a terminal, whoever runs the tests."""
    for name in ("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("signing")
    return {name: make(folder / name, *how) for name, how in MADE.items()}


@pytest.fixture(scope="module")
def signatures(made: dict[str, Path]) -> dict[str, bytes]:
    return {name: by_keygen(path) for name, path in made.items()}


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A running agent that holds nothing; returns its socket."""
    folder = Path(tempfile.mkdtemp(prefix="agent-", dir="/tmp"))  # a socket's path is at most 107 characters
    socket = folder / "s"
    running = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if socket.exists():
                break
            time.sleep(0.02)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        yield socket
    finally:
        running.terminate()
        running.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


# Software in place of a token


class Token:
    """What a hardware key answers, in software: the private half may sign without a touch."""

    application = b"ssh:"

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.private = Ed25519PrivateKey.generate() if kind == HARDWARE[0] else ec.generate_private_key(ec.SECP256R1())
        if kind == HARDWARE[0]:
            point = string(self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
        else:
            point = string(b"nistp256") + string(
                self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
            )
        self.key = PublicKey(kind, string(kind.encode()) + point + string(self.application))
        self.good = self.sign()

    def sign(
        self, message: bytes = MESSAGE, flags: int = 1, algorithm: str = "", after: bytes = b"", signed_flags: int | None = None
    ) -> bytes:
        counter = struct.pack(">I", 7)
        data = hashlib.sha256(self.application).digest()
        data += bytes([flags if signed_flags is None else signed_flags]) + counter
        data += hashlib.sha256(signed_data(message)).digest()
        if isinstance(self.private, Ed25519PrivateKey):
            value = self.private.sign(data)
        else:
            value = numbers(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        inner = string((algorithm or self.kind).encode()) + string(value) + bytes([flags]) + counter + after
        return assemble(self.key.blob, inner)


@pytest.fixture(scope="module", params=HARDWARE)
def token(request: pytest.FixtureRequest) -> Token:
    return Token(request.param)


def test_a_hardware_signature_with_a_touch_is_accepted(token):
    key = public_key(token.key.text + " my token")
    assert key == token.key and key.hardware
    for flags in (1, 5):  # the second: a PIN was asked too
        for check in BOTH:
            check(key, SPACE, MESSAGE, token.sign(flags=flags))


@pytest.mark.parametrize("flags", [0, 4, 0x40, 0xFE])
def test_a_hardware_signature_without_a_touch_is_refused_though_ssh_keygen_accepts_it(token, flags):
    signature = token.sign(flags=flags)
    verify_with_ssh_keygen(token.key, SPACE, MESSAGE, signature)
    with pytest.raises(SignatureInvalid, match="touch"):
        verify(token.key, SPACE, MESSAGE, signature)


def test_hardware_signatures_that_both_refuse(token):
    good = token.sign()
    other = Token(token.kind)
    cases = {
        "other message": (token.key, SPACE, b"x", good),
        "other namespace": (token.key, "other", MESSAGE, good),
        "other key": (other.key, SPACE, MESSAGE, good),
        "touch added": (token.key, SPACE, MESSAGE, token.sign(flags=1, signed_flags=0)),
        "something after": (token.key, SPACE, MESSAGE, token.sign(after=b"\0")),
        "algorithm of software keys": (
            token.key,
            SPACE,
            MESSAGE,
            token.sign(algorithm=token.kind.removeprefix("sk-").removesuffix("@openssh.com")),
        ),
        "no flags": (token.key, SPACE, MESSAGE, assemble(token.key.blob, string(token.kind.encode()) + string(b"\1" * 64))),
        "nothing inside": (token.key, SPACE, MESSAGE, assemble(token.key.blob, b"")),
    }
    for name, case in cases.items():
        assert [refused(check, *case) for check in BOTH] == [True, True], name


def test_hardware_keys_need_ssh_keygen(token, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SignatureInvalid, match="ssh-keygen is not installed"):
        verify(token.key, SPACE, MESSAGE, token.sign())


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_flipped_byte_of_a_hardware_signature_is_refused(token, data):
    good = bytearray(bare(token.good))
    good[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    assert refused(verify, token.key, SPACE, MESSAGE, armour(bytes(good)))


# What ssh-keygen signs


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hashed", ["sha256", "sha512"])
@pytest.mark.parametrize("message", [b"", MESSAGE, b"\r\n\0\xff" * 262_144], ids=["empty", "short", "1 MB"])
def test_what_ssh_keygen_signs_is_accepted(made, name, hashed, message):
    signature = by_keygen(made[name], message, hashed=hashed)
    for check in BOTH:
        check(pub(made[name]), SPACE, message, signature)


def test_signatures_of_software_keys_are_judged_without_a_process_or_a_file(made, signatures, monkeypatch):
    keys = {name: pub(path) for name, path in made.items()}

    def never(*_: object, **__: object) -> None:
        raise AssertionError("not pure")

    monkeypatch.setattr(signing.subprocess, "run", never)
    monkeypatch.setattr(signing.tempfile, "TemporaryDirectory", never)
    monkeypatch.setattr(signing.shutil, "which", never)
    for name, key in keys.items():
        verify(key, SPACE, MESSAGE, signatures[name])
        assert refused(verify, key, SPACE, b"x", signatures[name])


def test_short_numbers_are_accepted(made):
    """An RSA value or an ECDSA number whose first bytes are zero is written shorter, once in 256 times."""
    for name in ("rsa-2048", "ecdsa-256"):
        private = load_ssh_private_key(made[name].read_bytes(), None)
        key = pub(made[name])
        for n in range(3000):
            message = b"%d" % n
            if name == "rsa-2048":
                value = private.sign(signed_data(message), padding.PKCS1v15(), hashes.SHA512())
                if value[0]:
                    continue
                inner = string(b"rsa-sha2-512") + string(value.lstrip(b"\0"))
            else:
                value = private.sign(signed_data(message), ec.ECDSA(hashes.SHA256()))
                if min(decode_dss_signature(value)) >> 248:
                    continue
                inner = string(key.kind.encode()) + string(numbers(value))
            for check in BOTH:
                check(key, SPACE, message, assemble(key.blob, inner))
            break
        else:
            raise AssertionError(f"{name}: none in 3000")


# What both refuse


def broken(good: bytes, other: bytes) -> dict[str, bytes]:
    body = good.removeprefix(BEGIN + b"\n").partition(END)[0]
    data = bare(good)
    return {
        "empty": b"",
        "cut in the middle": good[: len(good) // 2],
        "without its last line": good.removesuffix(END + b"\n"),
        "cut inside": armour(data[:-1]),
        "a byte after the end inside": armour(data + b"\0"),
        "twice inside": armour(data + data),
        "carriage returns": good.replace(b"\n", b"\r\n"),
        "carriage returns alone": good.replace(b"\n", b"\r"),
        "a line before": b"\n" + good,
        "text before": b"signature:\n" + good,
        "end on the last line": BEGIN + b"\n" + body.strip() + END,
        "begin on the first line": BEGIN + body + END,
        "nothing between": BEGIN + b"\n" + END + b"\n",
        "empty line between": BEGIN + b"\n\n" + END + b"\n",
        "other armour": good.replace(b"SSH SIGNATURE", b"PGP SIGNATURE"),
        "lower case armour": good.replace(b"BEGIN", b"begin"),
        "no armour": body,
        "the blob itself": data,
        "not base64": BEGIN + b"\n*" + body + END,
        "padding in front": BEGIN + b"\n=" + body + END,
        "padding too much": BEGIN + b"\n" + body.strip() + b"=\n" + END,
        "a byte order mark": b"\xef\xbb\xbf" + good,
        "of another message": other,
    }


@pytest.mark.parametrize("name", ["ed25519", "ecdsa-521", "rsa-2048"])
def test_what_both_refuse(made, signatures, name):
    key, good = pub(made[name]), signatures[name]
    cases = {how: (key, SPACE, MESSAGE, bad) for how, bad in broken(good, by_keygen(made[name], b"other")).items()}
    cases |= {
        "other message": (key, SPACE, MESSAGE + b"\n", good),
        "other namespace": (key, "other", MESSAGE, good),
        "upper case namespace": (key, SPACE.upper(), MESSAGE, good),
        "part of the namespace": (key, SPACE[:-1], MESSAGE, good),
        "a pattern": (key, "*", MESSAGE, good),
        "an empty namespace": (key, "", MESSAGE, good),
        **{f"key {other}": (pub(made[other]), SPACE, MESSAGE, good) for other in NAMES if other != name},
    }
    for how, case in cases.items():
        assert [refused(check, *case) for check in BOTH] == [True, True], how


def test_bits_left_over_in_base64_are_refused(made):
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    padded = 0
    for namespace in ("a", "ab", "abc"):
        good = by_keygen(made["ed25519"], namespace=namespace)
        head, equals, _ = good.partition(b"=")
        if not equals:
            continue
        padded += 1
        last = letters[letters.index(head[-1:]) + 1 : letters.index(head[-1:]) + 2]
        bad = head[:-1] + last + good[len(head) :]
        assert bare(bad) == bare(good)
        assert [refused(check, pub(made["ed25519"]), namespace, MESSAGE, bad) for check in BOTH] == [True, True]
    assert padded == 2


def test_fields_that_are_wrong_but_signed(made):
    """Every field but one is right, and the signature covers the wrong one."""
    private = load_ssh_private_key(made["ed25519"].read_bytes(), None)
    key = pub(made["ed25519"])

    def crafted(signed: bytes, algorithm: bytes = b"ssh-ed25519", more: bytes = b"", **fields: object) -> bytes:
        return assemble(key.blob, string(algorithm) + string(private.sign(signed)) + more, **fields)

    for check in BOTH:
        check(key, SPACE, MESSAGE, crafted(signed_data()))
    cases = {
        "version 2": crafted(signed_data(), start=b"SSHSIG\0\0\0\2"),
        "no magic": crafted(signed_data(), start=b"SSHSIH\0\0\0\1"),
        "sha1": crafted(signed_data(hashed="sha1"), hashed="sha1"),
        "sha384": crafted(signed_data(hashed="sha384"), hashed="sha384"),
        "md5": crafted(signed_data(hashed="md5"), hashed="md5"),
        "hash in upper case": crafted(signed_data().replace(b"sha512", b"SHA512"), hashed="SHA512"),
        "hash of another name": crafted(signed_data(), hashed="sha256"),
        "an algorithm of RSA": crafted(signed_data(), b"rsa-sha2-512"),
        "no algorithm": crafted(signed_data(), b""),
        "something after the value": crafted(signed_data(), more=b"\0"),
        "a certificate's algorithm": crafted(signed_data(), b"ssh-ed25519-cert-v01@openssh.com"),
        "an empty namespace": crafted(signed_data(namespace=b""), namespace=b""),
        "signed reserved bytes": crafted(signed_data(reserved=b"x"), reserved=b"x"),
        "a longer namespace": crafted(signed_data(namespace=SPACE.encode() + b"\0"), namespace=SPACE.encode() + b"\0"),
        "the message itself signed": crafted(MESSAGE),
    }
    for name, bad in cases.items():
        assert [refused(check, key, SPACE, MESSAGE, bad) for check in BOTH] == [True, True], name
    assert refused(verify, key, "", MESSAGE, cases["an empty namespace"])
    lax = {
        "version 0": crafted(signed_data(), start=b"SSHSIG\0\0\0\0"),
        "unsigned reserved bytes": crafted(signed_data(), reserved=b"x"),
    }
    for name, bad in lax.items():  # neither is part of what is signed, and ssh-keygen does not look
        assert [refused(check, key, SPACE, MESSAGE, bad) for check in BOTH] == [True, False], name


def test_rsa_with_sha1_is_refused(made):
    private = load_ssh_private_key(made["rsa-3072"].read_bytes(), None)
    key = pub(made["rsa-3072"])
    for algorithm, hashed in (
        (b"ssh-rsa", hashes.SHA1()),
        (b"rsa-sha2-256", hashes.SHA1()),
        (b"ssh-rsa", hashes.SHA512()),
        (b"rsa-sha2-256", hashes.SHA512()),
    ):
        inner = string(algorithm) + string(private.sign(signed_data(), padding.PKCS1v15(), hashed))
        assert [refused(check, key, SPACE, MESSAGE, assemble(key.blob, inner)) for check in BOTH] == [True, True], algorithm
    pss = private.sign(signed_data(), padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512())
    assert [
        refused(check, key, SPACE, MESSAGE, assemble(key.blob, string(b"rsa-sha2-512") + string(pss))) for check in BOTH
    ] == [True, True]


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_counts(made, signatures, name):
    key, good = pub(made[name]), bare(signatures[name])
    for n in range(len(good)):
        assert refused(verify, key, SPACE, MESSAGE, armour(good[:n] + bytes([good[n] ^ 1]) + good[n + 1 :])), n
        assert refused(verify, key, SPACE, MESSAGE, armour(good[:n])), n


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_refused_by_both(made, signatures, data):
    name = data.draw(st.sampled_from(NAMES))
    good = bytearray(bare(signatures[name]))
    good[data.draw(st.integers(0, len(good) - 1))] ^= data.draw(st.integers(1, 255))
    lax = good.startswith(b"SSHSIG\0\0\0\0")  # ssh-keygen takes a version 0
    assert [refused(check, pub(made[name]), SPACE, MESSAGE, armour(bytes(good))) for check in BOTH] == [True, not lax]


# Where ssh-keygen is more lenient


def test_what_only_ssh_keygen_accepts(made, signatures):
    key, good = pub(made["ed25519"]), signatures["ed25519"]
    cases = {
        "text after the end": good + b"x\n",
        "an empty line after the end": good + b"\n",
        "two signatures": good + good,
        "another one after it": good + by_keygen(made["ed25519"], b"other"),
        "blanks in the lines": good.replace(b"\n", b" \n").replace(BEGIN + b" ", BEGIN).rstrip() + b"\n",
        "more than 64 kB of lines": good.replace(b"\n", b"\n" * 40_000, 2),
    }
    for name, lax in cases.items():
        assert [refused(check, key, SPACE, MESSAGE, lax) for check in BOTH] == [True, False], name


def test_how_lines_are_broken_is_no_matter(made, signatures):
    key, good = pub(made["ed25519"]), signatures["ed25519"]
    body = good.removeprefix(BEGIN + b"\n").partition(END)[0]
    for same in (good[:-1], BEGIN + b"\n" + body.replace(b"\n", b"") + b"\n" + END, BEGIN + b"\n\n" + body + b"\n" + END):
        for check in BOTH:
            check(key, SPACE, MESSAGE, same)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nothing_is_accepted_that_ssh_keygen_refuses(made, signatures, data):
    good = bytearray(signatures["ed25519"])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(good)))
        good[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from([b"", b"\n", b"\r", b" ", b"=", b"A", b"-", b"\0", b"\xff"])
        )
    key = pub(made["ed25519"])
    if not refused(verify, key, SPACE, MESSAGE, bytes(good)):
        verify_with_ssh_keygen(key, SPACE, MESSAGE, bytes(good))


@given(
    st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=200).map(armour),
        st.lists(st.binary(max_size=40), max_size=7).map(
            lambda parts: armour(b"SSHSIG\0\0\0\1" + b"".join(map(string, parts)))
        ),
    )
)
def test_any_bytes_as_a_signature(made, data):
    for name in NAMES:
        assert refused(verify, pub(made[name]), SPACE, MESSAGE, data)


@settings(deadline=None)
@given(
    st.sampled_from(NAMES),
    st.sampled_from([k.encode() for k in KINDS] + [b"rsa-sha2-256", b"rsa-sha2-512"]),
    st.one_of(
        st.binary(max_size=300), st.lists(st.binary(max_size=70), max_size=3).map(lambda parts: b"".join(map(string, parts)))
    ),
)
def test_any_bytes_as_the_value(made, name, algorithm, value):
    key = pub(made[name])
    assert refused(verify, key, SPACE, MESSAGE, assemble(key.blob, string(algorithm) + string(value)))


@pytest.mark.parametrize("namespace", ["\udc80", "a\0", "a b", 'a"', "a,b", "a*", "?", "!a", "é", "-"])
def test_odd_namespaces(made, signatures, namespace):
    for check in BOTH:
        assert refused(check, pub(made["ed25519"]), namespace, MESSAGE, signatures["ed25519"])


# Keys


@pytest.mark.parametrize("name", NAMES)
def test_a_key_reads_as_it_is_written(made, name):
    line = made[name].with_name(name + ".pub").read_text()
    key = public_key(line)
    assert key.text == " ".join(line.split()[:2]) and key.kind == line.split()[0] and not key.hardware
    assert public_key(key.text) == public_key(f"  {key.text}\tanother comment \n") == key
    assert keygen("-l", "-f", made[name]).split()[1].decode() == key.fingerprint


def test_rsa_keys_that_are_too_short(tmp_path):
    path = make(tmp_path / "short", "rsa", "1024")
    with pytest.raises(SignatureInvalid, match="1024 bits"):
        pub(path)
    with pytest.raises(SigningFailed, match="1024 bits"):
        find_signer(str(path))


def test_texts_that_are_no_key(made):
    texts = {name: pub(path).text for name, path in made.items()}
    good = texts["ed25519"]
    kind, code = good.split()
    blob = base64.b64decode(code)

    def coded(kind: str, *parts: bytes, more: bytes = b"") -> str:
        return PublicKey(kind, b"".join(map(string, (kind.encode(), *parts))) + more).text

    rsa = load_ssh_private_key(made["rsa-2048"].read_bytes(), None).public_key().public_numbers()
    n, e = b"\0" + rsa.n.to_bytes(256, "big"), b"\1\0\1"
    assert coded("ssh-rsa", e, n) == texts["rsa-2048"]
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    point, short = (
        curve.public_bytes(Encoding.X962, form) for form in (PublicFormat.UncompressedPoint, PublicFormat.CompressedPoint)
    )
    p256, sk_ed, sk_ec = "ecdsa-sha2-nistp256", *HARDWARE
    public_key(coded(p256, b"nistp256", point)), public_key(coded(sk_ec, b"nistp256", point, b"ssh:"))
    cases = {
        "nothing": "",
        "blanks": " \n",
        "a kind": kind,
        "no kind": code,
        "the other way round": f"{code} {kind}",
        "options": f"no-pty {good}",
        "options with a value": f'command="true" {good}',
        "a principal in front": f"someone@example.org {good}",
        "a comment line": f"# {good}",
        "a literal of Git": f"key::{good}",
        "two lines": f"{good}\n{good}",
        "a comment line after": f"{good} x\n# y",
        **{f"a line broken by {c!r}": f"{good} a{c}b" for c in "\r\v\f\x85\u2028"},
        "kind and code on two lines": f"{kind}\n{code}",
        "a certificate": f"ssh-ed25519-cert-v01@openssh.com {code}",
        "a certificate inside": coded("ssh-ed25519-cert-v01@openssh.com", b"x" * 32).replace("-cert-v01@openssh.com ", " ", 1),
        "DSA": coded("ssh-dss", b"\1" * 128, b"\1" * 20, b"\1" * 128, b"\1" * 128),
        "upper case": f"SSH-ED25519 {code}",
        "another kind in front": f"ssh-rsa {code}",
        "another curve in front": f"ecdsa-sha2-nistp384 {texts['ecdsa-256'].split()[1]}",
        "a hardware kind in front": f"{sk_ed} {code}",
        "another curve inside": coded(p256, b"nistp384", point),
        "no base64": f"{kind} {code[:-1]}*",
        "base64 cut": f"{kind} {code[:-1]}",
        "base64 padded": f"{kind} {code}=",
        "base64 url": f"{kind} {code[:-1]}_",
        "letters of another script": f"{kind} {code[:-1]}é",
        "a surrogate": f"{kind} \udc80",
        "a NUL": f"{kind} {code[:-1]}\0",
        "cut": PublicKey(kind, blob[:-1]).text,
        "a byte more": PublicKey(kind, blob + b"\0").text,
        "a string more": PublicKey(kind, blob + string(b"")).text,
        "an empty blob": f"{kind} ====",
        "31 bytes": coded(kind, b"x" * 31),
        "33 bytes": coded(kind, b"x" * 33),
        "a compressed point": coded(p256, b"nistp256", short),
        "a point off the curve": coded(p256, b"nistp256", point[:-1] + bytes([point[-1] ^ 1])),
        "no point": coded(p256, b"nistp256", b""),
        "a point at infinity": coded(p256, b"nistp256", b"\0"),
        "an even exponent": coded("ssh-rsa", b"\2", n),
        "exponent 1": coded("ssh-rsa", b"\1", n),
        "no exponent": coded("ssh-rsa", b"", n),
        "a negative modulus": coded("ssh-rsa", e, b"\xff" * 256),
        "zeros before the modulus": coded("ssh-rsa", e, b"\0" + n),
        "zeros before the exponent": coded("ssh-rsa", b"\0" + e, n),
        "modulus and exponent swapped": coded("ssh-rsa", n, e),
        "a modulus of 2 MB": coded("ssh-rsa", e, b"\1" * 2_000_000),
        "a hardware key without application": coded(sk_ed, b"x" * 32),
        "another kind in a hardware key": PublicKey(sk_ed, b"".join(map(string, (kind.encode(), b"x" * 32, b"ssh:")))).text,
        "a short hardware key": coded(sk_ed, b"x" * 31, b"ssh:"),
        "something after a hardware key": coded(sk_ed, b"x" * 32, b"ssh:", more=b"\0"),
        "a compressed hardware key": coded(sk_ec, b"nistp256", short, b"ssh:"),
        "a hardware key of another curve": coded(sk_ec, b"nistp384", point, b"ssh:"),
    }
    for name, text in cases.items():
        try:
            public_key(text)
        except SignatureInvalid as error:
            assert str(error).isprintable(), name
        else:
            raise AssertionError(f"accepted: {name}")


@given(st.one_of(
    st.text(max_size=200),
    st.tuples(st.sampled_from(KINDS), st.text(max_size=80)).map(" ".join),
    st.tuples(st.sampled_from(KINDS), st.binary(max_size=200)).map(lambda t: PublicKey(*t).text),
    st.tuples(st.sampled_from(KINDS), st.lists(st.one_of(st.binary(max_size=70), st.sampled_from([b"nistp256", b"nistp384", b"nistp521", b"\4" + b"x" * 64, b"\1\0\1", b"\1" * 260, b"x" * 32])), max_size=4)).map(
        lambda t: PublicKey(t[0], b"".join(map(string, (t[0].encode(), *t[1])))).text
    ),
))  # fmt: skip
def test_any_text_as_a_key(text):
    try:
        key = public_key(text)
    except SignatureInvalid:
        return
    assert public_key(key.text) == key
    assert key.hardware or refused(
        verify, key, SPACE, MESSAGE, assemble(key.blob, string(key.kind.encode()) + string(b"\1" * 64))
    )


def test_rsa_keys_that_only_look_like_one(made):
    """Numbers that load as a key and are none: a signature under one is refused, and nothing worse."""
    for e, n in (
        (b"\1\0\1", b"\1" * 256 + b"\0"),
        (b"\1" * 300, b"\1" * 301),
        (b"\3", b"\x7f" + b"\xff" * 255),
        (b"\1\0\1", b"\1" + b"\0" * 255 + b"\1"),
    ):
        blob = string(b"ssh-rsa") + string(e) + string(n)
        for value in (b"", b"\0", b"\1", b"\1" * len(n), b"\xff" * 400):
            signature = assemble(blob, string(b"rsa-sha2-512") + string(value))
            assert refused(verify, PublicKey("ssh-rsa", blob), SPACE, MESSAGE, signature)


# Signing


def failure(*arguments: object, namespace: str = SPACE, message: bytes = MESSAGE, **more: object) -> SigningFailed:
    """Why nothing is signed; both lines are there to be read."""
    with pytest.raises(SigningFailed) as caught:
        sign(find_signer(*arguments, **more), namespace, message)
    assert str(caught.value).isprintable() and caught.value.hint and caught.value.hint.isprintable()
    return caught.value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("half", ["", ".pub"])
def test_signing_with_a_file(made, name, half):
    signer = find_signer(f"{made[name]}{half}", agent_ok=False)
    assert signer == Signer(pub(made[name]), str(made[name]))
    for message in (b"", MESSAGE, b"\n\0\xff" * 100_000):
        signature = sign(signer, SPACE, message)
        for check in BOTH:
            check(signer.public, SPACE, message, signature)


def test_the_public_half_is_told_from_the_private_one(made, tmp_path):
    for beside in (None, "junk", "ssh-ed25519 AAAA", b"\xff\xfe"):
        path = copy(made["ed25519"], tmp_path / f"key-{len(list(tmp_path.iterdir()))}")
        if beside is not None:
            path.with_name(path.name + ".pub").write_bytes(beside if isinstance(beside, bytes) else beside.encode())
        signer = find_signer(str(path))
        assert signer == Signer(pub(made["ed25519"]), str(path))
        assert sign(signer, SPACE, MESSAGE)


def test_a_name_starts_at_home_or_here(made, monkeypatch):
    home = Path(os.environ["HOME"])
    home.mkdir(exist_ok=True)
    copy(made["ed25519"], home / "mine")
    monkeypatch.chdir(home)
    assert find_signer("~/mine").public == find_signer("mine").public == find_signer("./mine").public == pub(made["ed25519"])


def test_signing_through_an_agent(made, agent, tmp_path):
    lone = tmp_path / "lone.pub"
    shutil.copy(made["ecdsa-256"].with_name("ecdsa-256.pub"), lone)
    key = pub(made["ecdsa-256"])
    ways = (str(lone), str(lone.with_suffix("")), key.text, f"{key.text} with a comment", f"key::{key.text}")
    for named in ways:
        error = failure(named)
        assert "no agent" in str(error) and "ssh-add" in error.hint and key.fingerprint in str(error)
    subprocess.run(["ssh-add", "-q", str(made["ecdsa-256"])], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    for named in ways:
        signer = find_signer(named)
        assert signer == Signer(key, "")
        for check in BOTH:
            check(key, SPACE, MESSAGE, sign(signer, SPACE, MESSAGE))
        with pytest.raises(SigningFailed, match="only an agent"):
            find_signer(named, agent_ok=False)


def test_a_passphrase_is_not_needed_when_an_agent_holds_the_key(agent, tmp_path):
    path = make(tmp_path / "key")
    subprocess.run(["ssh-add", "-q", str(path)], check=True, stdin=subprocess.DEVNULL, capture_output=True)
    keygen("-q", "-p", "-P", "", "-N", "secret", "-f", path)
    assert sign(find_signer(str(path)), SPACE, MESSAGE)


def test_an_agent_that_is_gone(made, monkeypatch, tmp_path):
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "gone"))
    assert "no agent" in str(failure(pub(made["ed25519"]).text))
    assert sign(find_signer(str(made["ed25519"])), SPACE, MESSAGE)


def test_a_passphrase_without_a_terminal(tmp_path):
    path = make(tmp_path / "key", passphrase="secret")
    for message in (MESSAGE, b"secret\nmore\n"):  # the second would be read as the answer
        error = failure(str(path), message=message)
        assert "passphrase" in str(error) and "ssh-add" in error.hint
    path.with_name("key.pub").unlink()
    error = failure(str(path))
    assert "passphrase" in str(error) and f"ssh-keygen -y -f {path} > {path}.pub" in error.hint


def test_no_window_asks_for_a_passphrase(tmp_path, monkeypatch):
    asked = tmp_path / "asked"
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    program.chmod(0o755)
    monkeypatch.setenv("SSH_ASKPASS", str(program))
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
    assert "passphrase" in str(failure(str(make(tmp_path / "key", passphrase="secret"))))
    assert not asked.exists()


CHILD = """\
import os, sys
os.open(os.ttyname(0), os.O_RDWR)  # so that it is the terminal of this session
from cakebook.gate.signing import SigningFailed, find_signer, sign
try:
    sign(find_signer(sys.argv[1]), "a-namespace", b"secret\\nmore\\n")
except SigningFailed as error:
    print("failed:", error)
else:
    print("signed")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how a session gets its terminal differs")
@pytest.mark.parametrize(("answer", "outcome"), [(b"secret\n", b"signed"), (b"wrong\n", b"failed:")])
def test_on_a_terminal_the_passphrase_is_asked_for_there(shipped_root, tmp_path, answer, outcome):
    path = make(tmp_path / "key", passphrase="secret")
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DISPLAY": ":9", "PYTHONPATH": str(shipped_root)}  # a display, and no program to ask on it
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    seen, answered, end = b"", False, time.monotonic() + 20
    try:
        while outcome not in seen and time.monotonic() < end:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    seen += os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
            if b"Enter passphrase" in seen and not answered:
                os.write(ours, answer)
                answered = True
        child.wait(10)
    finally:
        child.kill()
        child.wait(10)
        os.close(ours)
    assert answered and outcome in seen, seen


def test_keys_that_cannot_be_used(made, tmp_path):
    text = tmp_path / "text"
    text.write_text("no key\n")
    text.chmod(0o600)
    (tmp_path / "binary.pub").write_bytes(b"\xff\xfe\0")
    (tmp_path / "two.pub").write_text(f"{pub(made['ed25519']).text}\n" * 2)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.pub").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe.pub")
    mixed = copy(made["ed25519"], tmp_path / "mixed")
    shutil.copy(made["ecdsa-256"].with_name("ecdsa-256.pub"), tmp_path / "mixed.pub")
    open_to_all = copy(made["ed25519"], tmp_path / "open")
    shutil.copy(made["ed25519"].with_name("ed25519.pub"), tmp_path / "open.pub")
    open_to_all.chmod(0o644)
    for name in (
        "missing",
        "missing.pub",
        "no/folder/key",
        "text",
        "binary.pub",
        "two.pub",
        "folder",
        "folder.pub",
        "loop",
        "pipe.pub",
        "a\0b",
        "a\0b.pub",
        "x" * 5000,
        "-f",
        ".",
        "/",
    ):
        failure(name if name in {".", "/"} else str(tmp_path / name))
    for named in (
        "~nobody-of-this-name/key",
        "-f",
        "key::",
        "key::junk",
        "ssh-dss AAAAB3NzaC1kc3M=",
        "ssh-ed25519 AAAA",
        f"{pub(made['ed25519']).text}\n{pub(made['rsa-2048']).text}",
    ):
        failure(named)
    assert "no such key" in str(failure(str(tmp_path / "missing")))
    assert "folder" in str(failure(str(tmp_path / "folder")))
    assert "match" in str(failure(str(mixed)))
    error = failure(str(open_to_all))
    assert "0644" in str(error) and "chmod" in error.hint


def test_files_that_may_not_be_read(made, tmp_path, monkeypatch):
    path = copy(made["ed25519"], tmp_path / "key")
    shutil.copy(made["ed25519"].with_name("ed25519.pub"), tmp_path / "lone.pub")

    def denied(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    if os.geteuid():
        path.chmod(0)
        assert "ermission denied" in str(failure(str(path)))
    monkeypatch.setattr(Path, "read_text", denied)
    assert "Permission denied" in str(failure(str(tmp_path / "lone.pub")))
    monkeypatch.setattr(Path, "is_file", denied)
    assert "Permission denied" in str(failure(str(path)))


@pytest.mark.parametrize("namespace", ["", "a b", 'a"', "*", "a\0", "\udc80", "a\nb"])
def test_a_namespace_that_is_none(made, namespace):
    assert "namespace" in str(failure(str(made["ed25519"]), namespace=namespace))


def test_without_programs(made, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    error = failure(str(made["ed25519"]))
    assert "ssh-keygen is not installed" in str(error) and "OpenSSH" in error.hint
    assert "no key to sign with" in str(failure())
    program = tmp_path / "ssh-keygen"
    program.write_bytes(b"no program")
    program.chmod(0o755)
    assert "cannot be run" in str(failure(str(made["ed25519"])))


def test_what_is_made_is_checked_before_it_is_returned(made, tmp_path, monkeypatch):
    """A program in the way that answers with another signature, with nothing, or not at all."""
    (tmp_path / "other").write_bytes(by_keygen(made["ed25519"], b"other"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for answer in (f"cat {tmp_path}/other", "true", "echo junk", "cat"):
        program = tmp_path / "ssh-keygen"
        program.write_text(f"#!/bin/sh\n{answer}\n")
        program.chmod(0o755)
        assert "does not hold" in str(failure(str(made["ed25519"])))
    program.write_text("#!/bin/sh\nexit 3\n")
    assert "ssh-keygen failed" in str(failure(str(made["ed25519"])))


def test_no_room_for_temporary_files(made, token, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    signature = token.sign()
    monkeypatch.setattr(signing.tempfile, "TemporaryDirectory", full)
    assert "No space" in str(failure(str(made["ed25519"])))
    with pytest.raises(SignatureInvalid, match="No space"):
        verify(token.key, SPACE, MESSAGE, signature)


# The Git configuration


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose user has a home with nothing in it."""
    home, root = tmp_path / "home", tmp_path / "repository"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def configure(repository: Path, **values: str) -> None:
    for name, value in values.items():
        subprocess.run(["git", "config", name.replace("_", "."), value], cwd=repository, check=True)


@pytest.mark.parametrize("format_", ["ssh", "openpgp", None])
def test_the_key_of_the_git_configuration(repository, made, format_):
    if format_:
        configure(repository, gpg_format=format_)
    assert "no key to sign with" in str(failure(cwd=repository))
    key = pub(made["ed25519"])
    home = Path(os.environ["HOME"])
    copy(made["ed25519"], home / "mine")
    copy(made["ed25519"], repository / "here")
    for value, path in (
        (str(made["ed25519"]), made["ed25519"]),
        (f"{made['ed25519']}.pub", made["ed25519"]),
        ("~/mine", home / "mine"),
        ("here", repository / "here"),
    ):
        configure(repository, user_signingkey=value)
        signer = find_signer(cwd=repository)
        assert signer == Signer(key, str(path))
        verify(key, SPACE, MESSAGE, sign(signer, SPACE, MESSAGE))
    for value in (key.text, f"key::{key.text}"):
        configure(repository, user_signingkey=value)
        assert find_signer(cwd=repository) == Signer(key, "")
    assert find_signer(str(made["rsa-2048"]), repository).public == pub(made["rsa-2048"])


def test_a_key_of_gnupg_is_none_of_ours(repository):
    configure(repository, user_signingkey="0123456789ABCDEF")
    assert "no key to sign with" in str(failure(cwd=repository))
    configure(repository, gpg_format="ssh")
    assert "no such key" in str(failure(cwd=repository))
    configure(repository, user_signingkey="~nobody-of-this-name/key")
    assert "user.signingkey" in str(failure(cwd=repository))


def test_the_global_configuration_and_folders_without_one(repository, made, tmp_path):
    subprocess.run(["git", "config", "--global", "user.signingkey", str(made["ed25519"])], check=True)
    for cwd in (repository, tmp_path):
        assert find_signer(cwd=cwd).public == pub(made["ed25519"])
    assert "no key to sign with" in str(failure(cwd=tmp_path / "missing"))

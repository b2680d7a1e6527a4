"""OpenSSH signatures (SSHSIG): keys as people have them already, verified in process, made by `ssh-keygen`.

The format is that of PROTOCOL.sshsig in OpenSSH. Hardware keys are left to `ssh-keygen`, as is signing: it knows agents,
passphrases and tokens.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ARMOUR = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\n?")
MAX_BYTES = 64_000
"""Longer signatures are not looked at."""
MIN_RSA_BITS = 2048
ECDSA = {"ecdsa-sha2-nistp256": "nistp256", "ecdsa-sha2-nistp384": "nistp384", "ecdsa-sha2-nistp521": "nistp521"}
HARDWARE = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")
KINDS = ("ssh-ed25519", "ssh-rsa", *ECDSA, *HARDWARE)
_PRINCIPAL = "signer"


class SignatureInvalid(Exception):
    """Why a key or a signature does not hold: one line."""


class SigningFailed(Exception):
    """Why nothing could be signed: one line, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class PublicKey:
    """An OpenSSH public key: its kind, and its bytes as they stand in base64 behind it."""

    kind: str
    blob: bytes

    @property
    def text(self) -> str:
        """The key on one line, without comment."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def hardware(self) -> bool:
        """Whether the private half lives in a token."""
        return self.kind in HARDWARE


@dataclass(frozen=True)
class Signer:
    """Who signs: the public half, and the file that `ssh-keygen` is given, empty for a key that only an agent holds."""

    public: PublicKey
    path: str


def public_key(text: str) -> PublicKey:
    """The key on a line as in `id_ed25519.pub`; a comment is dropped.

    Raises:
        SignatureInvalid: it is no such line, a kind that is not supported, or an RSA key of less than 2048 bits.
    """
    words = text.split()
    if "\n" in text.strip() or len(words) < 2 or words[0] not in KINDS:
        raise SignatureInvalid("not an OpenSSH public key of a supported kind on one line")
    try:
        blob = base64.b64decode(words[1].encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise SignatureInvalid("the key is not base64") from None
    key = PublicKey(words[0], blob)
    _native(key)
    return key


def verify(key: PublicKey, namespace: str, message: bytes, signature: bytes) -> None:
    """Check that `signature` is one of `message` by `key` in `namespace`, exactly.

    Raises:
        SignatureInvalid: it is not.
    """
    parts = _parse(signature)
    if parts.blob != key.blob:
        raise SignatureInvalid("made with another key")
    if not namespace or parts.namespace != namespace.encode():
        raise SignatureInvalid("made for another purpose")
    if key.hardware:
        verify_with_ssh_keygen(key, namespace, message, signature)
        return
    signed = b"SSHSIG" + b"".join(
        _string(part) for part in (parts.namespace, b"", parts.hash, hashlib.new(parts.hash.decode(), message).digest())
    )
    _check(key, parts, signed)


def verify_with_ssh_keygen(key: PublicKey, namespace: str, message: bytes, signature: bytes) -> None:
    """The same by OpenSSH itself, told of one key, one literal principal and one namespace.

    Raises:
        SignatureInvalid: it refuses, or is not there.
    """
    if not namespace or re.search(r'[\s",]', namespace):
        raise SignatureInvalid("not a namespace")
    with tempfile.TemporaryDirectory(prefix="cakebook-verify-") as folder:
        allowed, file = Path(folder, "allowed"), Path(folder, "signature")
        allowed.write_text(f'{_PRINCIPAL} namespaces="{namespace}" {key.text}\n')
        file.write_bytes(signature)
        command = ["-Y", "verify", "-f", str(allowed), "-I", _PRINCIPAL, "-n", namespace, "-s", str(file)]
        try:
            done = _keygen(command, message)
        except SigningFailed as error:
            raise SignatureInvalid(str(error)) from None
    if done.returncode:
        raise SignatureInvalid("ssh-keygen refuses it")


def find_signer(named: str = "", cwd: Path | None = None) -> Signer:
    """The key to sign with: `named` (a private key's file, its `.pub`, or the public key itself, which an agent then holds),
    else `user.signingkey` of the Git configuration.

    Raises:
        SigningFailed: there is none, or it cannot be read.
    """
    given = named or _from_git(cwd)
    if not given:
        hint = "--sign-with FILE, or git config user.signingkey ~/.ssh/id_ed25519.pub"
        raise SigningFailed("no key to sign with", hint)
    literal = given.removeprefix("key::")
    if literal.split(" ", 1)[0] in KINDS:
        return Signer(_public(literal, "the key"), "")
    path = Path(given).expanduser()
    private = path.with_suffix("") if path.suffix == ".pub" else path
    beside = private.with_name(private.name + ".pub")
    try:
        if path.suffix == ".pub" or beside.is_file():
            public = _public((path if path.suffix == ".pub" else beside).read_text("utf-8"), str(path))
            return Signer(public, str(private) if private.is_file() else "")
        if not path.is_file():
            raise SigningFailed(f"{path}: no such key", "name a private key or a .pub file")
    except (OSError, UnicodeDecodeError) as error:
        raise SigningFailed(f"{path}: {getattr(error, 'strerror', None) or 'not text'}", "check the file") from None
    done = _keygen(["-y", "-P", "", "-f", str(path)], b"")
    if done.returncode:
        raise SigningFailed(f"{path}: its public half cannot be told", f"put {beside.name} beside it: ssh-keygen -y")
    return Signer(_public(done.stdout.decode("utf-8", "replace"), str(path)), str(path))


def sign(signer: Signer, namespace: str, message: bytes) -> bytes:
    """An armoured signature by `ssh-keygen`, verified before it is returned.

    Raises:
        SigningFailed: the key cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="cakebook-sign-") as folder:
        path = signer.path
        if not path:
            path = str(Path(folder, "key.pub"))
            Path(path).write_text(signer.public.text + "\n")
        done = _keygen(["-Y", "sign", "-n", namespace, "-f", path], message, ask=True)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").split("\n")
        why = next((line.strip() for line in reversed(lines) if line.strip()), "ssh-keygen failed")
        raise SigningFailed(f"{signer.path or signer.public.fingerprint}: {why}", "load it into an agent with ssh-add")
    try:
        verify(signer.public, namespace, message, done.stdout)
    except SignatureInvalid as error:
        raise SigningFailed(
            f"the signature made does not hold: {error}", "check that both halves of the key belong together"
        ) from None
    return done.stdout


@dataclass(frozen=True)
class _Parts:
    """A signature, taken apart."""

    blob: bytes
    namespace: bytes
    hash: bytes
    inner: bytes


def _parse(signature: bytes) -> _Parts:
    match = ARMOUR.fullmatch(signature) if len(signature) <= MAX_BYTES else None
    if match is None:
        raise SignatureInvalid("not one armoured SSH signature")
    try:
        data = base64.b64decode(match[1].replace(b"\n", b""), validate=True)
    except binascii.Error:
        raise SignatureInvalid("the signature is not base64") from None
    if data[:10] != b"SSHSIG\0\0\0\1":
        raise SignatureInvalid("not version 1 of an SSH signature")
    blob, namespace, reserved, digest, inner = _strings(data[10:], 5)
    if reserved or digest not in (b"sha256", b"sha512"):
        raise SignatureInvalid("made with an option or a hash that is not known")
    return _Parts(blob, namespace, digest, inner)


def _check(key: PublicKey, parts: _Parts, signed: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    native = _native(key)
    written, value = _strings(parts.inner, 2)
    algorithm = written.decode("ascii", "replace")
    try:
        if isinstance(native, Ed25519PublicKey) and algorithm == key.kind:
            native.verify(value, signed)
        elif isinstance(native, ec.EllipticCurvePublicKey) and algorithm == key.kind:
            r, s = (int.from_bytes(part, "big", signed=True) for part in _strings(value, 2))
            digest = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}[native.curve.key_size]
            native.verify(encode_dss_signature(r, s), signed, ec.ECDSA(digest))
        elif isinstance(native, RSAPublicKey) and algorithm in ("rsa-sha2-256", "rsa-sha2-512"):
            hashed = hashes.SHA256() if algorithm == "rsa-sha2-256" else hashes.SHA512()
            value = value.rjust((native.key_size + 7) // 8, b"\0")  # OpenSSH leaves out leading zeros
            native.verify(value, signed, padding.PKCS1v15(), hashed)
        else:
            raise SignatureInvalid("its algorithm does not fit the key")
    except (InvalidSignature, ValueError):
        raise SignatureInvalid("the signature does not match the text") from None


def _native(key: PublicKey) -> object:
    """The key as `cryptography` has it; None for a hardware key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    parts = _strings(key.blob, {"ssh-ed25519": 2, HARDWARE[0]: 3, HARDWARE[1]: 4}.get(key.kind, 3))
    if parts[0] != key.kind.encode():
        raise SignatureInvalid("the key is not of the kind that it says")
    if key.hardware:
        return None
    try:
        native = load_ssh_public_key(key.text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise SignatureInvalid("the key cannot be read") from None
    if isinstance(native, RSAPublicKey) and native.key_size < MIN_RSA_BITS:
        raise SignatureInvalid(f"an RSA key of {native.key_size} bits is too short")
    return native


def _strings(data: bytes, count: int) -> list[bytes]:
    """`count` SSH strings that fill `data`: four bytes of length, big-endian, and as many bytes."""
    found = []
    for _ in range(count):
        if len(data) < 4 or len(data) - 4 < (length := struct.unpack(">I", data[:4])[0]):
            raise SignatureInvalid("cut short")
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    if data:
        raise SignatureInvalid("something follows the end")
    return found


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _public(text: str, where: str) -> PublicKey:
    try:
        return public_key(text.strip())
    except SignatureInvalid as error:
        raise SigningFailed(f"{where}: {error}", "give an OpenSSH key: ed25519, ecdsa, rsa or a hardware key") from None


def _from_git(cwd: Path | None) -> str:
    try:
        done = subprocess.run(
            ["git", "config", "--get", "user.signingkey"], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


def _keygen(arguments: list[str], message: bytes, *, ask: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen with `message` on stdin; only with `ask`, and on a terminal, may it ask for a passphrase."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SigningFailed("ssh-keygen is not installed", "install OpenSSH")
    environment = {**os.environ, "LC_ALL": "C"}
    quiet = not (ask and sys.stdin is not None and sys.stdin.isatty())
    if quiet:
        environment |= {"SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": "/bin/false"}
    return subprocess.run(
        [program, *arguments], input=message, capture_output=True, env=environment, check=False, start_new_session=quiet
    )

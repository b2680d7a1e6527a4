"""OpenSSH signatures (SSHSIG): keys as people have them already, verified in process, made by `ssh-keygen`.

The format is that of PROTOCOL.sshsig in OpenSSH. Hardware keys are left to `ssh-keygen`, as is signing: it knows agents,
passphrases and tokens. Nothing is accepted here that `ssh-keygen` refuses; some things are refused that it accepts, so that a
signature says one thing only: what follows the armour or stands between its lines, keys written in more than one way, RSA keys
under 2048 bits, and hardware signatures for which nobody touched the token.
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
from functools import lru_cache
from pathlib import Path

from cakebook.errors import one_line

ARMOUR = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?")
MAX_BYTES = 64_000
"""Longer signatures are not looked at."""
RSA_BITS = range(2048, 16384 + 1)
ECDSA = {"ecdsa-sha2-nistp256": "nistp256", "ecdsa-sha2-nistp384": "nistp384", "ecdsa-sha2-nistp521": "nistp521"}
HARDWARE = ("sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com")
KINDS = ("ssh-ed25519", "ssh-rsa", *ECDSA, *HARDWARE)
NAMESPACE = re.compile(r"[A-Za-z0-9@._:/+=-]+")
"""What may be told to `ssh-keygen`: nothing that a list of allowed signers takes for a pattern."""
LITERAL = re.compile(r"(?:key::)?((?:ssh|ecdsa|sk)-\S+[ \t]+AAAA.*)", re.DOTALL)
USER_PRESENT = 1
_PRINCIPAL = "signer"


class SignatureInvalid(Exception):
    """Why a key or a signature does not hold: one line."""


class SigningFailed(Exception):
    """Why nothing could be signed: one line, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(one_line(message))
        self.hint = one_line(hint)


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


@lru_cache(maxsize=1024)
def public_key(text: str) -> PublicKey:
    """The key on a line as in `id_ed25519.pub`; a comment is dropped.

    Raises:
        SignatureInvalid: it is no such line, a kind that is not supported, an RSA key of less than 2048 bits, or not the one
            way to write the key.
    """
    words = text.split()
    if len(text.strip().splitlines()) != 1 or len(words) < 2 or words[0] not in KINDS:
        raise SignatureInvalid("not an OpenSSH public key of a supported kind on one line")
    key = PublicKey(words[0], _base64(words[1].encode("utf-8", "replace")))
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
    if not namespace or parts.namespace != namespace.encode("utf-8", "surrogatepass"):
        raise SignatureInvalid("made for another purpose")
    if key.hardware:
        _check_presence(key, parts)
        verify_with_ssh_keygen(key, namespace, message, signature)
        return
    signed = b"SSHSIG" + b"".join(
        _string(part) for part in (parts.namespace, b"", parts.hash, hashlib.new(parts.hash.decode(), message).digest())
    )
    _check(key, parts, signed)


def verify_with_ssh_keygen(key: PublicKey, namespace: str, message: bytes, signature: bytes) -> None:
    """The same by OpenSSH itself, told of one key, one literal principal and one namespace. It does not ask for a touch.

    Raises:
        SignatureInvalid: it refuses, or is not there.
    """
    if not NAMESPACE.fullmatch(namespace):
        raise SignatureInvalid("not a namespace")
    try:
        with tempfile.TemporaryDirectory(prefix="cakebook-verify-") as folder:
            allowed, file = Path(folder, "allowed"), Path(folder, "signature")
            allowed.write_text(f'{_PRINCIPAL} namespaces="{namespace}" {key.text}\n')
            file.write_bytes(signature)
            command = ["-Y", "verify", "-f", str(allowed), "-I", _PRINCIPAL, "-n", namespace, "-s", str(file)]
            done = _keygen(command, message)
    except (SigningFailed, OSError) as error:
        raise SignatureInvalid(one_line(f"it cannot be checked: {error}")) from None
    if done.returncode:
        raise SignatureInvalid("ssh-keygen refuses it")


def find_signer(named: str = "", cwd: Path | None = None, agent_ok: bool = True) -> Signer:
    """The key to sign with: `named` (a private key's file, its `.pub`, or the public key itself, which an agent then holds),
    else `user.signingkey` of the Git configuration in `cwd`. Without `agent_ok`, only a key whose private half is a file.

    Raises:
        SigningFailed: there is none, or it cannot be read.
    """
    given = named
    try:
        given = named or _from_git(cwd)
        if not given:
            hint = "--sign-with FILE, or git config user.signingkey ~/.ssh/id_ed25519.pub"
            raise SigningFailed("no key to sign with", hint)
        literal = LITERAL.fullmatch(given)
        signer = Signer(_public(literal[1], "the key"), "") if literal else _from_file(Path(given).expanduser())
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: the home of a user who is not there
        why = getattr(error, "strerror", None) or "not the name of a key"
        raise SigningFailed(f"{given or 'user.signingkey'}: {why}", "name a private key or a .pub file") from None
    if not signer.path and not agent_ok:
        raise SigningFailed(f"{signer.public.fingerprint}: only an agent can hold this key", "name the private key's file")
    return signer


def sign(signer: Signer, namespace: str, message: bytes) -> bytes:
    """An armoured signature by `ssh-keygen`, verified before it is returned.

    Raises:
        SigningFailed: the key cannot be used.
    """
    if not NAMESPACE.fullmatch(namespace):
        raise SigningFailed(f"{namespace!r} is not a namespace", "use letters, digits and hyphens")
    try:
        with tempfile.TemporaryDirectory(prefix="cakebook-sign-") as folder:
            path = signer.path
            if not path:
                path = str(Path(folder, "key.pub"))
                Path(path).write_text(signer.public.text + "\n")
            done = _keygen(["-Y", "sign", "-n", namespace, "-f", path], message, ask=True)
    except OSError as error:
        raise SigningFailed(f"no temporary folder to sign in: {error.strerror}", "set TMPDIR") from None
    if done.returncode:
        why, hint = _refusal(done, "load it into an agent with ssh-add")
        if not signer.path and why.startswith("No private key found"):
            why = "no agent that can be reached holds it"
        raise SigningFailed(f"{signer.path or signer.public.fingerprint}: {why}", hint)
    try:
        verify(signer.public, namespace, message, done.stdout)
    except SignatureInvalid as error:
        hint = "check that both halves of the key belong together"
        raise SigningFailed(f"the signature made does not hold: {error}", hint) from None
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
    data = _base64(match[1].replace(b"\n", b""))
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


def _check_presence(key: PublicKey, parts: _Parts) -> None:
    """A hardware signature ends in a byte of flags and four of a counter, both signed. `ssh-keygen` demands no touch."""
    written, _ = _strings(parts.inner[:-5], 2)
    if written.decode("ascii", "replace") != key.kind:
        raise SignatureInvalid("its algorithm does not fit the key")
    if not parts.inner[-5] & USER_PRESENT:
        raise SignatureInvalid("made without anybody's touch of the token")


@lru_cache(maxsize=1024)
def _native(key: PublicKey) -> object:
    """The key as `cryptography` has it; of a hardware key, the point in it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

    parts = _strings(key.blob, {"ssh-ed25519": 2, HARDWARE[0]: 3, HARDWARE[1]: 4}.get(key.kind, 3))
    if parts[0] != key.kind.encode():
        raise SignatureInvalid("the key is not of the kind that it says")
    try:
        if key.kind == HARDWARE[0]:
            return Ed25519PublicKey.from_public_bytes(parts[1])
        if key.kind == HARDWARE[1]:
            if parts[1] != b"nistp256" or parts[2][:1] != b"\4":
                raise SignatureInvalid("the key cannot be read")
            return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), parts[2])
        native = load_ssh_public_key(key.text.encode())
    except (ValueError, UnsupportedAlgorithm, NotImplementedError, IndexError):  # the last two: a compressed and an empty point
        raise SignatureInvalid("the key cannot be read") from None
    if isinstance(native, RSAPublicKey) and native.key_size not in RSA_BITS:
        raise SignatureInvalid(f"an RSA key of {native.key_size} bits: {RSA_BITS[0]} to {RSA_BITS[-1]} are taken")
    if native.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH) != key.text.encode():
        raise SignatureInvalid("the key is not written as OpenSSH writes it")  # so that one key has one name
    return native


def _base64(text: bytes) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        data = b""
    if base64.b64encode(data) != text:  # so too where bits are left over at the end
        raise SignatureInvalid("not base64")
    return data


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


def _from_file(path: Path) -> Signer:
    private = path.with_suffix("") if path.suffix == ".pub" else path
    public = private.with_name(private.name + ".pub")
    held = str(private) if private.is_file() else ""
    if public.is_file():
        try:
            return Signer(_public(public.read_text("utf-8"), str(public)), held)
        except (SigningFailed, OSError, UnicodeDecodeError):
            if path == public or not held:
                raise
    elif path == public or not held:
        raise SigningFailed(f"{path}: {'a folder' if path.is_dir() else 'no such key'}", "name a private key or a .pub file")
    done = _keygen(["-y", "-P", "", "-f", held], b"")  # an empty passphrase, so that nothing is asked
    if done.returncode:
        why, hint = _refusal(done, f"put its public half beside it: ssh-keygen -y -f {held} > {public}")
        raise SigningFailed(f"{held}: its public half cannot be told: {why}", hint)
    return Signer(_public(done.stdout.decode("utf-8", "replace"), held), held)


def _from_git(cwd: Path | None) -> str:
    """`user.signingkey`, if it is an SSH key and not one of GnuPG; a relative path starts at `cwd`, as for Git."""
    value = _git_config("user.signingkey", cwd)
    if not value or LITERAL.fullmatch(value):
        return value
    path = Path(cwd or "", Path(value).expanduser())
    return str(path) if path.exists() or _git_config("gpg.format", cwd) == "ssh" else ""


def _git_config(name: str, cwd: Path | None) -> str:
    command = ["git", "config", "--get", name]
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


def _refusal(done: subprocess.CompletedProcess[bytes], hint: str) -> tuple[str, str]:
    """Why ssh-keygen failed, and what to do, which is `hint` unless it says something better."""
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    exposed = next((line for line in lines if line.startswith("Permissions ") and line.endswith("too open.")), "")
    return (exposed, "chmod 600 the file") if exposed else (lines[-1] if lines else "ssh-keygen failed", hint)


def _keygen(arguments: list[str], message: bytes, *, ask: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen with `message` on stdin; only with `ask`, and on a terminal, may it ask for a passphrase.

    Raises:
        SigningFailed: it cannot be run.
    """
    program = shutil.which("ssh-keygen")
    if program is None:
        raise SigningFailed("ssh-keygen is not installed", "install OpenSSH")
    quiet = not (ask and sys.stdin is not None and sys.stdin.isatty())
    # Stdin is the message: left to itself, ssh-keygen asks through a window, although the program for that may be missing. Told
    # `never` where there is no terminal, it would read the passphrase from the message.
    answers = {"SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": "/bin/false"} if quiet else {"SSH_ASKPASS_REQUIRE": "never"}
    environment = {**os.environ, "LC_ALL": "C", **answers}
    try:
        return subprocess.run(
            [program, *arguments], input=message, capture_output=True, env=environment, check=False, start_new_session=quiet
        )
    except (OSError, ValueError) as error:
        raise SigningFailed(f"ssh-keygen cannot be run: {error}", "check the OpenSSH that is installed") from None

#!/usr/bin/env python3
"""Verifies an export of Countersign's audit log offline, with Python's standard library only.

  verify_audit.py FILE [--key KEY]... [--checkpoint NOTE]... [--expected-length N --expected-head HEX]
                  [--witness KEY]... [--quorum N] [--policy FILE] [--changes] [--json]
  verify_audit.py certificate FILE [--policy POLICY] [--keys FILE] [--manifest-hash HEX]... [--json]

FILE is an export (GET /api/product/audit?format=jsonl). It is verified against data that was stored outside the service:
--checkpoint: a checkpoint, or the file of --audit-anchor; may be repeated
--key: each checkpoint must be signed by one of these keys (PEM file, verifier key, or its file); may be repeated
--expected-length and --expected-head: a receipt, the id and the current_hash of an entry as the service returned them
--witness: a witness that must have cosigned a checkpoint (verifier key, or its file); may be repeated
--quorum: the number of witnesses that must have cosigned the same checkpoint; all of them by default
--policy: an intent, or any JSON with its principals, whose keys must have signed the signed decisions
--changes: the export contains its changes and intents (contents=1, or GET /api/product/export), each must match its hash

A certificate (GET /api/product/changes/<id>/certificate) is verified with these options:
--policy: a C2SP tlog-policy with the trusted logs and witnesses
--keys: an intent, or any JSON with its principals, whose keys count instead of those of the intents in the certificate
--manifest-hash: only decisions under this intent count; may be repeated
--intents: a folder with further intents as files <hash>.json, such as that of a pack

Exit codes: 0 valid: verified against data from outside; 2 consistent: no findings, but no data from outside;
1 bad; 3 unreadable, not a file as the service sent it, or wrong options. See evidence.md for what each of them proves.
"""

import argparse
import base64
import datetime
import decimal
import errno
import fractions
import hashlib
import json
import math
import os
import re
import sys
import unicodedata
import warnings

ENTRY_FIELDS = ("origin", "id", "timestamp", "event_type", "change_id", "tenant", "detail", "previous_hash", "current_hash")
HASHED_FIELDS = ("origin", "previous_hash", "id", "timestamp", "event_type", "change_id", "tenant", "detail")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
HEX = re.compile(r"[0-9a-f]{64}")
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100
MAX_SAFE_INTEGER = 2**53 - 1
MAX_LISTED_FINDINGS = 100
EXIT_CODES = {"valid": 0, "bad": 1, "consistent": 2}


class Unreadable(Exception):
    """Raised for a file or option that cannot be read."""


# The chain


STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def is_too_deep(text):
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in re.findall(r"[\[\]{}]", STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def parse_json(text, object_pairs_hook=None):
    """Parses JSON without NaN, with numbers as doubles, well-formed Unicode and limited nesting. ValueError for any other text."""

    def reject_constant(name):
        raise ValueError(f"{name} is not JSON")

    if is_too_deep(text):
        raise ValueError("it is nested too deep")
    parse_integer = lambda digits: int(digits) if len(digits) < 16 else float(digits)  # noqa: E731
    value = json.loads(text, parse_constant=reject_constant, parse_int=parse_integer, object_pairs_hook=object_pairs_hook)
    if re.search(r"\\u[dD]", text):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def parse_object(text, object_pairs_hook=None):
    """Parses text as a JSON object; None where it is not one."""
    try:
        value = parse_json(text, object_pairs_hook)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def string_or_none(value):
    return value if isinstance(value, str) else None


def is_integer_at_least(value, minimum):
    """Returns whether a value is a whole number of at least `minimum` that a double represents exactly."""
    return type(value) in (int, float) and minimum <= value <= MAX_SAFE_INTEGER and value == int(value)


LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def format_entry(entry):
    """Returns the only valid line of an entry; characters that some programs take for a line end are escaped."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).translate(LINE_BREAKS).encode("utf-8")


def parse_entry(line):
    """Parses the entry of a line; None where the line is not exactly as the service writes it."""
    try:
        entry = parse_json(line.decode("utf-8"))
        if not isinstance(entry, dict) or tuple(entry) != ENTRY_FIELDS:
            return None
        if format_entry(entry) != line:
            return None
    except ValueError:
        return None
    if type(entry["id"]) is not int or not 1 <= entry["id"] < 10**15:
        return None
    if not all(isinstance(entry[field], str) for field in ENTRY_FIELDS if field != "id"):
        return None
    if not (TIME.fullmatch(entry["timestamp"]) and HEX.fullmatch(entry["previous_hash"])):
        return None
    return entry if HEX.fullmatch(entry["current_hash"]) else None


def compute_entry_hash(entry):
    """Computes the expected current_hash: the SHA-256 of all fields, each after its length in four bytes, big-endian."""
    hashed = hashlib.sha256(b"countersign-audit/v1\n")
    for field in HASHED_FIELDS:
        text = str(entry[field]).encode("utf-8")
        hashed.update(len(text).to_bytes(4, "big") + text)
    return hashed.hexdigest()


NO_ENTRY = "the line is not an entry in the exact form that the service writes"
CONTENT = "the line is the content of a change or an intent: verify an export with contents with --changes"


class Chain:
    """Verifies the chain line by line; after a broken line it continues from the values of that line, so one fault is reported once."""

    def __init__(self):
        self.lines = 0
        self.origin = None
        self.entry = None
        self.last = {"id": 0, "current_hash": "0" * 64, "timestamp": ""}

    def verify_line(self, line):
        """Verifies the next line; returns a finding or None."""
        self.lines += 1
        entry, last = parse_entry(line), self.last
        self.last = self.entry = entry
        if entry is None:
            return self.finding(None, "form", CONTENT if is_content_line(line) else NO_ENTRY)
        if self.origin is None:
            self.origin = entry["origin"]
        if entry["origin"] != self.origin:
            return self.finding(entry, "origin", "its origin is not that of the first entry: it belongs to another log")
        if last and entry["id"] != last["id"] + 1:
            return self.finding(entry, "id", f"the id after {last['id']} must be {last['id'] + 1}")
        if last and entry["previous_hash"] != last["current_hash"]:
            return self.finding(entry, "previous_hash", "it is not the current_hash of the previous entry")
        if last and entry["timestamp"] < last["timestamp"] and entry["event_type"] != "clock_accepted":
            return self.finding(entry, "timestamp", "it is earlier than that of the previous entry")
        if entry["current_hash"] != compute_entry_hash(entry):
            return self.finding(entry, "current_hash", "it is not the hash of the entry's fields")
        return None

    def finding(self, entry, rule, message):
        return {"line": self.lines, "entry": entry and entry["id"], "rule": rule, "message": message}


# The tree of RFC 6962


class Tree:
    """The roots of the complete subtrees with their sizes, largest first."""

    def __init__(self):
        self.subtrees = []

    def add(self, current_hash):
        size, root = 1, hashlib.sha256(b"\x00" + bytes.fromhex(current_hash)).digest()
        while self.subtrees and self.subtrees[-1][0] == size:
            left = self.subtrees.pop()[1]
            size, root = size * 2, hashlib.sha256(b"\x01" + left + root).digest()
        self.subtrees.append((size, root))

    def root(self):
        """Returns the root in base64, as checkpoints have it."""
        if not self.subtrees:
            return base64.b64encode(hashlib.sha256(b"").digest()).decode()
        root = self.subtrees[-1][1]
        for _, left in reversed(self.subtrees[:-1]):
            root = hashlib.sha256(b"\x01" + left + root).digest()
        return base64.b64encode(root).decode()


# Ed25519, RFC 8032 section 5.1.7

P = 2**255 - 19
GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def decode_point(encoded):
    """Decodes a point to extended coordinates; None where the bytes are not a point."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P != 0 or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def encode_point(point):
    x, y, z, _ = point
    inverse = pow(z, P - 2, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def add_points(first, second):
    a = (first[1] - first[0]) * (second[1] - second[0]) % P
    b = (first[1] + first[0]) * (second[1] + second[0]) % P
    c = 2 * first[3] * second[3] * D % P
    d = 2 * first[2] * second[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar, point, add, product):
    """Multiplies a point by double-and-add; `product`: the neutral point, `add`: adds and doubles points."""
    while scalar > 0:
        if scalar & 1:
            product = add(product, point)
        point = add(point, point)
        scalar >>= 1
    return product


NEUTRAL = (0, 1, 1, 0)
BASE = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_verifies(public_key, text, signature):
    """Returns whether the 64 bytes sign the text under the 32 bytes of the key."""
    point = decode_point(public_key) if len(public_key) == 32 else None
    scalar = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or point is None or scalar >= GROUP_ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + text).digest()
    challenge = int.from_bytes(digest, "little") % GROUP_ORDER
    negated = (P - point[0], point[1], 1, P - point[3])
    first, second = (multiply(*factors, add_points, NEUTRAL) for factors in ((scalar, BASE), (challenge, negated)))
    return encode_point(add_points(first, second)) == signature[:32]


# ECDSA over P-256 (FIPS 186-4), and RSA with PKCS #1 v1.5

P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
P256_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
P256_BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    1,
)
P256_NEUTRAL = (0, 1, 0)


def p256_add(first, second):
    """Adds two points in projective coordinates with the complete formula of Renes, Costello and Batina for a = -3."""
    (x1, y1, z1), (x2, y2, z2) = first, second
    xx, yy, zz = x1 * x2 % P256, y1 * y2 % P256, z1 * z2 % P256
    xy, yz, xz = (x1 + y1) * (x2 + y2) - xx - yy, (y1 + z1) * (y2 + z2) - yy - zz, (x1 + z1) * (x2 + z2) - xx - zz
    m, n, w = 3 * (xz - P256_B * zz) % P256, 3 * (P256_B * xz - 3 * zz - xx) % P256, 3 * (xx - zz)
    x, y, z = xy * (yy + m) - yz * n, (yy + m) * (yy - m) + w * n, yz * (yy - m) + xy * w
    return x % P256, y % P256, z % P256


def p256_verifies(encoded, text, r, s):
    """Returns whether two numbers sign the text under the 65 bytes of a point."""
    x, y = int.from_bytes(encoded[1:33], "big"), int.from_bytes(encoded[33:], "big")
    if len(encoded) != 65 or encoded[0] != 4 or (y * y - x * x * x + 3 * x - P256_B) % P256 != 0:
        return False
    if not (0 < r < P256_ORDER and 0 < s < P256_ORDER and x < P256 and y < P256):
        return False
    inverse = pow(s, P256_ORDER - 2, P256_ORDER)
    number = int.from_bytes(hashlib.sha256(text).digest(), "big")
    first = multiply(number * inverse % P256_ORDER, P256_BASE, p256_add, P256_NEUTRAL)
    point_x, _, z = p256_add(first, multiply(r * inverse % P256_ORDER, (x, y, 1), p256_add, P256_NEUTRAL))
    return z != 0 and point_x * pow(z, P256 - 2, P256) % P256 % P256_ORDER == r


def read_der_element(encoded, tag):
    """Returns the content of the first DER element and the bytes after it; ValueError for another tag or a non-canonical length."""
    if len(encoded) < 2 or encoded[0] != tag:
        raise ValueError("not this element")
    length_bytes = max(0, encoded[1] - 128) if encoded[1] >= 128 else 0
    begin = 2 + length_bytes
    if length_bytes > 4 or begin > len(encoded):
        raise ValueError("not this element")
    length = int.from_bytes(encoded[2:begin], "big") if encoded[1] >= 128 else encoded[1]
    needed_bytes = 0 if length < 128 else (length.bit_length() + 7) // 8
    if encoded[1] == 128 or length_bytes != needed_bytes or begin + length > len(encoded):
        raise ValueError("not of this length")
    return encoded[begin : begin + length], encoded[begin + length :]


def read_positive_integer(number):
    """Reads a positive INTEGER; ValueError for any other number, or padding."""
    first, second = (number + b"\x80")[0], (number[1:] + b"\x00")[0]
    if first > 127 or (first == 0 and second < 128):
        raise ValueError("not a number above zero")
    return int.from_bytes(number, "big")


def read_two_integers(encoded):
    """Reads a SEQUENCE of two positive INTEGERs; ValueError for anything else."""
    body, rest = read_der_element(encoded, 0x30)
    first, second = read_der_element(body, 2)
    second, more = read_der_element(second, 2)
    if rest or more:
        raise ValueError("more than two numbers")
    return read_positive_integer(first), read_positive_integer(second)


def rsa_verifies(public_key, text, signature):
    """Returns whether the bytes sign the text with SHA-256 under the DER of a public key of 2048 to 16384 bits."""
    modulus, exponent = read_two_integers(public_key)
    size = (modulus.bit_length() + 7) // 8
    if not 256 <= size <= 2048 or modulus.bit_length() % 8 or not modulus & exponent & 1 or not 1 < exponent < 2**32:
        return False
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
    padded = b"\x00\x01" + b"\xff" * (size - 3 - len(info)) + b"\x00" + info
    number = int.from_bytes(signature, "big")
    return len(signature) == size and number < modulus and pow(number, exponent, modulus) == int.from_bytes(padded, "big")


# Signed decisions: passkeys and SSH keys

SPKI_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
SPKI_RSA = bytes.fromhex("300d06092a864886f70d0101010500")
ARMOUR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n((?:[A-Za-z0-9+/=]+\n)+)-----END SSH SIGNATURE-----")
PRESENT_AND_VERIFIED, BACKUP_ELIGIBLE, BACKED_UP = 5, 8, 16
DECISIONS = {
    "approved": "approve",
    "denied": "deny",
    "withdrawn": "withdraw",
    "revoked": "revoke",
    "expired": None,
    "lapsed": None,
}
SIGNED_EVENTS = {
    "change_proposed": "propose",
    "emergency_reviewed": "review",
    "mandate_signed": "mandate",
    "mandate_narrowed": "mandate_narrow",
    "mandate_resumed": "mandate_resume",
    "mandate_ended": "mandate_revoke",
    "service_frozen": "freeze",
    "service_unfrozen": "unfreeze",
    "clock_accepted": "accept_clock",
    "loss_accepted": "accept_loss",
    "content_erased": "erase",
    "note_added": "note",
    "value_restored": "restore",
    "change_applied": "apply",
    "change_apply_failed": "apply",
    "change_rolled_back": "rollback",
    "change_rollback_failed": "rollback",
    "kpi_refreshed": "feed_kpis",
    "stage_advanced": "stage",
    "stage_held": "stage",
    "stage_resumed": "stage",
}
MANDATE_DECISIONS = ("mandate_signed", "mandate_narrowed", "mandate_resumed", "mandate_ended")
STAGE_ACTIONS = {"stage_advanced": "advance", "stage_held": "hold", "stage_resumed": "resume"}
DECIDING_EVENTS = {*SIGNED_EVENTS, "consent_decision", "intent_in_force", "automation_stopped", "stage_stopped"} - {
    "change_apply_failed",
    "change_rollback_failed",
    "kpi_refreshed",
}
# Decisions that need no signature: a trusted proxy vouches for them, or only some intents require one.
MAY_BE_UNSIGNED = (None, "propose", "withdraw", "apply", "rollback", "feed_kpis")


def decode_base64url(text):
    """Decodes canonical base64url without padding; None for any other text."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return data if data and base64.urlsafe_b64encode(data).decode().rstrip("=") == text else None
    except (ValueError, TypeError):
        return None


def sha256(data):
    return hashlib.sha256(data).digest()


def spki_verifies(spki, text, signature):
    """Returns whether a passkey's public key made a signature; ValueError where either is malformed."""
    if spki.startswith(SPKI):
        return ed25519_verifies(spki[len(SPKI) :], text, signature)
    if spki.startswith(SPKI_P256):
        return p256_verifies(spki[len(SPKI_P256) :], text, *read_two_integers(signature))
    body, behind = read_der_element(spki, 0x30)
    if not body.startswith(SPKI_RSA):
        return False
    bits, more = read_der_element(body[len(SPKI_RSA) :], 3)
    return not behind and not more and bits[:1] == b"\x00" and rsa_verifies(bits[1:], text, signature)


def reject_repeated_members(members):
    """Returns the members of a JSON object as a dict; ValueError where a name is repeated."""
    object_members = dict(members)
    if len(object_members) < len(members):
        raise ValueError("it repeats a member")
    return object_members


def parse_client_data(proof):
    client = decode_base64url(proof.get("client_data_json"))
    try:
        return parse_object(client.decode("utf-8"), reject_repeated_members) if client else None
    except ValueError:
        return None


def matches_assertion(statement, proof):
    """Checks everything in a passkey's assertion of a statement except its signature."""
    data, client_data = decode_base64url(proof.get("authenticator_data")), parse_client_data(proof)
    if data is None or client_data is None or len(data) < 37:
        return False
    challenge = base64.urlsafe_b64encode(sha256(statement.encode())).decode().rstrip("=")
    is_for_statement = client_data.get("type") == "webauthn.get" and client_data.get("challenge") == challenge
    is_framed = client_data.get("crossOrigin", False) is not False or "topOrigin" in client_data
    is_user_verified = data[32] & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED
    return is_for_statement and not is_framed and is_user_verified and not (data[32] & BACKED_UP and not data[32] & BACKUP_ELIGIBLE)


def is_allowed_origin(origin, key):
    """Returns whether a passkey may be used on an origin: one that it lists, or else that of its relying party."""
    if key["origins"] is not None:
        return origin in key["origins"]
    if key["rp_id"] == "localhost":
        return re.fullmatch(r"http://localhost(:[1-9][0-9]{0,4})?", origin) is not None
    return origin == f"https://{key['rp_id']}"


def is_signed_by_passkey(proof, key):
    """Returns whether a passkey signed an assertion on a page of its relying party."""
    if key["type"] != "webauthn" or key["credential_id"] != proof.get("credential_id"):
        return False
    data, client = decode_base64url(proof["authenticator_data"]), decode_base64url(proof["client_data_json"])
    signature, origin = decode_base64url(proof.get("signature")), string_or_none(parse_client_data(proof).get("origin"))
    if signature is None or origin is None or not is_allowed_origin(origin, key) or data[:32] != sha256(key["rp_id"].encode()):
        return False
    try:
        return spki_verifies(key["public_key"], data + sha256(client), signature)
    except ValueError:
        return False


class SshReader:
    """Reads values in the wire format of SSH; ValueError at the end of the bytes."""

    def __init__(self, data):
        self.data = data

    def take(self, length):
        if length > len(self.data):
            raise ValueError("too short")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def string(self):
        return self.take(int.from_bytes(self.take(4), "big"))


def encode_field(data):
    return len(data).to_bytes(4, "big") + data


def decode_armour(text):
    """Decodes the armour of an SSH signature, also with CRLF line ends and surrounding blanks; None for any other text."""
    armour = ARMOUR.fullmatch((text or "").replace("\r\n", "\n").strip(" \t\r\n"))
    return decode_base64(armour.group(1).replace("\n", "")) if armour else None


def find_ssh_signer(statement, proof):
    """Returns the public key that signed a statement with `ssh-keygen -Y sign`; None where the proof is invalid."""
    try:
        outer = SshReader(decode_armour(string_or_none(proof.get("signature"))) or b"")
        if outer.take(10) != b"SSHSIG\x00\x00\x00\x01":
            return None
        blob, namespace, reserved, hash_name, signature = (outer.string() for _ in range(5))
        if outer.data or namespace != b"countersign-consent" or reserved or hash_name not in (b"sha256", b"sha512"):
            return None
        digest = hashlib.new(hash_name.decode(), statement.encode()).digest()
        signed = b"SSHSIG" + b"".join(encode_field(part) for part in (namespace, reserved, hash_name, digest))
        return blob if is_signed_by_ssh(blob, signature, signed) else None
    except ValueError:
        return None


def fingerprint(public_key):
    return "SHA256:" + base64.b64encode(sha256(public_key)).decode().rstrip("=")


def is_signed_by_ssh(blob, signature, signed):
    """Verifies a signature in the wire format of SSH; ValueError where key or signature are malformed."""
    key, signature_reader = SshReader(blob), SshReader(signature)
    key_type = key.string()
    is_ecdsa = key_type in (b"ecdsa-sha2-nistp256", b"sk-ecdsa-sha2-nistp256@openssh.com")
    if signature_reader.string() != key_type or not (is_ecdsa or key_type in (b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com")):
        return False
    if is_ecdsa and key.string() != b"nistp256":
        return False
    public_key = key.string()
    application = key.string() if key_type.startswith(b"sk-") else None
    raw_signature = signature_reader.string()
    flags_and_counter = None if application is None else signature_reader.take(5)
    if key.data or signature_reader.data:
        return False
    if flags_and_counter and flags_and_counter[0] & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED:
        return False
    if flags_and_counter is not None:
        signed = sha256(application) + flags_and_counter + sha256(signed)
    if not is_ecdsa:
        return ed25519_verifies(public_key, signed, raw_signature)
    numbers = SshReader(raw_signature)
    first, second = (read_positive_integer(numbers.string()) for _ in range(2))
    return not numbers.data and p256_verifies(public_key, signed, first, second)


SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
OUTER_SPACE = re.compile(f"^[{SPACE}]+|[{SPACE}]+\\Z")
SPACES = re.compile(f"[{SPACE}]+")


def fold_case(letter):
    """Folds the case of one letter; a dotless i stays as it is."""
    return letter if letter == "\u0131" else letter.lower().upper().lower()


def normalize_name(name):
    """Returns a name in the form in which names are compared: trimmed, NFKC, full case folding, single spaces, no joiners."""
    folded = "".join(map(fold_case, OUTER_SPACE.sub("", unicodedata.normalize("NFKC", name))))
    spaced = SPACES.sub(" ", unicodedata.normalize("NFKC", folded))
    return re.sub("[\u200c\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]", "", spaced)


class InvalidIntent(Exception):
    """Names a member of an intent that no service would load."""


def parse_keys(principals):
    """Parses the keys of principals by normalized name; InvalidIntent for a wrong type or a repeated name."""
    if not isinstance(principals, dict):
        raise InvalidIntent("principals")
    keys = {}
    for name, principal in principals.items():
        if not isinstance(principal, dict) or normalize_name(name) in keys:
            raise InvalidIntent("principals")
        principal_keys = principal.get("keys")
        if principal_keys is not None and not isinstance(principal_keys, list):
            raise InvalidIntent("principals")
        keys[normalize_name(name)] = [parse_principal_key(key) for key in principal_keys or []]
    return keys


def parse_principal_key(key):
    if not isinstance(key, dict) or not isinstance(key.get("public_key"), str):
        raise InvalidIntent("principals")
    if key.get("type") == "ssh":
        public_key = decode_base64((key["public_key"].split(" ") + [""])[1])
        if public_key:
            return {"type": "ssh", "id": fingerprint(public_key), "public_key": public_key}
    elif key.get("type") == "webauthn":
        public_key, origins = decode_base64url(key["public_key"]), key.get("origins")
        is_origin_list = origins is None or (isinstance(origins, list) and all(isinstance(one, str) for one in origins))
        credential = {name: key.get(name) for name in ("credential_id", "rp_id")}
        if public_key and is_origin_list and all(isinstance(one, str) for one in credential.values()):
            return {"type": "webauthn", "id": fingerprint(public_key), "public_key": public_key, "origins": origins, **credential}
    raise InvalidIntent("principals")


def read_policy(path):
    """Reads the `principals` of a JSON file: keys by normalized name."""
    text = read_text(path)
    try:
        value = parse_object(text[1:] if text.startswith("\ufeff") else text)
        if value is not None:
            return parse_keys(value.get("principals"))
    except InvalidIntent:
        pass
    raise Unreadable(f"{path} is not JSON with the principals of an intent")


def read_decision(entry, detail):
    """Returns the `decision` in an entry's statement, and who made it."""
    signed_decision = SIGNED_EVENTS.get(entry["event_type"])
    if signed_decision:
        return signed_decision, string_or_none(detail.get({"propose": "proposer", "review": "approver"}.get(signed_decision, "actor")))
    stated_decision = string_or_none(detail.get("decision")) if entry["event_type"] == "consent_decision" else None
    decision = DECISIONS.get(stated_decision)
    is_emergency = decision == "approve" and detail.get("emergency") is True
    return "approve_emergency" if is_emergency else decision, string_or_none(detail.get("approver"))


def are_numbers(values):
    return isinstance(values, dict) and all(
        type(value) in (int, float) and abs(value) <= sys.float_info.max for value in values.values()
    )


def format_number(number):
    """Formats a number as RFC 8785 does: the shortest digits, with the point and exponent of ECMAScript."""
    sign, digits, exponent = decimal.Decimal(repr(float(number))).normalize().as_tuple()
    text, point = "".join(map(str, digits)), len(digits) + exponent
    if text == "0":
        return "0"
    if len(text) <= point <= 21:
        text = text.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{text}"
    else:
        fraction = f".{text[1:]}" if len(text) > 1 else ""
        text = f"{text[0]}{fraction}e{point - 1:+d}"
    return "-" * sign + text


ABSENT = object()
PLACE_MEMBERS = {"tenant_id", "target", "system", "place"}


def are_places(places):
    """Returns whether a value is a list of `places`: objects with exactly these four members, all text."""
    return isinstance(places, list) and all(
        isinstance(one, dict) and set(one) == PLACE_MEMBERS and all(isinstance(text, str) for text in one.values())
        for one in places
    )


def read_proposal(detail):
    """Returns the facts of a proposal that a consent also signs."""
    return {name: detail[name] for name in ("places", "apply_when") if name in detail}


def canonical_text(value):
    """Returns the RFC 8785 text of a value that was parsed from JSON."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical_text(name)}:{canonical_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(canonical_text, value))}]"
    if type(value) in (int, float, decimal.Decimal):
        return format_number(value)
    return json.dumps(value, ensure_ascii=False)


def build_mandate_statement(shared, detail):
    """Builds the statement of a decision on a mandate; `shared`: members of every statement. None without bounds or revision."""
    facts = {**shared, **{name: detail[name] for name in ("mandate_id",) if name in detail}}
    if shared["decision"] != "mandate":
        if not is_integer_at_least(detail.get("revision"), 1):
            return None
        # The statement names the revision before the decision; a resumption does not raise the revision.
        raises_revision = shared["decision"] != "mandate_resume"
        names_narrowing = shared["decision"] == "mandate_narrow" and "narrow" in detail
        decision_facts = {"revision": int(detail["revision"]) - raises_revision}
        decision_facts.update({"narrow": detail["narrow"]} if names_narrowing else {})
        return canonical_text({**facts, **decision_facts})
    if not isinstance(detail.get("bounds"), dict):
        return None
    systems = {"systems": detail["systems"]} if "systems" in detail else {}
    return canonical_text({**detail["bounds"], **facts, **systems})


def build_statement(entry, detail, proposal):
    """Returns the statement that had to be signed for an entry, and the signer; only `at`, and the step of a hold, come from the signed one."""
    decision, by = read_decision(entry, detail)
    signed = parse_object(string_or_none(detail.get("statement")) or "")
    if decision is None or by is None or signed is None or "at" not in signed:
        return None, None
    facts = {"decision": decision, "note": detail.get("note", ""), "at": signed["at"]}
    facts.update({"origin": entry["origin"], "v": "countersign-consent/1"})
    facts.update({"manifest_hash": detail["manifest_hash"]} if "manifest_hash" in detail else {})
    if entry["event_type"].startswith("mandate_"):
        facts["approver"] = by
        return build_mandate_statement(facts, detail), by
    digest = {"digest": detail["digest"]} if "digest" in detail else {}
    if decision in ("freeze", "unfreeze", "accept_clock", "accept_loss", "erase", "feed_kpis"):
        facts["actor"] = by
        facts.update({"change_id": entry["change_id"], **digest} if decision == "erase" else {})
        stated_names = [name for name in ("length", "head") if name in detail and decision == "accept_loss"]
        facts.update({name: detail[name] for name in stated_names})
        if is_integer_at_least(facts.get("length"), 0):
            facts["length"] = int(facts["length"])
        facts.update({} if detail.get("until") is None else {"until": detail["until"]})
        facts.update({"kpis": detail["values"]} if decision == "feed_kpis" and "values" in detail else {})
    else:
        facts.update({"approver": by, **digest})
        facts.update({} if decision == "propose" else {"change_id": entry["change_id"]})
        fact_name = {"review": "verdict", "note": "item", "rollback": "over_drift"}.get(decision)
        facts.update({fact_name: detail[fact_name]} if fact_name in detail else {})
        if decision == "stage":
            action, step = STAGE_ACTIONS[entry["event_type"]], detail.get("step")
            # The statement of a hold may name any step that was reached.
            are_steps = is_integer_at_least(signed.get("step"), 0) and is_integer_at_least(step, 0)
            is_reached = action == "hold" and are_steps and signed["step"] <= step
            facts.update({"action": action, "step": int(signed["step"]) if is_reached else step})
        if decision in ("approve", "approve_emergency"):
            facts.update(proposal)
            facts.update({"seen": detail["seen"]} if "seen" in detail else {})
    for name, fact in facts.items():
        is_fact = isinstance(fact, str) or (name in ("length", "step") and is_integer_at_least(fact, 0))
        is_fact = is_fact or (name == "places" and are_places(fact)) or (name == "over_drift" and fact is True)
        is_fact = are_numbers(fact) if name == "kpis" else is_fact
        if not (is_fact or (name == "seen" and isinstance(fact, list) and all(isinstance(one, str) for one in fact))):
            return None, None
    kpis = facts.pop("kpis", None)
    if kpis is None:
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True), by
    text = json.dumps({**facts, "kpis": ""}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # No other text contains the replaced characters, since quotes in texts are escaped.
    kpi_text = ",".join(f"{json.dumps(name)}:{format_number(kpis[name])}" for name in sorted(kpis))
    return text.replace('"kpis":""', f'"kpis":{{{kpi_text}}}'), by


def read_manifest_hash(detail):
    """Returns the manifest hash that a detail names; "undefined" where it names no text."""
    manifest = detail.get("manifest_hash")
    return manifest if isinstance(manifest, str) else "undefined"


def find_detail_problem(entry, detail):
    """Explains why a detail does not show what its entry decides, or returns None; `detail`: None where it is not a JSON object."""
    if entry["event_type"] not in DECIDING_EVENTS:
        return None
    if detail is None:
        return "its detail is not a JSON object, so its decision cannot be read"
    is_complete = string_or_none(detail.get("decision")) in DECISIONS and string_or_none(detail.get("approver")) is not None
    if entry["event_type"] == "consent_decision" and not is_complete:
        return "its detail lacks a valid decision or approver"
    return None


def parse_principals(value):
    """Parses the principals in an intent's entry: kind and sorted key ids by name."""
    principals = {}
    for name, one in (value if isinstance(value, dict) else {}).items():
        one = one if isinstance(one, dict) else {}
        keys = one.get("keys") if isinstance(one.get("keys"), list) else []
        principals[normalize_name(name)] = (string_or_none(one.get("kind")) or "", sorted(key for key in keys if isinstance(key, str)))
    return principals


class ProofCheck:
    """Verifies the proofs of entries in their order; without a policy only the log says whose keys they are."""

    def __init__(self, policy, proposals=None):
        self.policy = policy
        self.counts = {"verified": 0, "as_named": 0, "not_checked": 0, "unsigned": 0}
        self.intents = {}
        self.proposals = {} if proposals is None else proposals

    def check(self, entry, line):
        """Returns a finding about an entry's proof or decision, or None."""
        event = entry["event_type"]
        if event not in DECIDING_EVENTS and '"proof":' not in entry["detail"]:
            return None
        detail, rule = parse_object(entry["detail"]), "form"
        message = find_detail_problem(entry, detail)
        if detail is not None and message is None:
            if event == "change_proposed":
                self.proposals.setdefault(entry["change_id"], read_proposal(detail))
            if event == "intent_in_force":
                rule, message = "intent", self.add_intent(entry["id"], detail)
            else:
                find_problem = self.find_proof_problem if "proof" in detail else self.find_missing_proof
                rule, message = "proof", find_problem(entry, detail)
        return message and {"line": line, "entry": entry["id"], "rule": rule, "message": message}

    def add_intent(self, entry, detail):
        """Adds the entry of an intent; explains how it contradicts an earlier entry of the same intent, or returns None."""
        principals = parse_principals(detail.get("principals"))
        earlier = self.intents.setdefault(read_manifest_hash(detail), (entry, principals))
        if earlier[1] == principals:
            return None
        return f"its principals are not those of entry {earlier[0]}, which has the same manifest_hash"

    def list_keys(self, detail, name):
        _, principals = self.intents.get(read_manifest_hash(detail), (None, {}))
        return principals.get(normalize_name(name), ("", []))[1]

    def find_missing_proof(self, entry, detail):
        """Explains why an unsigned decision had to be signed, or returns None."""
        decision, by = read_decision(entry, detail)
        if decision in MAY_BE_UNSIGNED or by is None:
            return None
        if self.list_keys(detail, by):
            return f"its intent lists keys of {by}, but it has no signature"
        self.counts["unsigned"] += 1 if self.policy and self.policy.get(normalize_name(by)) else 0
        return None

    def find_proof_problem(self, entry, detail):
        statement, by = build_statement(entry, detail, self.proposals.get(entry["change_id"], {}))
        if statement is None or detail.get("statement") != statement:
            return "its statement does not match the entry"
        proof = detail["proof"] if isinstance(detail["proof"], dict) else {}
        is_passkey = proof.get("type") == "webauthn"
        signer = None if is_passkey else find_ssh_signer(statement, proof)
        if not (matches_assertion(statement, proof) if is_passkey else signer):
            return "its proof is not a valid signature of its statement"
        if detail.get("authenticated") == "signature" and signer and signer[4:7] != b"sk-":
            return "its authenticated is signature, but its key can sign without its owner"
        if self.policy is not None:
            made_proof = lambda key: (  # noqa: E731
                key["type"] == "ssh" and key["public_key"] == signer if signer else is_signed_by_passkey(proof, key)
            )
            signing_key = next(filter(made_proof, self.policy.get(normalize_name(by), [])), None)
            if signing_key is None:
                return f"its proof was made by no key that the policy lists for {by}"
            if signing_key["id"] != detail.get("key"):
                return "its key is not the key that made its proof"
            self.counts["verified"] += 1
            return None
        key_id = fingerprint(signer) if signer else detail.get("key")
        if key_id != detail.get("key") or key_id not in self.list_keys(detail, by):
            return f"its key is not one that the log lists for {by}"
        self.counts["not_checked" if is_passkey else "as_named"] += 1
        return None


# The contents of changes and intents

CONTENT_PREFIXES = (b'{"change_id":', b'{"manifest_hash":')


def is_content_line(line):
    """Returns whether a line is a content, not an entry."""
    try:
        line.decode("utf-8")
    except ValueError:
        return False
    return line.startswith(CONTENT_PREFIXES)


def parse_detail(entry):
    detail = parse_object(entry["detail"])
    return {} if detail is None else detail


class ContentsCheck:
    """Verifies each content against the hash in the entry before it; `intents`: entry and principals by manifest hash."""

    def __init__(self, intents, add_content):
        self.intents, self.add_content = intents, add_content
        self.counts = {"changes": 0, "intents": 0, "unfit": 0, "missing": 0, "erased": 0, "erased_changes": []}
        self.erased_contents = {}
        self.expected = None

    def finding(self, line, entry, rule, message):
        self.counts["unfit"] += 1
        return {"line": line, "entry": entry, "rule": rule, "message": message}

    def report_missing(self):
        expected, self.expected = self.expected, None
        if expected is None:
            return None
        self.counts["missing"] += 1
        location = {name: expected[name] for name in ("line", "entry", "rule")}
        return {**location, "message": f"{expected['name']} is missing"}

    def check_entry(self, entry, line):
        """Takes an entry, or None; yields findings about the content of the entry before it, or about an erasure."""
        yield self.report_missing()
        if entry is None:
            return
        if entry["event_type"] == "content_erased":
            yield self.confirm_erasure(entry, line)
        elif entry["event_type"] == "change_proposed":
            change = entry["change_id"]
            self.expected = {
                "rule": "content",
                "digest": parse_detail(entry).get("digest"),
                "apply_when": parse_detail(entry).get("apply_when", ABSENT),
                "name": f"the content of {change}",
                "change": change,
                "begins": f'{{"change_id":{compact_json(change)},"content":'.encode(),
                "erased": f'{{"change_id":{compact_json(change)},"erased":'.encode(),
            }
        elif entry["event_type"] == "intent_in_force":
            manifest = read_manifest_hash(parse_detail(entry))
            prefix = f'{{"manifest_hash":{compact_json(manifest)},"manifest":'.encode()
            self.expected = {"rule": "intent", "digest": manifest, "name": f"the manifest {manifest}", "begins": prefix}
        if self.expected:
            self.expected.update(line=line, entry=entry["id"])

    def confirm_erasure(self, entry, line):
        erased = self.erased_contents.pop(entry["change_id"], None)
        if erased is None:
            return None
        if parse_detail(entry).get("remaining_digest") != erased[2]:
            message = f"the remaining content of {entry['change_id']} does not match the remaining_digest of its erasure"
            return self.finding(line, entry["id"], "content", message)
        self.counts["erased"] += 1
        if self.counts["erased"] <= MAX_LISTED_FINDINGS:
            self.counts["erased_changes"].append(entry["change_id"])
        return None

    def check_content(self, text, line):
        """Takes a content line; returns a finding about it, or None."""
        expected = self.expected
        prefixes = [expected.get("begins"), expected.get("erased")] if expected else []
        prefix = next((form for form in prefixes if form and text.startswith(form)), None)
        if prefix is None or not text.endswith(b"}"):
            message = "the content does not directly follow its entry"
            return {"line": line, "entry": None, "rule": "form", "message": message}
        self.expected = None
        digest = hashlib.sha256(text[len(prefix) : -1]).hexdigest()
        if prefix == expected.get("erased"):
            self.erased_contents[expected["change"]] = (line, expected["entry"], digest)
        elif digest != expected["digest"]:
            return self.finding(line, expected["entry"], expected["rule"], "the content does not match the hash in its entry")
        elif expected["rule"] == "content":
            self.counts["changes"] += 1
            content = parse_object(text[len(prefix) : -1].decode("utf-8", "replace"))
            message = None
            stated, own = expected["apply_when"], (content or {}).get("apply_when", ABSENT)
            if content is not None and not (stated is own is ABSENT or (isinstance(own, str) and stated == own)):
                message = "its apply_when is not that of its content"
            elif content is not None:
                message = self.add_content(expected["change"], content)
            if message:
                return self.finding(line, expected["entry"], "content", message)
        else:
            message = self.find_manifest_problem(text[len(prefix) : -1], self.intents.get(digest))
            if message:
                return self.finding(line, expected["entry"], "intent", message)
            self.counts["intents"] += 1
        return None

    def find_manifest_problem(self, manifest, recorded):
        """Explains why the principals in an intent's entry differ from those in its manifest, or returns None."""
        try:
            value = parse_object(manifest.decode("utf-8"))
            if value is not None and recorded is not None:
                keys = parse_keys({} if value.get("principals") is None else value["principals"])
                manifest_keys = {name: sorted(key["id"] for key in principal_keys) for name, principal_keys in keys.items()}
                is_same = manifest_keys == {name: identifiers for name, (_, identifiers) in recorded[1].items()}
                return None if is_same else "the principals or keys in its entry are not those of the manifest"
        except InvalidIntent:
            pass
        return "the manifest is not an intent that the service would load"

    def finish(self):
        """Yields the findings after the last line."""
        yield self.report_missing()
        for change, (line, entry, _) in self.erased_contents.items():
            yield self.finding(line, entry, "content", f"{change} is marked as erased, but no entry records an erasure")


# Checkpoints in signed notes (C2SP)

CHECKPOINT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")
NAME = r"([^\s\ufeff+\x00-\x1f\x7f-\x9f]+)"
SIGNATURE = re.compile("— " + NAME + r" ([A-Za-z0-9+/]+={0,2})")
VERIFIER_KEY = re.compile(NAME + r"\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})[ \t\r\n]*")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----[ \t\r\n]+([A-Za-z0-9+/= \t\r\n]+)-----END PUBLIC KEY-----")
SPKI = bytes.fromhex("302a300506032b6570032100")


def decode_base64(text):
    """Decodes canonical base64; None for any other text."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text else None


def parse_checkpoint(note):
    """Parses a checkpoint; None where the text is not one. Without signatures the empty line may be missing."""
    end = note.rfind("\n\n")
    text, lines = (note, []) if end == -1 else (note[: end + 1], note[end + 2 :].split("\n")[:-1])
    parts = CHECKPOINT.fullmatch(text)
    if not parts or not note.endswith("\n") or CONTROL.search(note):
        return None
    signatures = []
    for line in lines:
        signed = SIGNATURE.fullmatch(line)
        data = decode_base64(signed[2]) if signed else None
        if data is None or len(data) < 5:
            return None
        signatures.append((signed[1], data[:4], data[4:]))
    return {"origin": parts[1], "length": int(parts[2]), "root": parts[3], "text": text, "signatures": signatures}


LOG_KEY, COSIGNATURE = 1, 4
LATEST = 253402300799


def compute_key_id(name, public_key, signature_type=LOG_KEY):
    return hashlib.sha256(name.encode() + b"\n" + bytes([signature_type]) + public_key).digest()[:4]


def parse_verifier_key(text, signature_type=LOG_KEY):
    """Parses a verifier key, `name+id+base64`, to (name, 32 bytes); None where the text is not one."""
    parts = VERIFIER_KEY.fullmatch(text)
    data = decode_base64(parts[3]) if parts else None
    if not data or data[0] != signature_type or compute_key_id(parts[1], data[1:], signature_type).hex() != parts[2]:
        return None
    return (parts[1], data[1:]) if decode_point(data[1:]) else None


def read_key(file_or_key):
    """Reads (name, 32 bytes) of a verifier key, or of a PEM public key, whose name is None; also from a file."""
    text = read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key
    key = parse_verifier_key(text)
    if key:
        return key
    pem = PEM.search(text)
    der = decode_base64("".join(pem[1].split())) if pem else None
    if der and len(der) == 44 and der.startswith(SPKI) and decode_point(der[12:]):
        return None, der[12:]
    raise Unreadable(f"{file_or_key} is neither a verifier key nor an Ed25519 public key in PEM")


def find_signer(checkpoint, key):
    """Returns the name under which a key signed a checkpoint; None where it did not, or one of its signatures is invalid."""
    name, public_key = key
    own_signatures = [
        (signer, signature)
        for signer, identifier, signature in checkpoint["signatures"]
        if signer == (name or signer) and identifier == compute_key_id(signer, public_key)
    ]
    text = checkpoint["text"].encode()
    are_valid = all(ed25519_verifies(public_key, text, signature) for _, signature in own_signatures)
    return own_signatures[0][0] if own_signatures and are_valid else None


def read_witness(file_or_key):
    """Reads (name, 32 bytes) of a witness's verifier key; also from a file."""
    key = parse_verifier_key(read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key, COSIGNATURE)
    if key:
        return key
    raise Unreadable(
        f"{file_or_key} is not a verifier key of a witness: <name>+<key id>+<base64>, Ed25519 cosignature"
    )


def read_cosignature_time(checkpoint, witness):
    """Returns the latest time at which a witness cosigned; None without a cosignature, False where one in its name is invalid."""
    name, public_key = witness
    identifier, latest = compute_key_id(name, public_key, COSIGNATURE), None
    for signer, key_identifier, signature in checkpoint["signatures"]:
        if (signer, key_identifier) != (name, identifier):
            continue
        time = int.from_bytes(signature[:8], "big")
        text = f"cosignature/v1\ntime {time}\n{checkpoint['text']}".encode()
        if len(signature) != 72 or not 0 < time <= LATEST or not ed25519_verifies(public_key, text, signature[8:]):
            return False
        latest = max(latest or 0, time)
    return latest


def list_cosignatures(checkpoints, witnesses, quorum):
    """Lists the longest log that each witness cosigned, and findings; `quorum` witnesses must have cosigned the same checkpoint."""
    longest, findings, max_cosigned = {}, [], 0
    for description, checkpoint in checkpoints:
        cosigned_count = 0
        for witness in witnesses:
            time = read_cosignature_time(checkpoint, witness)
            if time is False:
                findings.append(log_finding("cosignature", f"{description} has an invalid cosignature of {witness[0]}"))
            elif time is not None:
                cosigned_count += 1
                longest[witness] = max(longest.get(witness, (0, 0)), (checkpoint["length"], time))
        max_cosigned = max(max_cosigned, cosigned_count)
    if max_cosigned < quorum:
        message = f"no checkpoint is cosigned by {quorum} of {len(witnesses)} witnesses"
        message += f"; the most on one checkpoint are {max_cosigned}"
        findings.append(log_finding("cosignature", message))
    witnessed = [(witness[0], *longest[witness]) for witness in witnesses if witness in longest]
    return [{"name": name, "length": length, "time": time} for name, length, time in witnessed], findings


def read_cosignatures(witnesses, quorum, evidence):
    if not witnesses and quorum is None:
        return [], []
    if not witnesses:
        raise Unreadable("--quorum needs a --witness to count")
    checkpoints = [one for part in evidence for one in part[3]]
    if not checkpoints and not any(part[1] for part in evidence):
        raise Unreadable("--witness needs a --checkpoint that it cosigned")
    keys = [read_witness(witness) for witness in witnesses]
    if len({public_key for _, public_key in keys}) < len(keys):
        raise Unreadable("--witness names one key twice")
    count = str(len(keys)) if quorum is None else quorum
    if not re.fullmatch(r"[1-9][0-9]{0,3}", count) or int(count) > len(keys):
        raise Unreadable(f"--quorum must be a number from 1 to {len(keys)}, the witnesses given")
    return list_cosignatures(checkpoints, keys, int(count))


# Evidence from outside


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from error


def read_text(path):
    try:
        return read_bytes(path).decode("utf-8")
    except ValueError:
        raise Unreadable(f"{path} is not UTF-8") from None


def read_lines(path):
    """Reads a file in which a crash may have cut a line: a line that is not UTF-8 becomes `\0`."""
    return "\n".join(decode_line(line) for line in read_bytes(path).split(b"\n"))


def decode_line(line):
    try:
        return line.decode("utf-8")
    except ValueError:
        return "\0"


def read_note(line):
    """Returns the checkpoint in a line of an anchor's file; empty where it has none."""
    return string_or_none((parse_object(line) or {}).get("checkpoint")) or ""


def read_checkpoints(path, keys):
    """Reads (states of the log, findings, remarks, checkpoints) from one note, or from an anchor's JSON lines."""
    text = read_lines(path)
    states, findings, remarks, checkpoints = [], [], [], []
    single_checkpoint = parse_checkpoint(text)
    located = [(path, single_checkpoint)] if single_checkpoint else []
    for number, line in enumerate([] if single_checkpoint else text.split("\n"), 1):
        checkpoint = parse_checkpoint(read_note(line))
        if checkpoint:
            located.append((f"line {number} of {path}", checkpoint))
        elif line:
            remarks.append(f"line {number} of {path} is not a checkpoint and was skipped")
    if not located:
        raise Unreadable(f"{path} contains no checkpoint")
    for location, checkpoint in located:
        description = f"the checkpoint of {checkpoint['length']} entries in {location}"
        signer = next(filter(None, (find_signer(checkpoint, key) for key in keys)), None)
        if keys and not signer:
            missing_signer = "any of the given keys" if len(keys) > 1 else "the given key"
            findings.append(log_finding("signature", f"{description} is not signed by {missing_signer}"))
            continue
        checkpoints.append((description, checkpoint))
        trust = f"signed by {signer}" if signer else "signature not checked, no --key was given"
        states.append({**{k: checkpoint[k] for k in ("length", "root", "origin")}, "description": f"{description} ({trust})"})
    return states, findings, remarks, checkpoints


def log_finding(rule, message):
    """Returns a finding about the complete log."""
    return {"line": None, "entry": None, "rule": rule, "message": message}


def read_loss(entry):
    """Reads the loss of the log's end that an entry accepts."""
    detail = parse_detail(entry)
    known = detail.get("known")
    text_or_empty = lambda value: value if isinstance(value, str) else ""  # noqa: E731
    count = lambda value: int(value) if is_integer_at_least(value, -MAX_SAFE_INTEGER) else 0  # noqa: E731
    return {
        "entry": entry["id"],
        "at": entry["timestamp"],
        "actor": text_or_empty(detail.get("actor")),
        "note": text_or_empty(detail.get("note")),
        "known": read_known_length(known, count),
        "continues": count(detail.get("length")),
    }


def read_known_length(known, count):
    """Returns how many entries the log had before the loss; None where that is not known."""
    if not isinstance(known, dict):
        return 0
    return None if "head" in known and known["head"] is None else count(known.get("length"))


def format_loss(loss):
    """Describes a loss in one sentence."""
    continues, known = loss["continues"], loss["known"]
    if known is None:
        lost = f"after {continues}, an unknown number,"
    else:
        lost = f"after {continues} up to {known}" if continues < known else f"up to {known}"
    actor_text = f"entry {loss['entry']}, {loss['at']}: {loss['actor']}"
    return f"{actor_text} accepted that entries {lost} are lost; they may have been acknowledged"


def explain_loss(losses, length):
    """Explains missing entries up to `length` by an accepted loss; empty where no loss covers them."""
    def covers(loss):
        if loss["known"] is None:
            return loss["continues"] < length
        # Entries that remained are not lost; a log that had grown beyond its lost end states no entry that remained.
        return loss["known"] >= length and (loss["continues"] < length or loss["continues"] >= loss["known"])

    loss = next(filter(covers, losses), None)
    return f"; {format_loss(loss)}" if loss else ""


def find_state_mismatch(state, computed, origin, entries, losses):
    loss_text = explain_loss(losses, state["length"])
    if "origin" in state and entries > 0 and state["origin"] != escape_note_line(origin):
        return log_finding("origin", f"{state['description']} belongs to another log, {state['origin']}")
    if state["length"] > entries:
        return log_finding("tail_truncation", f"the log has {entries} entries, fewer than {state['description']}{loss_text}")
    if computed != state.get("head", state.get("root")):
        return log_finding("full_rewrite", f"the log does not continue {state['description']}{loss_text}")
    return None


def percent_encode(text, pattern):
    return re.sub(pattern, lambda one: "".join(f"%{byte:02X}" for byte in one[0].encode()), text)


def escape_note_line(text):
    """Escapes control characters, which a line of a note cannot have."""
    return percent_encode(text, r"[\x00-\x1f\x7f-\x9f]")


def escape_for_terminal(text):
    """Escapes control characters, and characters that break a line or change its direction."""
    return percent_encode(text, r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


# One pass over an export


BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


def read_export_lines(file):
    """Yields (line without its end, its state), up to the first line without an end or longer than 16 MiB."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if not line.endswith(b"\n"):
            yield (line[:100], "too long") if len(line) > MAX_LINE_BYTES else (line, "not ended")
            return
        yield line[:-1], "ended"


def find_damage(line, number, state):
    """Explains how a line shows that the file is not as the service sent it, or returns None."""
    if number == 1 and line.startswith(b"\x1f\x8b"):
        return "it is compressed (gzip): unpack it first, for example with gunzip"
    if number == 1 and line.startswith(BYTE_ORDER_MARKS):
        return "it begins with a byte order mark, so another program saved it again: use the file as it was downloaded"
    if line == b"":
        return f"line {number} is empty, and an export has no empty lines: download it again"
    if number == 1 and line.startswith(b"countersign-certificate/"):
        return "it is the certificate of a change: verify it with certificate before the name of the file"
    if number == 1 and line.startswith(b'{"format":"countersign-export/'):
        return "it is a backup of a store, not an export of its log: restore it, or download the export"
    if number == 1 and not line.startswith(b'{"origin":"'):
        return "it does not begin with an entry of a log: it is an error, a page, or another file that was saved in its place"
    if state == "not ended":
        return "its last line is not ended, so the file was cut or its last line break removed: download it again"
    if state == "ended" and line.endswith(b"\r"):
        return f"line {number} ends with a carriage return, so line ends were converted: use the file as it was downloaded"
    return None


def target_key(tenant, target):
    """Returns the key of a target within its tenant; targets are ASCII and compared without case."""
    return target.translate(LOWER), tenant


def read_targets(sets, minimum=2):
    """Lists the keys of the targets that `sets` names; None unless they are different and at least `minimum`."""
    if not isinstance(sets, list) or len(sets) < minimum or not all(isinstance(one, dict) for one in sets):
        return None
    names = [(string_or_none(one.get("tenant_id")), string_or_none(one.get("target"))) for one in sets]
    if any(None in one for one in names):
        return None
    keys = [target_key(*one) for one in names]
    return keys if len(set(keys)) == len(keys) else None


def list_target_facts(entry):
    """Lists the targets of an apply or a rollback with their facts; more than one for a plan."""
    detail = parse_object(entry["detail"]) or {}
    sets = detail.get("sets")
    target_details = sets if isinstance(sets, list) else [{**detail, "tenant_id": entry["tenant"]}]
    for facts in (one for one in target_details if isinstance(one, dict)):
        yield target_key(string_or_none(facts.get("tenant_id")) or "", string_or_none(facts.get("target")) or ""), facts


class PlanCheck:
    """Verifies the targets of plans: an apply sets all targets that were proposed, a rollback restores some that are still set."""

    OTHER_TARGETS = "the targets in its sets are not those of its content"
    TARGETS_LEFT = "after its rollback a target of its plan is still applied"
    # Events that name the targets of a plan, after its proposal.
    FAILURES = ("change_apply_failed", "change_rollback_failed")
    OPERATIONS = ("change_applied", "change_rolled_back", *FAILURES, "change_drifted", "value_restored")
    # States of the target system after a failure, worst first; a plan has the worst state of its targets.
    WORST_FIRST = ("unknown", "applied", "absent", "rolled_back")
    NO_TARGETS = "its sets is not a valid list of targets of its plan"

    def __init__(self):
        self.plans = {}

    def add_content(self, change, content):
        """Takes the content of a change; returns why it does not match the entry of its proposal, or None."""
        plan = self.plans.get(change)
        if plan is None or "sets" not in content:
            return None if plan is None and "sets" not in content else self.OTHER_TARGETS
        return None if read_targets(content["sets"]) == plan["keys"] else self.OTHER_TARGETS

    def check(self, entry, line):
        """Returns a finding about an entry of a plan, or None."""
        if entry["event_type"] not in ("change_proposed", *self.OPERATIONS):
            return None
        message = self.find_problem(entry["event_type"], entry["change_id"], parse_object(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    def find_problem(self, event, change, detail):
        sets = detail.get("sets", ABSENT)
        if event == "change_proposed":
            keys = None if sets is ABSENT else read_targets(sets)
            if keys:
                self.plans[change] = {"keys": keys, "applied": set()}
            return None if keys or sets is ABSENT else self.NO_TARGETS
        plan = self.plans.get(change)
        if plan is None:
            return None if sets is ABSENT else "it has sets, but its change is not a plan"
        if event == "change_drifted":
            return self.find_unknown_target(plan, sets)
        if event in self.FAILURES:
            problem = self.find_failure_problem(plan, sets, detail.get("host"))
            if problem:
                return problem
            listed = sets if isinstance(sets, list) else []
            rolled_back = [one for one in listed if isinstance(one, dict) and "target_holds" in one]
            return self.remove_targets(plan, read_targets(rolled_back, 0) or [])
        keys = read_targets(sets, 1)
        if keys is None:
            return self.NO_TARGETS
        # The owners of restored targets are verified by OwnerCheck.
        if event == "value_restored":
            return None
        if event == "change_rolled_back":
            return self.remove_targets(plan, keys) or (self.TARGETS_LEFT if plan["applied"] else None)
        plan["applied"] = set(keys)
        return None if plan["applied"] == set(plan["keys"]) else "the targets in its sets are not those of its plan"

    def find_unknown_target(self, plan, sets):
        keys = read_targets(sets, 1)
        return None if keys and all(key in plan["keys"] for key in keys) else self.NO_TARGETS

    def find_failure_problem(self, plan, sets, host):
        """Explains what is wrong with the states of a plan's targets after a failure, or returns None; an edited change names no targets."""
        if sets is ABSENT:
            return None
        problem = self.find_unknown_target(plan, sets)
        if problem:
            return problem
        hosts = [one.get("host") for one in sets]
        worst = next((state for state in self.WORST_FIRST if state in hosts), ABSENT)
        return None if worst == host else "its host is not the worst state of its targets"

    @staticmethod
    def remove_targets(plan, keys):
        for key in keys:
            if key not in plan["applied"]:
                return "it rolls back a target of its plan that is not applied"
            plan["applied"].remove(key)
        return None


class OwnerCheck:
    """Verifies that only the change in force on a target restores its value; applies and rollbacks decide which one that is."""

    def __init__(self):
        # Target keys, by the change that owns them.
        self.owned_targets = {}

    def add_owner(self, change, key):
        self.owned_targets.setdefault(change, set()).add(key)

    def remove_owner(self, change, key):
        self.owned_targets.get(change, set()).discard(key)

    def check(self, entry, line):
        """Takes the next entry; returns a finding about a restore, or None."""
        event, change = entry["event_type"], entry["change_id"]
        if event == "change_applied":
            for key, facts in list_target_facts(entry):
                self.remove_owner(string_or_none(facts.get("target_held")), key)
                self.add_owner(change, key)
        elif event in ("change_rolled_back", "change_rollback_failed"):
            for key, facts in list_target_facts(entry):
                if event == "change_rollback_failed" and "target_holds" not in facts:
                    continue
                self.remove_owner(change, key)
                self.add_owner(string_or_none(facts.get("target_holds")), key)
        elif event == "value_restored":
            owned = self.owned_targets.get(change, ())
            if all(key in owned for key, _ in list_target_facts(entry)):
                return None
            message = "it restores the value of a change that is not in force on its target"
            return {"line": line, "entry": entry["id"], "rule": "form", "message": message}
        return None


APPLY_SERVICE = "policy:apply_when"
APPLY_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


class AutomationCheck:
    """Verifies automatic applies: the change was proposed with `apply_when`, is approved and due, and its automation was not stopped."""

    def __init__(self):
        # By change: [apply_when, time of its last consent, approved since, first approved].
        self.automatic, self.stopped, self.last = {}, {}, None

    def check(self, entry, line):
        """Returns a finding about an entry of an automatic apply, or None."""
        message = self.find_problem(entry, entry["event_type"], entry["change_id"], parse_object(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    def find_problem(self, entry, event, change, detail):
        is_approved = detail.get("status") == "approved"
        automation, timestamp = self.automatic.get(change), entry["timestamp"]
        # While the clock is behind the log, an entry repeats the time of the entry before it.
        is_time_exact = self.last is not None and self.last[0] == entry["id"] - 1 and timestamp > self.last[1]
        self.last = entry["id"], timestamp
        if event == "change_proposed" and "apply_when" in detail:
            first_approved = "" if is_approved else None
            self.automatic[change] = [detail["apply_when"], first_approved, timestamp if is_approved else None, first_approved]
        elif event == "consent_decision" and automation:
            approved_since = timestamp if automation[2] is None else automation[2]
            first_approved = timestamp if is_approved and automation[3] is None else automation[3]
            automation[1:] = [timestamp, approved_since, first_approved] if is_approved else [None, None, first_approved]
        elif event == "automation_stopped":
            if not automation:
                return "it stops the automatic apply of a change that has none"
            self.stopped[change] = self.automatic.pop(change)
        if detail.get("actor") != APPLY_SERVICE:
            return None
        if detail.get("authenticated") is not None:
            return f"its actor is {APPLY_SERVICE}, which is the service itself, but it has an authenticated"
        if event in ("automation_stopped", "change_apply_failed"):
            return None
        if event != "change_applied":
            return f"its actor is {APPLY_SERVICE}, which only applies changes or stops applying them"
        # An apply whose success was found out later may have begun before the automation was stopped, the approval revoked or the
        # 24 hours over. It still needs a consent, and its time.
        late = detail.get("late")
        is_resolved_later = (detail.get("resolved_after_interruption") if late is None else late) is True
        started = automation or (self.stopped.get(change) if is_resolved_later else None)
        if not started:
            return f"it was applied by {APPLY_SERVICE}, but the change is not set to apply automatically"
        apply_when, approved_at, approved_since, first_approved = started
        if is_resolved_later:
            return self.find_time_problem(apply_when, first_approved, approved_since, timestamp, False)
        return self.find_time_problem(apply_when, approved_at, approved_since, timestamp, is_time_exact)

    @staticmethod
    def find_time_problem(apply_when, approved_at, approved_since, at, is_time_exact):
        if approved_at is None:
            return f"it was applied by {APPLY_SERVICE}, but the change is not approved"
        if apply_when != "approved":
            is_time = isinstance(apply_when, str) and APPLY_TIME.fullmatch(apply_when)
            if not is_time or at < apply_when:
                return f"it was applied by {APPLY_SERVICE} before the apply_when of the change"
            if approved_at >= apply_when:
                return f"it was applied by {APPLY_SERVICE}, but approved after the apply_when of the change"
        due = approved_since if apply_when == "approved" else apply_when
        if is_time_exact and parse_time_ms(at) - parse_time_ms(due) > MAX_LATE_MS:
            return f"it was applied by {APPLY_SERVICE} more than 24 hours after it was due"
        return None


# An apply begins at most 24 hours after it was due, and may take another hour.
MAX_LATE_MS = 25 * 3600 * 1000
TIME_PARTS = re.compile(r"([0-9]{4}|[+-][0-9]{6})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z")
EPOCH = datetime.date(1970, 1, 1).toordinal()
MAX_TIME_MS = 8_640_000_000_000_000


def parse_time_ms(time):
    """Parses a time as the service writes it to milliseconds; NaN for any other, and where the calendar has no such time."""
    parts = TIME_PARTS.fullmatch(time)
    year, month, day, hour, minute, second, millisecond = map(int, parts.groups()) if parts else [0] * 7
    # A year has six digits only where four are too few.
    if not parts or (len(parts[1]) == 4) != (0 <= year <= 9999) or hour > 23 or max(minute, second) > 59:
        return math.nan
    try:
        # datetime has no year before 1, but the calendar repeats every 400 years.
        days = datetime.date(2000 + year % 400, month, day).toordinal() - EPOCH + (year // 400 - 5) * 146_097
    except ValueError:
        return math.nan
    moment = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + millisecond
    return moment if abs(moment) <= MAX_TIME_MS else math.nan


def verify_export(file, states=(), findings=(), remarks=(), policy=None, witnessed=(), contents=False):
    """Verifies the lines of a binary file and returns the report; Unreadable where it is not an export as the service sent it."""
    chain, tree, listed, total, proofs = Chain(), Tree(), [], 0, ProofCheck(policy)
    owners, automation, rollouts, plans = OwnerCheck(), AutomationCheck(), RolloutCheck(), PlanCheck()

    def add_content(change, content):
        return rollouts.add_content(change, content) or plans.add_content(change, content)

    contents_check, number = ContentsCheck(proofs.intents, add_content) if contents else None, 0
    with_tree = any("root" in state for state in states)
    lengths = {state["length"] for state in states}
    heads, roots, losses = {0: "0" * 64}, {0: tree.root()}, []

    def add_findings(*new_findings):
        nonlocal total, listed
        for finding in filter(None, new_findings):
            total += 1
            listed += [finding] if total <= MAX_LISTED_FINDINGS else []

    def check_line(line, number):
        if contents_check and is_content_line(line):
            add_findings(contents_check.check_content(line, number))
            return
        finding = chain.verify_line(line)
        add_findings(finding and {**finding, "line": number})
        add_findings(*(contents_check.check_entry(chain.entry, number) if contents_check else ()))
        add_findings(chain.entry and proofs.check(chain.entry, number))
        add_findings(chain.entry and owners.check(chain.entry, number))
        add_findings(chain.entry and automation.check(chain.entry, number))
        add_findings(chain.entry and rollouts.check(chain.entry, number))
        add_findings(chain.entry and plans.check(chain.entry, number))
        if chain.entry and chain.entry["event_type"] == "loss_accepted":
            losses.append(read_loss(chain.entry))
        if with_tree:
            tree.add(chain.last["current_hash"] if chain.last else "0" * 64)
        if chain.lines in lengths:
            heads[chain.lines] = chain.last["current_hash"] if chain.last else ""
            roots[chain.lines] = tree.root() if with_tree else ""

    for number, (line, state) in enumerate(read_export_lines(file), 1):
        damage = find_damage(line, number, state)
        if damage:
            raise Unreadable(f"this is not an export as the service sent it: {damage}")
        try:
            check_line(line if state == "ended" else b"", number)
        except Exception as error:  # An unexpected error must not end the verification: it becomes a finding.
            message = f"an unexpected error stopped its check: {type(error).__name__}: {error}"
            add_findings({"line": number, "entry": None, "rule": "form", "message": message})
    if number == 0:
        raise Unreadable("there is nothing to verify: the file is empty")
    add_findings(*(contents_check.finish() if contents_check else ()))
    evidence_findings = list(findings)
    for state in states:
        computed = (heads if "head" in state else roots).get(state["length"])
        evidence_findings.append(find_state_mismatch(state, computed, chain.origin or "", chain.lines, losses))
    evidence_findings = [finding for finding in evidence_findings if finding]
    total += len(evidence_findings)
    # Every log continues an empty one, so the state of an empty log proves nothing.
    has_evidence = any(state["length"] > 0 for state in states)
    return {
        "verdict": "bad" if total else "valid" if has_evidence else "consistent",
        "entries": chain.lines,
        "origin": chain.origin or "",
        "head": chain.last["current_hash"] if chain.last else "",
        "findings": (listed + evidence_findings)[:MAX_LISTED_FINDINGS],
        "findings_total": total,
        "held_against": [state["description"] for state in states],
        "witnessed": list(witnessed),
        "proofs": proofs.counts,
        "contents": contents_check.counts if contents_check else None,
        "losses": losses,
        "not_checked": [] if has_evidence else ["tail_truncation", "full_rewrite"],
        "remarks": [*remarks, *rollouts.remarks()],
    }


# Rollouts: the rule cs1; a plan is the field `stages` of a change


BUCKETS = 10_000
BOUND_ERROR = 0.05
MISMATCH_ERROR = 0.01
MIN_USERS = 2


def murmur3(data):
    """Returns MurmurHash3 for 32 bits, seed 0, of bytes."""

    def rotate(number, by):
        return (number << by | number >> (32 - by)) & 0xFFFFFFFF

    def scramble(word):
        return rotate(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    state = 0
    whole_words = len(data) // 4 * 4
    for at in range(0, whole_words, 4):
        state ^= scramble(int.from_bytes(data[at : at + 4], "little"))
        state = (rotate(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= scramble(int.from_bytes(data[whole_words:], "little"))
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state


def bucket_of(salt, unit):
    """Returns the bucket of a user, 0 to 9,999; a step treats those below its share."""
    return murmur3((salt + unit).encode()) * BUCKETS >> 32


def round_figure(number):
    """Rounds to 10 significant digits; None for None and for infinite numbers."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.9e}")


def read_bounds(kpi):
    return (0, 1) if kpi["kind"] == "binary" else tuple(kpi["bounds"])


def exceeds(number, limit):
    """Compares to 9 digits, since totals are sums of floating-point numbers; a missing number exceeds everything."""
    if number is None or limit is None or math.isnan(number) or math.isnan(limit):
        return True
    return number - limit > 1e-9 * max(abs(number), abs(limit))


def find_range_problem(name, users, total, squares, low, high):
    if exceeds(users * low, total) or exceeds(total, users * high):
        return f"{name} is outside the bounds of {users} users"
    if squares is None or exceeds(total * total / users, squares):
        return f"{name}2 is less than equal values would give"
    if exceeds(squares, (low + high) * total - users * low * high):
        return f"{name}2 is more than values within the bounds give"
    return None


def find_impossible_total(kpi, totals):
    """Explains why the totals of an arm are impossible, or returns None."""
    users, total = totals["n"], totals["sum"]
    if kpi["kind"] == "binary":
        if total < 0:
            return "fewer successes than none"
        return "more successes than users" if total > users else None
    problem = find_range_problem("sum", users, total, totals.get("sum2"), *read_bounds(kpi))
    if problem is not None or kpi["kind"] == "mean":
        return problem
    if "per" not in totals:
        return f"per is outside the bounds of {users} users"
    problem = find_range_problem("per", users, totals["per"], totals.get("per2"), *kpi["per_bounds"])
    if problem is not None:
        return problem
    cross = totals.get("cross")
    if cross is None or exceeds(cross * cross, totals["sum2"] * totals["per2"]):
        return "cross is beyond what the sums of squares allow"
    return None


def estimate_arm(kpi, totals):
    """Returns mean, variance and range per user of an arm; the variance includes one more user at half the range from the mean."""
    users = totals["n"]
    low, high = read_bounds(kpi)
    if kpi["kind"] == "ratio":
        per_low, per_high = kpi["per_bounds"]
        mean, scale = totals["sum"] / totals["per"], totals["per"] / users
        squares = (totals["sum2"] - 2 * mean * totals["cross"] + mean * mean * totals["per2"]) / (scale * scale)
        span = (high - low + mean * (per_high - per_low)) / scale
    else:
        mean, span = totals["sum"] / users, high - low
        # The values are 0 and 1, so the sum of squares is the sum.
        squares = (totals["sum"] if kpi["kind"] == "binary" else totals["sum2"]) - totals["sum"] * totals["sum"] / users
    return mean, (squares + span * span / 4) / users, span


def solve_quadratic(square, linear, constant):
    """Returns both roots, the smaller first; None where the interval between them is not bounded."""
    discriminant = linear * linear - 4 * square * constant
    if not (square > 0 and discriminant >= 0):
        return None
    root = math.sqrt(discriminant)
    return (-linear - root) / (2 * square), (-linear + root) / (2 * square)


class Harm:
    """Estimates how much worse the treated users are than the control; positive is worse. Relative: as a fraction of the control's mean."""

    def __init__(self, kpi, treated, control):
        mean_t, variance_t, _ = estimate_arm(kpi, treated)
        self.mean, self.variance, span = estimate_arm(kpi, control)
        self.users_t, users_c = treated["n"], control["n"]
        self.up = kpi["good"] == "up"
        self.relative = isinstance(kpi["allowed"], dict)
        self.pairs = self.users_t * users_c / (self.users_t + users_c)
        self.harm = (self.mean - mean_t) if self.up else (mean_t - self.mean)
        larger = max(variance_t, self.variance)
        self.noise_t = (larger if self.users_t <= users_c else variance_t) / self.users_t
        self.noise_c = (larger if users_c <= self.users_t else self.variance) / users_c
        low, high = read_bounds(kpi)
        if kpi["kind"] == "ratio":
            low, high = low / kpi["per_bounds"][1], high / kpi["per_bounds"][0]
        self.range_left = abs((high if self.up else low) - self.mean) + span / (4 * users_c)

    def width(self, risk):
        stretch = 1 + self.pairs / 100
        return 2 * (1 + 100 / self.pairs) * math.log(1 + math.sqrt(stretch) / (2 * risk))

    def relative_roots(self, width, fixed, growth):
        """Solves (x*mean - harm)^2 = width * (fixed + growth*x*mean + noise_c*(1 -+ x)^2), by Fieller."""
        sign = -1 if self.up else 1
        return solve_quadratic(
            self.mean * self.mean - width * self.noise_c,
            -2 * self.mean * self.harm - width * (growth * self.mean + 2 * sign * self.noise_c),
            self.harm * self.harm - width * (fixed + self.noise_c),
        )

    def lower_bound(self, risk):
        width = self.width(risk)
        if self.relative:
            roots = self.relative_roots(width, self.noise_t, 0)
            return None if roots is None else roots[0]
        return self.harm - math.sqrt(width * (self.noise_t + self.noise_c))

    def upper_bound(self, risk):
        width = self.width(risk)
        # The second equation has the variance of a treated arm that is worse by x.
        fixed, growth = self.variance / self.users_t, self.variance / self.users_t / self.range_left
        if self.relative:
            found = self.relative_roots(width, self.noise_t, 0), self.relative_roots(width, fixed, growth)
            return None if None in found else max(found[0][1], found[1][1])
        plain = self.harm + math.sqrt(width * (self.noise_t + self.noise_c))
        # x = harm + s, where s^2 - width*growth*s - width*(fixed + growth*harm + noise_c) = 0.
        half = width * growth / 2
        inner = half * half + width * (fixed + growth * self.harm + self.noise_c)
        return None if inner < 0 else max(plain, self.harm + half + math.sqrt(inner))


def split_evidence(treated, control, share):
    """Returns the logarithm of the evidence that the numbers of users do not match the share."""
    users, p = treated + control, share / BUCKETS
    tilts = [sign / 2**power for power in range(8) for sign in (1, -1)]
    logs = [tilt * treated - users * math.log1p(p * math.expm1(tilt)) for tilt in tilts]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs) / len(logs))


def allowed_harm(kpi):
    return kpi["allowed"]["relative"] if isinstance(kpi["allowed"], dict) else kpi["allowed"]


def count_tests(plan):
    return sum(step["share"] < BUCKETS for step in plan["steps"]) * len(plan["watch"])


def compute_reading(plan, step, kpi, cell):
    """Returns the figures of a KPI in a step, without numbers where an arm has fewer than two users."""
    reading = {"step": step, "kpi": kpi["kpi"]}
    if cell is None or min(cell["treated"]["n"], cell["control"]["n"]) < MIN_USERS:
        return reading
    problem = find_impossible_total(kpi, cell["treated"]) or find_impossible_total(kpi, cell["control"])
    if problem is not None:
        return {**reading, "bad": problem}
    harm, tests = Harm(kpi, cell["treated"], cell["control"]), count_tests(plan)
    worse_low = round_figure(harm.lower_bound(BOUND_ERROR / tests))
    better_high = round_figure(harm.upper_bound(BOUND_ERROR / tests))
    evidence = round_figure(split_evidence(cell["treated"]["n"], cell["control"]["n"], plan["steps"][step]["share"]))
    return {
        **reading,
        "treated": round_figure(estimate_arm(kpi, cell["treated"])[0]),
        "control": round_figure(estimate_arm(kpi, cell["control"])[0]),
        "worse_low": worse_low,
        "worse_high": round_figure(harm.upper_bound(BOUND_ERROR)),
        "is_worse": worse_low is not None and worse_low > allowed_harm(kpi),
        "is_better": better_high is not None and better_high < 0,
        "mismatch_ln": evidence,
        "is_mismatched": evidence >= math.log(tests / MISMATCH_ERROR),
    }


def decide_step(plan, state):
    """Decides by the rule cs1; `plan`: the field `stages`, `state`: step, hours, silent, and the newest totals by step and KPI."""
    current, cells = state["step"], state["cells"]

    def cells_of(step):
        return (cells[step] if step < len(cells) else None) or {}

    readings = [
        compute_reading(plan, step, kpi, cells_of(step).get(kpi["kpi"])) for step in range(current + 1) for kpi in plan["watch"]
    ]

    def decision(decision_name, reason, reading=None):
        about = {} if reading is None else {"kpi": reading["kpi"], "step": reading["step"]}
        return {"decision": decision_name, "reason": reason, **about, "readings": readings}

    for decision_name, reason, member in (
        ("rollback", "worse", "is_worse"),
        ("hold", "mismatch", "is_mismatched"),
        ("hold", "impossible_data", "bad"),
    ):
        reading = next((one for one in readings if one.get(member)), None)
        if reading is not None:
            return decision(decision_name, reason, reading)
    fed_cells, step = cells_of(current), plan["steps"][current]
    if any(kpi["kpi"] not in fed_cells for kpi in plan["watch"]) or state["silent"] > plan["max_silent_hours"]:
        return decision("hold", "no_data")
    if step["advance"] == "manual":
        return decision("hold", "manual")
    if state["hours"] < step["min_hours"]:
        return decision("hold", "min_hours")
    next_share = plan["steps"][current + 1]["share"] if current + 1 < len(plan["steps"]) else BUCKETS
    for kpi, reading in zip(plan["watch"], readings[-len(plan["watch"]) :]):
        cell = fed_cells[kpi["kpi"]]
        if step["advance"] == "unless_worse":
            passes = min(cell["treated"]["n"], cell["control"]["n"]) >= step.get("min_users", MIN_USERS)
        else:
            high = reading.get("worse_high")
            exposed = next_share / BUCKETS if step["advance"] == "budget" else 1
            passes = high is not None and high * exposed <= allowed_harm(kpi)
        if not passes:
            return decision("hold", "not_yet", reading)
    return decision("advance", step["advance"])


def decide_rollout(plan, state, baseline):
    """Decides on a rollback by all totals, and, after a resume from a mismatch, on anything else by the totals above `baseline`."""
    decided = decide_step(plan, state)
    if baseline is None or decided["decision"] == "rollback":
        return decided

    def subtract_baseline(cell, baseline_cell):
        return {
            arm: {name: total - baseline_cell[arm].get(name, 0) for name, total in cell[arm].items()} if baseline_cell else cell[arm]
            for arm in ("treated", "control")
        }

    newer = [
        {kpi: subtract_baseline(cell, (baseline[step] if step < len(baseline) else {}).get(kpi)) for kpi, cell in cells.items()}
        for step, cells in enumerate(state["cells"])
    ]
    decided = decide_step(plan, {**state, "cells": newer})
    return {**decided, "decision": "hold", "reason": "not_yet"} if decided["decision"] == "rollback" else decided


def group_totals(totals):
    """Returns the totals of a decision by step and KPI."""
    cells = []
    for row in totals:
        cells += [{} for _ in range(int(row["step"]) + 1 - len(cells))]
        arms = {arm: {name: float(total) for name, total in row[arm].items()} for arm in ("treated", "control")}
        cells[int(row["step"])][row["kpi"]] = arms
    return cells


def is_finite_number(value):
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


ROLLOUT_SERVICE = "policy:stages"
HOUR_MS = 3600 * 1000
MAX_FALL = 0.01
# The service accepts totals whose time is this far ahead of its clock.
MAX_AHEAD_MS = 5 * 60_000
STATED_DECISIONS = {"stage_advanced": "advance", "stage_held": "hold", "stage_stopped": "rollback"}
OTHER_STAGES = "its stages are not those of its content"
NO_PERSON = "its actor is not a person, and its action needs one"


def read_named_stages(detail):
    """Reads (shares, feeder) of a proposal's entry; None unless its shares grow, from 1 to below 10,000, and it names a feeder."""
    stages = detail.get("stages")
    shares = stages.get("shares") if isinstance(stages, dict) else None
    if not (isinstance(shares, list) and shares and isinstance(stages.get("fed_by"), str)):
        return None
    if not all(is_integer_at_least(share, 1) and share < BUCKETS for share in shares):
        return None
    return (shares, stages["fed_by"]) if all(map(float.__lt__, map(float, shares), map(float, shares[1:]))) else None


def matches_content(named, content):
    """Returns whether an entry and a content have the same shares and feeder, or both no stages."""
    if named is None or "stages" not in content:
        return named is None and "stages" not in content
    stages = content["stages"]
    steps = stages.get("steps") if isinstance(stages, dict) else None
    if not isinstance(steps, list) or stages.get("fed_by") != named[1] or len(steps) != len(named[0]):
        return False
    shares = [step.get("share") if isinstance(step, dict) else None for step in steps]
    return all(is_integer_at_least(share, 1) for share in shares) and shares == named[0]


def is_plan(stages):
    """Returns whether the stages of a content are a plan whose numbers the rule can use."""

    def is_range(pair):
        return isinstance(pair, list) and len(pair) == 2 and all(map(is_finite_number, pair)) and pair[0] < pair[1]

    def is_step(step):
        if not (isinstance(step, dict) and is_integer_at_least(step.get("share"), 1) and is_finite_number(step.get("min_hours"))):
            return False
        has_known_advance = step.get("advance") in ["budget", "proven", "unless_worse", "manual"]
        return has_known_advance and ("min_users" not in step or is_integer_at_least(step["min_users"], 2))

    def is_watched(kpi):
        if not (isinstance(kpi, dict) and isinstance(kpi.get("kpi"), str) and kpi.get("good") in ["up", "down"]):
            return False
        allowed, kind = kpi.get("allowed"), kpi.get("kind")
        if not is_finite_number(allowed["relative"] if isinstance(allowed, dict) and "relative" in allowed else allowed):
            return False
        if kind == "ratio" and not (is_range(kpi.get("per_bounds")) and kpi["per_bounds"][0] > 0):
            return False
        return kind == "binary" or (kind in ["mean", "ratio"] and is_range(kpi.get("bounds")))

    if not (isinstance(stages, dict) and is_finite_number(stages.get("max_silent_hours"))):
        return False
    steps, watch = stages.get("steps"), stages.get("watch")
    has_lists = isinstance(steps, list) and isinstance(watch, list) and steps and watch
    return bool(has_lists) and all(map(is_step, steps)) and all(map(is_watched, watch))


def is_by_person(detail):
    """Returns whether the actor of an entry is a person, not the service."""
    actor = string_or_none(detail.get("actor"))
    return actor is not None and not actor.startswith("policy:")


class RolloutCheck:
    """Verifies rollouts: no step is skipped, and each decision is the one that the rule cs1 makes from the recorded totals."""

    def __init__(self):
        self.rollouts, self.unread_rollouts, self.newest_intent = {}, set(), 0

    def add_content(self, change, content):
        """Takes the content of a change, which has the plan; returns why it does not match the entry of its proposal, or None."""
        stages, rollout = content.get("stages"), self.rollouts.get(change)
        has_plan = is_plan(stages)
        if rollout:
            rollout["plan"] = stages if has_plan else None
        if not matches_content(rollout and (rollout["shares"], rollout["feeder"]), content):
            return OTHER_STAGES
        return "the stages of its content are not a valid rollout" if rollout and not has_plan else None

    def remarks(self):
        """Yields the remark that decisions could not be computed again without their plan."""
        if self.unread_rollouts:
            yield f"decisions of {len(self.unread_rollouts)} rollouts were not computed again: their stages are not in this file"

    def check(self, entry, line):
        """Returns a finding about an entry of a rollout, or None."""
        message = self.find_problem(entry, parse_object(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    @staticmethod
    def new_rollout(shares, feeder, plan=None):
        return {
            **{"shares": shares, "feeder": feeder, "plan": plan, "is_running": False, "step": 0, "began_with": 0, "began_at_ms": math.nan},
            **{"held_by": None, "is_mismatched": False, "stopped_by": None, "baseline": None, "largest": {}},
        }

    def find_problem(self, entry, detail):
        event, change = entry["event_type"], entry["change_id"]
        rollout = self.rollouts.get(change)
        if event == "intent_in_force":
            self.newest_intent = entry["id"]
        if event != "change_proposed" and rollout is not None:
            self.add_intent(rollout, entry, detail)
        if event == "change_proposed":
            named = read_named_stages(detail)
            if named:
                self.rollouts[change] = {**self.new_rollout(*named), "intents": []}
                self.add_intent(self.rollouts[change], entry, detail)
            elif "stages" in detail:
                return "its stages do not have rising shares and a fed_by"
        elif event == "change_applied":
            return self.begin_rollout(rollout, entry, detail)
        elif event == "change_rolled_back":
            is_ordered = rollout is not None and rollout["stopped_by"] is not None
            if rollout is not None:
                rollout["is_running"] = False
            if ROLLOUT_SERVICE in (detail.get("by"), detail.get("actor")) and not is_ordered:
                return f"it was rolled back by {ROLLOUT_SERVICE}, but the rule of its rollout did not order that"
        elif event.startswith("stage_"):
            if rollout is None or not rollout["is_running"]:
                return "its change is not being rolled out"
            if rollout["plan"] is None:
                self.unread_rollouts.add(change)
            return self.find_step_problem(rollout, entry, detail)
        return None

    @staticmethod
    def add_intent(rollout, entry, detail):
        """Adds the intent that an entry names, unless the entry before names the same."""
        intents, manifest = rollout["intents"], read_manifest_hash(detail)
        if not intents or intents[-1][1] != manifest:
            intents.append((entry["id"], manifest))

    def begin_rollout(self, rollout, entry, detail):
        stage = detail.get("stage", ABSENT)
        if rollout is None:
            return None if stage is ABSENT else "it has a stage, but its change is not a rollout"
        rollout.update(self.new_rollout(rollout["shares"], rollout["feeder"], rollout["plan"]))
        rollout.update(is_running=True, began_with=entry["id"], began_at_ms=parse_time_ms(entry["timestamp"]))
        is_first = isinstance(stage, dict) and is_integer_at_least(stage.get("step"), 0) and stage["step"] == 0
        is_first = is_first and is_integer_at_least(stage.get("share"), 1) and stage["share"] == rollout["shares"][0]
        return None if is_first else "its stage is not the first step of its rollout"

    def find_step_problem(self, rollout, entry, detail):
        event, step = entry["event_type"], rollout["step"]
        if not is_integer_at_least(detail.get("step"), 0) or detail["step"] != step:
            return f"its step is not {step}, the current step of the rollout"
        if step >= len(rollout["shares"]):
            return "the rollout has already reached all users"
        if detail.get("decision", ABSENT) != STATED_DECISIONS.get(event, ABSENT):
            return "its decision does not match its event_type"
        totals = self.read_totals(detail.get("totals", ABSENT))
        problem = "its totals are malformed" if totals is None else self.find_totals_problem(rollout, totals, entry)
        if problem:
            return problem
        if event == "stage_advanced":
            return self.find_advance_problem(rollout, entry, detail, totals)
        if event == "stage_stopped":
            if rollout["stopped_by"] is not None:
                return "the rollout has already been stopped"
            if detail.get("actor") != ROLLOUT_SERVICE:
                return f"its actor is not {ROLLOUT_SERVICE}, which alone stops a rollout"
            rollout["stopped_by"] = entry["id"]
            is_rollback = lambda decided: decided["decision"] == "rollback"  # noqa: E731
            return self.find_decision_problem(rollout, entry, detail, totals, is_rollback)
        if event == "stage_resumed":
            return self.find_resume_problem(rollout, entry, detail, totals)
        if event == "stage_held":
            return self.find_hold_problem(rollout, entry, detail, totals)
        return "its event_type is not a known event of a rollout"

    def find_advance_problem(self, rollout, entry, detail, totals):
        step, shares, ordered = rollout["step"], rollout["shares"], detail.get("ordered", ABSENT)
        next_step, share = detail.get("to"), shares[step + 1] if step + 1 < len(shares) else None
        stated_share = detail.get("share", ABSENT)
        is_next_share = stated_share == share and not isinstance(stated_share, bool)
        if not is_integer_at_least(next_step, 0) or next_step != step + 1 or not is_next_share:
            return "its to and share are not those of the next step"
        if rollout["is_mismatched"]:
            return "it advances a rollout that a mismatch holds"
        if ordered is not ABSENT and not (is_integer_at_least(ordered, rollout["began_with"] + 1) and ordered <= entry["id"]):
            return "its ordered is before its step began, or after itself"
        for stop, problem in (("held_by", "that a person holds"), ("stopped_by", "that its rule has stopped")):
            if rollout[stop] is not None and (ordered is ABSENT or ordered > rollout[stop]):
                return f"it advances a rollout {problem}"
        reason = detail.get("reason")
        if reason == "manual" and not is_by_person(detail):
            is_unnamed = ordered is not ABSENT and "actor" in detail and detail["actor"] is None
            if not (is_unnamed and self.is_under_other_intent(rollout, detail, ordered)):
                return NO_PERSON

        def is_decided(decided):
            if reason == "manual":
                return decided["reason"] == "manual" and detail["hours"] >= rollout["plan"]["steps"][step]["min_hours"]
            return decided["decision"] == "advance" and decided["reason"] == reason

        problem = self.find_decision_problem(rollout, entry, detail, totals, is_decided)
        rollout.update(step=step + 1, began_with=entry["id"], began_at_ms=parse_time_ms(entry["timestamp"]))
        return problem

    def is_under_other_intent(self, rollout, detail, ordered):
        """Returns whether the intent has changed since an advance was ordered: then a person's signature no longer counts."""
        earlier = [manifest for identifier, manifest in rollout["intents"] if identifier < ordered]
        return self.newest_intent >= ordered or earlier[-1:] != [detail.get("manifest_hash")]

    @staticmethod
    def find_resume_problem(rollout, entry, detail, totals):
        if rollout["held_by"] is None and not rollout["is_mismatched"]:
            return "it resumes a rollout that is not held"
        if not is_by_person(detail):
            return NO_PERSON
        stated_keys = {(row["step"], row["kpi"]) for row in totals}
        if rollout["is_mismatched"] and not stated_keys.issuperset(rollout["largest"]):
            return "its totals lack a KPI or step of earlier entries"
        if not rollout["is_mismatched"] and totals:
            return "it has totals, but resumes no mismatch"
        if rollout["is_mismatched"]:
            rollout["baseline"] = entry["id"], group_totals(totals)
        rollout.update(held_by=None, is_mismatched=False)
        return None

    def find_hold_problem(self, rollout, entry, detail, totals):
        reason, is_by_rule = detail.get("reason"), "rule" in detail
        if not isinstance(reason, str):
            return "its reason is missing"
        if reason == "by_hand" and not is_by_rule:
            if rollout["held_by"] is not None:
                return "a person already holds the rollout"
            rollout["held_by"] = entry["id"]
            return None
        was_mismatched = rollout["is_mismatched"]
        rollout["is_mismatched"] = was_mismatched or reason == "mismatch"

        def is_decided(decided):
            if decided["decision"] == "rollback":
                return False
            if reason == "mismatch":
                return was_mismatched or decided["reason"] == reason
            is_rule_reason = reason in ("no_data", "manual", "min_hours", "not_yet")
            return decided["reason"] == reason if is_rule_reason else decided["reason"] != "mismatch"

        if not is_by_rule:
            return "its reason is mismatch, but its rule is missing" if reason == "mismatch" else None
        return self.find_decision_problem(rollout, entry, detail, totals, is_decided)

    @staticmethod
    def read_totals(totals):
        """Reads the totals of an entry: [] where it has none, None where they are malformed."""

        def is_arm(arm):
            if not (isinstance(arm, dict) and is_finite_number(arm.get("n")) and is_finite_number(arm.get("sum"))):
                return False
            return arm["n"] >= 0 and all(map(is_finite_number, arm.values()))

        def is_row(row):
            return (
                isinstance(row, dict)
                and is_integer_at_least(row.get("step"), 0)
                and all(isinstance(row.get(name), str) for name in ("kpi", "as_of", "at", "by"))
                and not any(math.isnan(parse_time_ms(row[name])) for name in ("as_of", "at"))
                and is_arm(row.get("treated"))
                and is_arm(row.get("control"))
            )

        if totals is ABSENT:
            return []
        return totals if isinstance(totals, list) and all(map(is_row, totals)) else None

    @staticmethod
    def find_totals_problem(rollout, totals, entry):
        """Explains why totals contradict earlier ones or their entry; adds them to the largest where they do not."""
        latest = parse_time_ms(entry["timestamp"]) + MAX_AHEAD_MS
        for row in totals:
            kpi, users = row["kpi"], (row["treated"]["n"], row["control"]["n"])
            as_of, arrived = parse_time_ms(row["as_of"]), parse_time_ms(row["at"])
            if row["step"] > rollout["step"]:
                return f"its totals are of step {row['step']}, which the rollout has not reached"
            if normalize_name(row["by"]) != normalize_name(rollout["feeder"]):
                return f"its totals of {kpi} are not from the fed_by of its stages"
            if not max(as_of, arrived) <= latest:
                return f"its totals of {kpi} are later than the entry"
            before = rollout["largest"].get((row["step"], kpi))
            if before and any(count < earlier * (1 - MAX_FALL) for count, earlier in zip(users, before[1])):
                return f"its totals of {kpi} have fewer users than an earlier entry"
            if before and sum(users) > 0 and as_of < before[0]:
                return f"its totals of {kpi} are older than those of an earlier entry"
            largest = tuple(map(max, users, before[1])) if before else users
            # The time of a row without users says nothing.
            earlier_as_of = before[0] if before else -math.inf
            rollout["largest"][row["step"], kpi] = as_of if sum(users) > 0 else earlier_as_of, largest
        return None

    @staticmethod
    def find_decision_problem(rollout, entry, detail, totals, is_decided):
        """Computes a decision again; explains how the recorded one differs, or returns None."""
        hours, silent, step = detail.get("hours"), detail.get("silent"), rollout["step"]
        if detail.get("rule") != "cs1":
            return "its rule is not cs1"
        baseline, cells = rollout["baseline"] or (ABSENT, None)
        if detail.get("baseline", ABSENT) != baseline:
            return "its baseline is not the last resume after a mismatch"
        if not (is_finite_number(hours) and is_finite_number(silent)):
            return "its hours or silent is not a number"
        decided_at = rollout["began_at_ms"] + hours * HOUR_MS
        delay_ms = parse_time_ms(entry["timestamp"]) - decided_at
        # An advance is recorded only after the target system was set, later than it was decided.
        if not delay_ms >= -1 or (delay_ms > 1 and "ordered" not in detail and entry["event_type"] == "stage_advanced"):
            return "its hours do not match the time since its step began"
        times = [parse_time_ms(row[name]) for row in totals if row["step"] == step for name in ("as_of", "at")]
        computed_silence = max(0, (decided_at - min(times)) / HOUR_MS) if times else 0
        if abs(computed_silence - silent) > 1e-6:
            return "its silent does not match the age of its oldest totals"
        if rollout["plan"] is None:
            return None
        state = {"step": step, "hours": hours, "silent": silent, "cells": group_totals(totals)}
        decided = decide_rollout(rollout["plan"], state, cells)
        readings = detail.get("readings")
        if not (isinstance(readings, list) and len(readings) == len(decided["readings"])):
            return "its readings are not those of the rule cs1 on its totals"
        if not all(map(is_same_reading, readings, decided["readings"])):
            return "its readings are not those of the rule cs1 on its totals"
        return None if is_decided(decided) else "its decision is not that of the rule cs1 on its totals"


def is_same_reading(recorded, computed):
    """Compares results to nine digits; for `bad`, the reason why totals are impossible, each implementation has its own words."""

    def same(name):
        one, other = recorded.get(name, ABSENT), computed.get(name, ABSENT)
        if is_finite_number(one) and is_finite_number(other):
            return abs(one - other) <= 1e-9 * max(1, abs(one), abs(other))
        return type(one) is type(other) if name == "bad" else one is other or (type(one) is type(other) and one == other)

    return isinstance(recorded, dict) and all(map(same, {*recorded, *computed}))


# Certificates

PART_HEAD = re.compile(rb"(content|erased|intent|proof) ([1-9][0-9]{0,8})\n")
PART_ORDER = re.compile(r"(content|erased)( intent)*( proof)+")
CERTIFICATE_HEAD = b"countersign-certificate/v1\n"
TLOG_PROOF = re.compile(
    r"c2sp\.org/tlog-proof@v1\nextra ([A-Za-z0-9+/]+={0,2})\nindex (0|[1-9][0-9]{0,14})\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n(.+)",
    re.DOTALL,
)


def read_parts(file):
    """Splits a certificate into the (name, text) of its parts."""
    error = Unreadable("this is not a certificate in the exact form that the service writes")
    try:
        file.decode("utf-8")
    except ValueError:
        raise error from None
    if not file.startswith(CERTIFICATE_HEAD):
        raise error
    at, parts = len(CERTIFICATE_HEAD), []
    while at < len(file):
        head = PART_HEAD.match(file, at)
        end = head and head.end() + int(head[2])
        if not head or end > len(file) or file[end - 1 : end] != b"\n":
            raise error
        try:
            parts.append((head[1].decode(), file[head.end() : end].decode("utf-8")))
        except ValueError:
            raise error from None
        at = end
    if not PART_ORDER.fullmatch(" ".join(name for name, _ in parts)):
        raise error
    return parts


def compute_root_from_path(leaf, index, length, path):
    """Returns the root that an inclusion path leads to (RFC 9162, 2.1.3.2); None where the path has a wrong length."""
    root, last = hashlib.sha256(b"\x00" + leaf).digest(), length - 1
    if index > last:
        return None
    for sibling in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            root = hashlib.sha256(b"\x01" + sibling + root).digest()
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            root = hashlib.sha256(b"\x01" + root + sibling).digest()
        index, last = index >> 1, last >> 1
    return root if last == 0 else None


def parse_proof(text):
    """Verifies a tlog-proof; returns (entry, note, checkpoint), or a text that explains why it is invalid."""
    parts = TLOG_PROOF.fullmatch(text)
    if not parts:
        return "it is not a tlog-proof with an entry"
    checkpoint = parse_checkpoint(parts[4])
    if not checkpoint:
        return "it has no checkpoint"
    line = decode_base64(parts[1])
    entry = parse_entry(line) if line else None
    if not entry:
        return "it has no entry in the exact form that the service writes"
    if entry["current_hash"] != compute_entry_hash(entry):
        return f"current_hash does not cover the fields of entry {entry['id']}"
    if int(parts[2]) != entry["id"] - 1:
        return f"its index is not that of entry {entry['id']}"
    path = [decode_base64(sibling) for sibling in parts[3].split("\n")[:-1]]
    if None in path:
        return "its hashes are not base64"
    root = compute_root_from_path(bytes.fromhex(entry["current_hash"]), int(parts[2]), checkpoint["length"], path)
    if root is None or base64.b64encode(root).decode() != checkpoint["root"]:
        return f"entry {entry['id']} is not in the tree of its checkpoint"
    return entry, parts[4], checkpoint


def parse_tlog_policy(text):
    """Parses a C2SP tlog-policy to logs, witnesses and quorum; ValueError names the line."""
    logs, witnesses, rules, quorum = [], {}, {}, []
    for number, line in enumerate(text.split("\n"), 1):

        def require(condition, problem):
            if not condition:
                raise ValueError(f"line {number}: {problem}")

        require(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line), "it contains a control character other than a tab")
        words = re.split(r"[ \t]+", line.strip(" \t"))
        word, rest = words[0], words[1:]
        if word == "" or word.startswith("#"):
            continue
        if word == "log":
            key = parse_verifier_key(rest[0] if rest else "")
            require(key, "a verifier key is needed")
            require(all(key[1] != other[1] for other in logs), "this log is listed already")
            logs.append(key)
        elif word == "witness":
            key = parse_verifier_key(rest[1] if len(rest) > 1 else "", COSIGNATURE)
            require(key, "a verifier key is needed")
            require(all(key[1] != other[1] for other in witnesses.values()), "this witness is listed already")
            require(rest[0] not in rules and rest[0] != "none", "a new name is needed")
            witnesses[rest[0]] = rules[rest[0]] = key
        elif word == "group":
            name, size, names = (rest + ["", ""])[0], (rest + ["", ""])[1], rest[2:]
            minimum = {"all": len(names), "any": 1}.get(size, int(size) if re.fullmatch(r"[1-9][0-9]*", size) else 0)
            is_valid = 1 <= minimum <= len(names) and len(set(names)) == len(names)
            require(is_valid, "a group has a name, then all, any or a number, then members, each once")
            for member in names:
                require(member in rules, f"{member} is not defined on an earlier line")
            require(name not in rules and name != "none", "a new name is needed")
            rules[name] = [minimum, [rules[member] for member in names]]
        elif word == "quorum" and not quorum:
            quorum_name = rest[0] if rest else ""
            require(quorum_name == "none" or quorum_name in rules, f"{quorum_name} is not defined on an earlier line")
            quorum.append(None if quorum_name == "none" else rules[quorum_name])
        else:
            require(False, "log, witness, group, or one quorum is needed")
    if not quorum:
        raise ValueError("exactly one quorum is needed; quorum none asks for no witness")
    return {"logs": logs, "witnesses": witnesses, "quorum": quorum[0]}


def read_tlog_policy(path):
    try:
        return parse_tlog_policy(read_text(path))
    except ValueError as error:
        raise Unreadable(f"{path} is not a tlog-policy: {error}") from error


def is_rule_met(rule, cosigners):
    """Returns whether the cosigners include a witness, or as many members of a group as its rule [minimum, members] requires."""
    if isinstance(rule, list):
        return sum(is_rule_met(member, cosigners) for member in rule[1]) >= rule[0]
    return rule is None or rule in cosigners


RISKS = ("low", "medium", "high")


def read_member(section, name, kind):
    """Returns a member of an object, or None; InvalidIntent where it has another type."""
    value = section.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidIntent(name)
    return value


def read_texts(section, name):
    value = read_member(section, name, list)
    if value is not None and not all(isinstance(one, str) for one in value):
        raise InvalidIntent(name)
    return value


def read_names(section, name, groups):
    """Reads a list of names, with the members of each `group:` in it; None where there is no list."""
    names = read_texts(section, name)
    if names is None:
        return None
    people = []
    for one in map(normalize_name, names):
        if not one.startswith("group:"):
            people.append(one)
        elif one[len("group:") :] in groups:
            people += groups[one[len("group:") :]]
        else:
            raise InvalidIntent(name)
    return people


def read_tenants(section):
    """Reads the tenants of a rule in the form in which entries record them; None for all."""
    tenants = read_texts(section, "tenants")
    return tenants if tenants is None else [unicodedata.normalize("NFC", one).strip() for one in tenants]


def read_count(section, name, minimum):
    value = section.get(name)
    if value is not None and not is_integer_at_least(value, minimum):
        raise InvalidIntent(name)
    return None if value is None else int(value)


def or_default(value, default):
    return default if value is None else value


def parse_mandates(rule):
    """Parses the bounds on mandates: targets, days, changes per day, open changes, and automatic applies."""
    max_days = or_default(rule.get("max_days"), 30)
    if not is_finite_number(max_days):
        raise InvalidIntent("max_days")
    max_per_day, max_open = or_default(read_count(rule, "max_per_day", 1), 50), or_default(read_count(rule, "max_open", 1), 20)
    targets, automatic = or_default(read_texts(rule, "targets"), []), or_default(read_member(rule, "apply_when", bool), False)
    return {"targets": targets, "days": max_days, "max_per_day": max_per_day, "max_open": max_open, "automatic": automatic}


def parse_directions(kpis):
    """Returns by KPI 1 where higher is better, and -1 where lower is."""
    directions = {}
    for kpi, goal in kpis.items():
        goal = goal if isinstance(goal, dict) else {}
        if not is_finite_number(goal.get("baseline")) or not is_finite_number(goal.get("target")):
            raise InvalidIntent("kpis")
        directions[kpi] = 1 if goal["target"] >= goal["baseline"] else -1
    return directions


def has_rollout_bounds(stages):
    """Returns whether every rollout must be watched and fed, within maximum losses."""
    watch, fed_by = or_default(read_texts(stages, "watch"), []), read_texts(stages, "fed_by")
    max_allowed = or_default(read_member(stages, "max_allowed", dict), {})
    return fed_by is not None and bool(watch) and all(kpi in max_allowed for kpi in watch)


class Intent:
    """The rules of an intent that a certificate is verified against; InvalidIntent where no service would load it."""

    def __init__(self, manifest):
        policy = or_default(read_member(manifest, "policy", dict), {})
        groups = or_default(read_member(policy, "groups", dict), {})
        groups = {name: [normalize_name(one) for one in or_default(read_texts(groups, name), [])] for name in groups}
        self.approvers = read_names(policy, "approvers", groups)
        required = or_default(read_member(policy, "required_approvers", dict), {})
        self.standard = or_default(read_count(required, "standard", 1), 1)
        self.major = or_default(read_count(required, "major", 1), self.standard)
        if self.major < self.standard:
            raise InvalidIntent("major")
        signed_only = read_member(policy, "signed_only", bool)
        self.self_approval = or_default(read_member(policy, "self_approval", bool), True)
        emergency = read_member(policy, "break_glass", dict)
        self.minor = read_member(policy, "minor", dict)
        mandates, stages = read_member(policy, "mandates", dict), read_member(policy, "stages", dict)
        owner_rules = or_default(read_member(policy, "owners", list), [])
        if not all(isinstance(one, dict) for one in owner_rules):
            raise InvalidIntent("owners")
        principals = or_default(manifest.get("principals"), {})
        self.keys = parse_keys(principals)
        self.idp = {normalize_name(name): or_default(read_texts(one, "idp"), []) for name, one in principals.items()}
        self.agents = {normalize_name(name) for name, one in principals.items() if one.get("kind") == "agent"}
        self.signed_only = or_default(signed_only, any(self.keys.values()))
        self.emergency_approvers, self.emergency_required = [], 1
        if emergency is not None:
            self.emergency_approvers = or_default(read_names(emergency, "approvers", groups), [])
            self.emergency_required = or_default(read_count(emergency, "required", 1), 1)
        if self.minor is not None:
            self.minor_kinds = or_default(read_texts(self.minor, "kinds"), [])
            self.minor_scope = (or_default(read_texts(self.minor, "targets"), []), read_tenants(self.minor))
            self.minor_users = read_count(self.minor, "max_affected_users", 0)
            if or_default(self.minor.get("max_risk"), "low") not in RISKS:
                raise InvalidIntent("max_risk")
            self.minor_risk = RISKS.index(or_default(self.minor.get("max_risk"), "low"))
            self.minor_agents = or_default(read_member(self.minor, "agents", bool), False)
            self.minor_automatic = or_default(read_member(self.minor, "apply_when", bool), False)
        self.mandates = None if mandates is None else parse_mandates(mandates)
        self.directions = parse_directions(or_default(read_member(manifest, "kpis", dict), {}))
        self.has_rollout_bounds = stages is not None and has_rollout_bounds(stages)
        self.owner_rules = [
            (
                or_default(read_texts(one, "targets"), []),
                read_tenants(one),
                or_default(read_names(one, "approvers", groups), []),
                or_default(read_count(one, "required", 1), 1),
            )
            for one in owner_rules
        ]
        self.owner_scopes = [rule[:2] for rule in self.owner_rules]

    def is_agent(self, name):
        """Returns whether a name is an agent's: the intent lists it as one, or it has the prefix that only agents may have."""
        return name.startswith("agent:") or name in self.agents

    def can_decide(self, name):
        return (self.approvers is None or name in self.approvers) and not self.is_agent(name)

    def can_propose_minor(self, name):
        """Returns whether a proposer may propose minor changes: a model never, an agent only if the intent allows it."""
        agents = self.minor is not None and self.minor_agents
        return not name.startswith("llm:") and (agents or not self.is_agent(name))

    def is_minor(self, content, is_erased):
        """Returns whether the intent lets a change with this content pass without consent; after an erasure, by the remaining fields."""
        kind, users, targets = content.get("kind"), content.get("affected_users"), list_tenant_targets(content)
        if self.minor is None or not isinstance(kind, str) or targets is None:
            return False
        if any(is_in_scope(target, tenant, scope) for scope in self.owner_scopes for target, tenant in targets):
            return False
        if "apply_when" in content and not self.minor_automatic:
            return False
        are_users_allowed = is_integer_at_least(users, 0) and (self.minor_users is None or users <= self.minor_users)
        risk = content.get("risk")
        return (
            kind in self.minor_kinds
            and all(is_in_scope(target, tenant, self.minor_scope) for target, tenant in targets)
            and (users is None and "affected_users" in content if is_erased else are_users_allowed)
            and isinstance(risk, str)
            and risk in RISKS[: self.minor_risk + 1]
            and content.get("reversible") is True
        )


LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def list_tenant_targets(content):
    """Lists the (target, tenant) of a content and those that its plan sets; None where one is not text."""
    sets = content.get("sets", [])
    if not isinstance(sets, list) or not all(isinstance(one, dict) for one in sets):
        return None
    targets = [(one.get("target"), one.get("tenant_id")) for one in [content, *sets]]
    return targets if all(isinstance(name, str) for pair in targets for name in pair) else None


def is_in_scope(target, tenant, scope):
    """Returns whether a target of a tenant is in a scope: patterns of targets, and tenants or None for all."""
    targets, tenants = scope
    return matches_any(target, targets) and (tenants is None or tenant in tenants)


def matches_any(target, patterns):
    return any(matches(target.translate(LOWER), pattern.translate(LOWER).split("*")) for pattern in patterns)


def matches(target, parts):
    """Returns whether a target begins and ends with the first and last part, with the others between them in order."""
    begin, middle, end = parts[0], parts[1:-1], parts[-1]
    if len(parts) == 1:
        return target == begin
    if not target.startswith(begin):
        return False
    at = len(begin)
    for part in middle:
        position = target.find(part, at)
        if position == -1:
            return False
        at = position + len(part)
    return len(target) >= at + len(end) and target.endswith(end)


TIERS = ("minor", "standard", "major")
OPERATIONS = {
    "change_applied": ("approved", "applied"),
    "change_rolled_back": ("applied", "rolled_back"),
    "value_restored": ("applied", "applied"),
    "stage_advanced": ("applied", "applied"),
    "stage_held": ("applied", "applied"),
    "stage_resumed": ("applied", "applied"),
    "stage_stopped": ("applied", "applied"),
}


class CertificateCheck:
    """Verifies a certificate: its entries are in the log, are about its content, and its consents are valid and signed."""

    def __init__(self, policy=None, people=None, manifests=(), intents=()):
        self.policy, self.people, self.manifests, self.intents = policy, people, manifests, intents
        self.findings, self.remarks = [], []

    def add_finding(self, entry, rule, message):
        self.findings.append({"line": None, "entry": entry, "rule": rule, "message": message})

    def verify(self, file):
        """Returns the report on the bytes of a certificate; Unreadable where they are not one."""
        parts = read_parts(file)
        try:
            return self.verify_parts(parts)
        except Exception as error:  # An unexpected error must not end the verification: it becomes a finding.
            self.add_finding(None, "form", f"an unexpected error stopped its check: {type(error).__name__}: {error}")
            report = {"verdict": "bad", "change_id": "", "content": parts[0][1][:-1], "erased": parts[0][0] == "erased"}
            report.update(digest="", origin="", checkpoint=None, steps=[], findings=self.findings, remarks=[])
            return report

    def verify_parts(self, parts):
        list_texts = lambda wanted: [text for name, text in parts if name == wanted]  # noqa: E731
        proven = []
        for number, text in enumerate(list_texts("proof"), 1):
            proof = parse_proof(text)
            if isinstance(proof, str):
                self.add_finding(None, "inclusion", f"proof {number}: {proof}")
            else:
                proven.append(proof)
        is_erased, content = parts[0][0] == "erased", parts[0][1][:-1]
        intents, intent_hashes = self.read_intents(list_texts("intent"))
        entries = [(entry, parse_detail(entry)) for entry, _, _ in proven]
        life, mandates = divide_entries(entries)
        named_hashes = {read_manifest_hash(detail) for _, detail in entries}
        other_intents = [text.decode("utf-8", "replace") for text in self.intents if sha256(text).hex() in named_hashes]
        trusted_intents, trusted_hashes = self.read_intents([f"{text}\n" for text in other_intents if parse_object(text) is not None])
        intents.update(trusted_intents)
        intent_hashes.update(trusted_hashes)
        for entry, _ in entries:
            problem = find_detail_problem(entry, parse_object(entry["detail"]))
            if problem:
                self.add_finding(entry["id"], "form", problem)
        digest = sha256(content.encode()).hex()
        if is_erased:
            self.require_erasure(life, digest)
            digest = string_or_none(life[0][1].get("digest")) if life else None
            digest = "undefined" if digest is None else digest
        content_object = parse_object(content) or {}
        self.require_one_change(life, digest)
        self.require_matching_content(life, content_object)
        self.require_mandates(mandates, life[0][0] if life else None)
        self.require_one_checkpoint(proven)
        self.require_named_intents(entries, intent_hashes)
        missing_hashes = self.list_missing_intents(entries, intent_hashes, content_object)
        signed, unsigned = self.verify_signatures(life, intents)
        signed.update(self.verify_signatures(mandates, intents)[0])
        if signed and self.people is None and not self.manifests:
            self.remarks.append(
                "only the intents in this file state whose keys these are: name the trusted keys with --keys or --manifest-hash"
            )
        statuses = self.derive_statuses(life, content_object.get("tier"))
        automation, rollouts, plans = AutomationCheck(), RolloutCheck(), PlanCheck()
        for entry, _ in life:
            for finding in filter(None, (check.check(entry, 0) for check in (automation, rollouts, plans))):
                self.add_finding(finding["entry"], finding["rule"], finding["message"])
            # An erasure keeps the stages and the targets of a plan, so both can still be checked.
            for check in (rollouts, plans) if entry["event_type"] == "change_proposed" else ():
                problem = check.add_content(entry["change_id"], content_object)
                if problem:
                    self.add_finding(entry["id"], "content", problem)
        self.remarks.extend(rollouts.remarks())
        for entry in (entry for entry, _ in mandates if is_loss(entry)):
            resumption_text = "a mandate that was signed before this loss counts again once it is resumed"
            self.remarks.append(f"{format_loss(read_loss(entry))}; {resumption_text}")
        for entry in (entry for entry, _ in life if is_loss(entry)):
            self.remarks.append(f"{format_loss(read_loss(entry))}; consents before this loss do not count after it")
        mandate_entries = [one for one in entries if is_mandate_entry(one[0]) or is_loss(one[0])]
        consents = ConsentCheck(life, content_object, is_erased, intents, signed, unsigned, self.people, mandate_entries)
        for finding in consents.find_problems(statuses):
            self.add_finding(*finding)
        checkpoint = self.verify_checkpoint(proven[0][2]) if proven else None
        first = life[0][0] if life else None
        return {
            "verdict": "bad" if self.findings else "valid" if checkpoint and not missing_hashes else "consistent",
            "change_id": first["change_id"] if first else "",
            "content": content,
            "erased": is_erased,
            "digest": digest,
            "origin": first["origin"] if first else "",
            "checkpoint": checkpoint,
            "steps": sorted(
                [
                    to_step(entry, detail, status, signed.get(entry["id"]))
                    for (entry, detail), status in [
                        *((one, string_or_none(one[1].get("status")) or "") for one in mandates),
                        *zip(life, statuses),
                    ]
                ],
                key=lambda step: step["entry"],
            ),
            "findings": self.findings,
            "remarks": self.remarks,
        }

    def read_intents(self, texts):
        """Reads intents by hash, and the hashes of all that are JSON objects, also of those that no service would load."""
        intents, hashes = {}, {}
        for text in texts:
            manifest = parse_object(text[:-1])
            if manifest is None:
                self.add_finding(None, "intent", "an intent in this file is not a JSON object")
                continue
            manifest_hash = sha256(text[:-1].encode()).hex()
            hashes[manifest_hash] = True
            try:
                intents[manifest_hash] = Intent(manifest)
            except InvalidIntent as invalid:
                message = f"the service would not load the intent {manifest_hash} in this file: its {invalid} is not valid"
                self.add_finding(None, "intent", message)
        return intents, hashes

    def require_matching_content(self, life, content):
        """Requires that the fields in the proposal's entry match the content; they stay verifiable after an erasure."""
        if not life:
            return
        entry, detail = life[0]
        for name in ("kind", "target", "tier", "risk", "kpi", "proposer"):
            if name not in detail or name not in content:
                continue
            recorded, content_value = detail[name], content[name]
            is_same_text = isinstance(recorded, str) and recorded == content_value
            if not is_same_text and not (recorded is None and content_value is None):
                self.add_finding(entry["id"], "content", f"its {name} is not that of the content in this file")
        stated, content_value = detail.get("apply_when", ABSENT), content.get("apply_when", ABSENT)
        if not (stated is ABSENT and content_value is ABSENT) and not (isinstance(stated, str) and stated == content_value):
            self.add_finding(entry["id"], "content", "its apply_when is not that of the content in this file")
        if "tenant_id" in content and content["tenant_id"] != entry["tenant"]:
            self.add_finding(entry["id"], "content", "its tenant is not that of the content in this file")

    def require_erasure(self, life, remaining_digest):
        """Requires an entry that erased the content and left the digest `remaining_digest`."""
        erasure = next(((entry, detail) for entry, detail in life if entry["event_type"] == "content_erased"), None)
        if erasure is None:
            self.add_finding(None, "content", "the content is marked as erased, but no entry records an erasure")
        elif erasure[1].get("remaining_digest") != remaining_digest:
            self.add_finding(erasure[0]["id"], "content", "the remaining content does not match the remaining_digest of its erasure")
        else:
            self.remarks.append(f"the content was erased by entry {erasure[0]['id']}: only its digest remains")

    def require_one_change(self, life, digest):
        for index, (entry, detail) in enumerate(life):
            first, identifier = life[0][0], entry["id"]
            if index == 0 and entry["event_type"] != "change_proposed":
                self.add_finding(identifier, "form", "the first entry is not the proposal")
            is_loss_entry = is_loss(entry)
            if entry["change_id"] != ("" if is_loss_entry else first["change_id"]):
                self.add_finding(identifier, "form", "its change_id is not that of the first entry")
            if entry["origin"] != first["origin"]:
                self.add_finding(identifier, "origin", "its origin is not that of the first entry")
            if index > 0 and identifier <= life[index - 1][0]["id"]:
                self.add_finding(identifier, "id", "its id is not higher than that of the previous entry")
            if not is_loss_entry and detail.get("digest") != digest:
                self.add_finding(identifier, "content", "its digest is not that of the content in this file")

    def require_mandates(self, mandates, first):
        """Requires that entries about mandates are of the change's log, name no change, and are in order."""
        for index, (entry, _) in enumerate(mandates):
            if entry["change_id"] != "":
                self.add_finding(entry["id"], "form", "it is about a mandate, but has a change_id")
            if first is None or entry["origin"] != first["origin"]:
                self.add_finding(entry["id"], "origin", "its origin is not that of the first entry")
            if index > 0 and entry["id"] <= mandates[index - 1][0]["id"]:
                self.add_finding(entry["id"], "id", "its id is not higher than that of the previous entry")

    def require_one_checkpoint(self, proven):
        for entry, note, checkpoint in proven:
            if note != proven[0][1]:
                self.add_finding(entry["id"], "inclusion", "its proof has another checkpoint than that of the first entry")
            if checkpoint["origin"] != escape_note_line(entry["origin"]):
                self.add_finding(entry["id"], "origin", "its checkpoint belongs to another log")

    def require_named_intents(self, life, intents):
        named = {read_manifest_hash(detail) for _, detail in life}
        for manifest in intents:
            if manifest not in named:
                self.add_finding(None, "intent", f"no decision was made under the intent {manifest} in this file")
        for entry, detail in life if self.manifests else ():
            if read_manifest_hash(detail) not in self.manifests:
                message = f"it was decided under the intent {read_manifest_hash(detail)}, which is not accepted"
                self.add_finding(entry["id"], "intent", message)

    def derive_statuses(self, life, tier):
        """Returns the status after each entry; adds a finding where a step does not follow from those before it."""
        status, statuses = "", []
        is_rollout = bool(life) and "stages" in life[0][1]
        for index, (entry, detail) in enumerate(life):
            needed, next_status = find_transition(entry, detail, status, tier, is_rollout)
            if index > 0 and needed != status:
                message = f"the change must be {needed or 'new'} before this entry, but the earlier entries make it {status}"
                self.add_finding(entry["id"], "form", message)
            if next_status is None:
                self.add_finding(entry["id"], "form", "its status does not say whether it approves the change")
            status = status if next_status is None else next_status
            statuses.append(status)
        return statuses

    def list_missing_intents(self, life, intents, content):
        """Lists the hashes of intents that are needed to check decisions and are not in the file."""
        needed = {}
        for entry, detail in life:
            is_decided = find_required_signer(entry, detail) is not None or "proof" in detail
            is_minor = entry["event_type"] == "change_proposed" and content.get("tier") == "minor"
            if is_decided or is_minor or entry["event_type"] == "change_applied":
                needed[read_manifest_hash(detail)] = None
        missing = [manifest for manifest in needed if manifest not in intents]
        for manifest in missing:
            self.remarks.append(f"the intent {manifest} is not in this file: the consents that it requires were not checked")
        return missing

    def verify_signatures(self, life, intents):
        """Returns the ids of the keys that validly signed entries, by entry id, and the entries that lack a valid signature."""
        signed, unsigned = {}, set()
        proposals = {entry["change_id"]: read_proposal(detail) for entry, detail in life[:1]}
        for entry, detail in life:
            intent, message = intents.get(read_manifest_hash(detail)), None
            keys = self.people if self.people is not None else intent and intent.keys
            if "proof" not in detail:
                signer = find_required_signer(entry, detail)
                by = signer and signer[0]
                has_keys = by is not None and keys and keys.get(normalize_name(by))
                must_be_signed = has_keys or (intent is not None and intent.signed_only)
                if signer is not None and must_be_signed:
                    signer_text = "a person whom it does not name" if by is None else by
                    message = f"it must be signed by {signer_text}, and has no signature"
            elif keys is not None:
                finding = ProofCheck(keys, proposals).check(entry, 0)
                message = finding and finding["message"]
                if not finding:
                    signed[entry["id"]] = string_or_none(detail.get("key")) or ""
            if message:
                unsigned.add(entry["id"])
                self.add_finding(entry["id"], "proof", message)
        return signed, unsigned

    def verify_checkpoint(self, checkpoint):
        """Verifies the signatures of the checkpoint; None where the policy does not trust it."""
        if self.policy is None:
            self.remarks.append(
                "no signature of the log was checked, since no --policy was given: anybody could have made this file"
            )
            return None
        log_keys = [key for key in self.policy["logs"] if key[0] == checkpoint["origin"]]
        log = next(filter(None, (find_signer(checkpoint, key) for key in log_keys)), None)
        cosignatures = [(name, key, read_cosignature_time(checkpoint, key)) for name, key in self.policy["witnesses"].items()]
        doubtful = [name for name, _, at in cosignatures if at is False]
        is_quorum_met = is_rule_met(self.policy["quorum"], [key for _, key, at in cosignatures if at])
        if doubtful:
            self.add_finding(None, "cosignature", f"the cosignature of the witness {doubtful[0]} is invalid")
        if log is None:
            self.add_finding(None, "signature", "the checkpoint is not signed by a log of the policy")
        elif not is_quorum_met:
            self.add_finding(None, "cosignature", "the checkpoint lacks cosignatures that the policy requires")
        if doubtful or log is None or not is_quorum_met:
            return None
        witnessed = [{"name": name, "at": iso_time(at)} for name, _, at in cosignatures if at]
        return {"length": checkpoint["length"], "signed_by": log, "witnessed_by": witnessed}


class ConsentCheck:
    """Counts the consents of a change at each step that needs them; the number that entries state is not trusted."""

    def __init__(self, life, content, is_erased, intents, signed, unsigned, people, mandates):
        self.life, self.content, self.is_erased, self.intents = life, content, is_erased, intents
        self.signed, self.unsigned, self.people, self.mandates = signed, unsigned, people, mandates
        self.tier = content.get("tier")

    def find_problems(self, statuses):
        """Yields (entry, rule, message) of each problem."""
        if not self.life:
            return
        entry, detail = self.life[0]
        if not isinstance(self.tier, str) or self.tier not in TIERS:
            yield None, "content", "the tier of the content is not minor, standard or major"
        if "required_approvers" in detail and not is_integer_at_least(detail["required_approvers"], 0):
            yield entry["id"], "quorum", "its required_approvers is not a whole number"
        intent = self.intents.get(read_manifest_hash(detail))
        if self.tier == "minor" and intent is not None:
            # The `proposer_kind` in the log proves nothing: the kind follows from the names and the intent.
            proposers = filter(None, (string_or_none(one.get("proposer")) for one in (self.content, detail)))
            can_be_minor = all(intent.can_propose_minor(normalize_name(name)) for name in proposers)
            if not can_be_minor or not intent.is_minor(self.content, self.is_erased):
                yield entry["id"], "quorum", "its tier is minor, but its intent requires consent for such a change"
            if not self.is_proposer_known(entry, detail, intent):
                yield entry["id"], "quorum", "its tier is minor, but its proposer is not authenticated"
        for index, step in enumerate(self.life):
            message = self.find_missing_consents(index, statuses[index - 1] if index > 0 else "", step)
            if message:
                yield step[0]["id"], "quorum", message
                return

    def is_proposer_known(self, entry, detail, intent):
        """Returns whether a signature, a proxy or an agent's secret vouches for the proposer; always true if the intent has no principals."""
        authenticated, proposer = string_or_none(detail.get("authenticated")), string_or_none(detail.get("proposer"))
        if not intent.keys:
            return True
        if proposer is None:
            return False
        if entry["id"] in self.signed or authenticated in ("proxy", "jwt"):
            return True
        return authenticated == "agent" and normalize_name(proposer) in intent.agents

    def find_missing_consents(self, index, status_before, step):
        """Explains which consents a step lacks, or returns None."""
        entry, detail = step
        is_applied = entry["event_type"] == "change_applied"
        is_approval = entry["event_type"] == "consent_decision" and detail.get("decision") == "approved"
        is_emergency = detail.get("emergency") is True
        if not is_applied and not (is_approval and detail.get("status") == "approved"):
            return None
        if is_approval and status_before == "approved" and not (is_emergency and "review_hours" in detail):
            return None
        if is_approval and is_mandate_consent(entry, detail):
            problem = self.find_mandate_problem(step, step)
            return problem and f"it was approved by a mandate: {problem}"
        counts = {kind: self.count_consents(index, kind, detail) for kind in (False, True)}
        if is_applied:
            is_met = any(count >= needed for count, needed in counts.values())
            mandate_consent = None
            for one in self.life[: index + 1]:
                if is_loss(one[0]):
                    mandate_consent = None
                elif mandate_consent is None and is_mandate_consent(*one):
                    mandate_consent = one
            if not is_met and mandate_consent is not None:
                problem = self.find_mandate_problem(mandate_consent, step)
                return problem and f"it was applied by a mandate: {problem}"
            return None if is_met else "it was applied with {} of {} consents".format(*counts[False])
        count, needed = counts[is_emergency]
        suffix = " for an emergency" if is_emergency else ""
        return None if count >= needed else f"it was approved with {count} of {needed} consents{suffix}"

    def find_mandate_problem(self, consent, step):
        """Explains why the consent of a mandate does not count at a step, or returns None."""
        mandate = consent[1].get("mandate")
        mandate = mandate if isinstance(mandate, dict) else {}
        intent = self.intents.get(read_manifest_hash(step[1]))
        name = string_or_none(mandate.get("mandate_id"))
        mandate_id = canonical_text(mandate.get("mandate_id"))
        own_entries = [
            one
            for one in sorted(self.mandates, key=lambda one: one[0]["id"])
            if one[0]["id"] < step[0]["id"] and (is_loss(one[0]) or canonical_text(one[1].get("mandate_id")) == mandate_id)
        ]
        if all(is_loss(one[0]) for one in own_entries) or consent[1].get("approver") != f"mandate:{name or ''}":
            return "the entries of its mandate are not in this file"
        mandate_state = Mandate()
        for one in own_entries:
            problem = mandate_state.apply_entry(one, (self.intents, self.signed))
            if problem:
                return problem
        if mandate_state.state != "active":
            return f"its mandate was {mandate_state.state}, not active"
        if step is consent:
            revision, active_from = mandate.get("revision"), mandate.get("entry")
            if not is_integer_at_least(revision, 1) or revision != mandate_state.revision:
                return "its mandate.revision is not the current revision of the mandate"
            if not is_integer_at_least(active_from, 0) or active_from != mandate_state.counts_from:
                return "its mandate.entry is not the entry that activated the mandate"
        if intent is None:
            return None
        if intent.mandates is None:
            return "its intent does not allow mandates"
        for entries in filter(lambda signed_entries: signed_entries is not None, (mandate_state.signatures, mandate_state.resumes)):
            problem = find_missing_signatures(entries, mandate_state.bounds, intent, self.signed)
            if problem:
                return problem
        policy, sets = intent.mandates, list_sets(self.content)
        bound = (
            find_broken_scope_bound(self.content, self.life[0][1], mandate_state, policy)
            or find_broken_content_bound(self.content, self.is_erased, mandate_state)
            or find_broken_policy_bound(self.content, intent)
            or (None if is_within_period(step[0]["timestamp"], mandate_state, policy) else "until")
            or (find_broken_count_bound(mandate, len(sets), mandate_state, policy) if step is consent else None)
        )
        return bound and f"it is outside the bounds of its mandate: {bound}"

    def count_consents(self, index, is_emergency, step_detail):
        """Counts the people whose ordinary or emergency consents are eligible at a step, and the number that its intent needs."""
        intent, names = self.intents.get(read_manifest_hash(step_detail)), set()
        for entry, detail in self.life[: index + 1]:
            if is_loss(entry):
                # Consents before an accepted loss do not count: their revocations may be lost.
                names.clear()
            name = string_or_none(detail.get("approver"))
            is_consent = entry["event_type"] == "consent_decision" and detail.get("decision") == "approved"
            if not is_consent or name is None or (detail.get("emergency") is True) != is_emergency:
                continue
            if entry["id"] not in self.unsigned and self.is_eligible(entry, detail, intent):
                names.add(normalize_name(name))
        if is_emergency:
            return len(names), intent.emergency_required if intent else 1
        return len(names), self.count_required(intent)

    def count_required(self, intent):
        if self.tier == "minor":
            return 0
        claimed = self.life[0][1].get("required_approvers")
        minimum = 1 if intent is None else intent.standard if self.tier == "standard" else intent.major
        return max(int(claimed) if is_integer_at_least(claimed, 0) else 0, minimum)

    def is_eligible(self, entry, detail, intent):
        """Returns whether a consent counts: the approver may decide, did not propose the change, and signed if required."""
        if intent is None:
            return True
        name = normalize_name(detail["approver"])
        if not (name in intent.emergency_approvers if detail.get("emergency") is True else intent.can_decide(name)):
            return False
        proposers = [string_or_none(self.content.get("proposer")), string_or_none(self.life[0][1].get("asked_by"))]
        if not intent.self_approval and any(one is not None and normalize_name(one) == name for one in proposers):
            return False
        idp = detail.get("idp")
        if not all(isinstance(idp, list) and group in idp for group in intent.idp.get(name, [])):
            return False
        keys = intent.keys.get(name, [])
        if not keys and not intent.signed_only and not (self.people or {}).get(name):
            return True
        # A signature under an intent that is not in the file cannot be checked; the verdict is then only `consistent`.
        is_checked = self.people is not None or read_manifest_hash(detail) in self.intents
        key = self.signed.get(entry["id"]) if is_checked else string_or_none(detail.get("key"))
        return key is not None and (any(one["id"] == key for one in keys) or (not keys and not intent.signed_only))


def is_mandate_entry(entry):
    """Returns whether an entry is about a mandate."""
    return entry["event_type"].startswith("mandate_")


def is_mandate_consent(entry, detail):
    """Returns whether an entry is the consent of a mandate."""
    return entry["event_type"] == "consent_decision" and (string_or_none(detail.get("approver")) or "").startswith("mandate:")


def divide_entries(entries):
    """Divides entries into those of the change, and those of its mandates with the losses from their first to the proposal."""
    find_first_id = lambda matches_entry: next((entry["id"] for entry, _ in entries if matches_entry(entry)), math.inf)  # noqa: E731
    signed, proposed = find_first_id(is_mandate_entry), find_first_id(lambda entry: entry["event_type"] == "change_proposed")
    of_mandates = [is_mandate_entry(entry) or (is_loss(entry) and signed < entry["id"] < proposed) for entry, _ in entries]
    life = [one for one, is_about_mandate in zip(entries, of_mandates) if not is_about_mandate]
    return life, [one for one, is_about_mandate in zip(entries, of_mandates) if is_about_mandate]


class Mandate:
    """The state of a mandate, from its entries and the accepted losses of the log's end between them."""

    NOT_NEXT = "an entry of its mandate does not follow from the earlier entries"

    def __init__(self):
        self.state, self.revision, self.bounds, self.systems, self.first = "draft", 1, {}, None, None
        self.counts_from, self.signatures, self.resumes = 0, [], None

    def apply_entry(self, recorded, evidence):
        """Applies the next entry; returns why it does not follow, or None. `evidence`: intents by hash, and signing keys by entry id."""
        entry, detail = recorded
        event = entry["event_type"]
        if is_loss(entry):
            return self.apply_loss()
        self.revision += event not in ("mandate_signed", "mandate_resumed")
        if not is_integer_at_least(detail.get("revision"), 1) or detail["revision"] != self.revision:
            return self.NOT_NEXT
        if event == "mandate_signed":
            return self.sign(recorded)
        is_draft_revoked = event == "mandate_ended" and self.state == "draft" and self.first is not None
        if self.state not in ("active", "suspended") and not is_draft_revoked:
            return self.NOT_NEXT
        if event == "mandate_narrowed":
            return self.narrow(recorded, evidence)
        if event == "mandate_suspended":
            self.state, self.resumes = "suspended", []
        elif event == "mandate_resumed":
            self.resumes = [*(or_default(self.resumes, []) if self.state == "suspended" else []), recorded]
            self.state = "active" if detail.get("status") == "active" else "suspended"
            self.counts_from = entry["id"] if self.state == "active" else self.counts_from
        else:
            self.state = "ended"
        return None

    def apply_loss(self):
        """Removes the signatures of a draft and suspends an active mandate: a revocation may be among the lost entries."""
        if self.state == "draft":
            self.signatures = []
        elif self.state != "ended":
            self.state, self.resumes = "suspended", []

    def sign(self, recorded):
        entry, detail = recorded
        bounds = detail["bounds"] if isinstance(detail.get("bounds"), dict) else {}
        systems = detail.get("systems")
        is_same = canonical_text([bounds, systems]) == canonical_text([self.bounds, self.systems])
        if self.state != "draft" or (self.first is not None and not is_same):
            return self.NOT_NEXT
        self.first = recorded if self.first is None else self.first
        self.bounds, self.systems = bounds, systems
        self.signatures.append(recorded)
        if detail.get("status") == "active":
            self.state, self.counts_from = "active", entry["id"]
        return None

    def narrow(self, recorded, evidence):
        intents, signed = evidence
        narrow, intent = recorded[1].get("narrow"), intents.get(read_manifest_hash(recorded[1]))
        if not is_narrowing(self.bounds, narrow, intent and intent.directions):
            return "a narrowing of its mandate makes a bound wider"
        if not is_signed_by_mandate_signer(recorded, self.bounds, intents, signed):
            return "a narrowing of its mandate is not signed by a person who may sign the mandate"
        self.bounds = {**self.bounds, **narrow}
        self.resumes = [] if self.state == "suspended" else self.resumes
        return None

    def list_systems(self):
        """Returns the names of the systems that its signers saw."""
        listed = self.systems if isinstance(self.systems, list) else []
        return [one["name"] for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)]


def is_string_list(value):
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def is_narrowing(bounds, narrow, directions=None):
    """Returns whether a narrowing makes no bound wider; `directions`: 1 or -1 by KPI, None where the intent is not known."""
    return isinstance(narrow, dict) and all(
        is_bound_narrower(name, bounds.get(name, ABSENT), after, directions) for name, after in narrow.items()
    )


def is_bound_narrower(name, before, after, directions):
    if name == "tenants" and before == "all":
        return after == "all" or is_string_list(after)
    if name in ("targets", "kinds", "tenants"):
        return is_string_list(before) and is_string_list(after) and all(one in before for one in after)
    if name in ("max_affected_users", "max_per_day", "max_open"):
        is_integer = is_integer_at_least(after, 0 if name == "max_affected_users" else 1)
        return is_integer and (before is ABSENT or (is_integer_at_least(before, 0) and after <= before))
    if name == "limits":
        return are_limits_narrower(before, after)
    if name == "kpi_floor":
        return is_floor_higher(before, after, directions)
    return name == "until" and isinstance(before, str) and isinstance(after, str) and after <= before


DOWN_IS_GOOD = ("sales_cycle_days_p50", "incident_rate")


def is_floor_higher(before, after, directions):
    """Returns whether KPI floors were only added, or moved in the direction that is better for their KPI."""
    before = {} if before is ABSENT else before
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    for kpi, floor in before.items():
        moved = after.get(kpi)
        if not is_finite_number(floor) or not is_finite_number(moved):
            return False
        if directions is not None and directions.get(kpi, -1 if kpi in DOWN_IS_GOOD else 1) * (float(moved) - float(floor)) < 0:
            return False
    return True


def is_multiple(number, factor):
    """Returns whether a number is an integer multiple of a factor, in decimal arithmetic."""
    return fractions.Fraction(repr(float(number))) % fractions.Fraction(repr(float(factor))) == 0


def is_same_json(one, other):
    return canonical_text(one) == canonical_text(other)


def are_among(values, allowed):
    texts = {canonical_text(one) for one in allowed}
    return all(canonical_text(one) in texts for one in values)


def to_list(value):
    return value if isinstance(value, list) else [value]


def is_keyword_narrower(keyword, before, after):
    """Returns whether a keyword of a schema is at least as strict as before."""
    are_finite = is_finite_number(before) and is_finite_number(after)
    are_lists = isinstance(before, list) and isinstance(after, list)
    if keyword in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
        return are_finite and after >= before
    if keyword in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        return are_finite and after <= before
    if keyword == "multipleOf":
        return are_finite and before > 0 and after > 0 and is_multiple(after, before)
    if keyword in ("const", "pattern"):
        return is_same_json(before, after)
    if keyword == "type":
        allowed = to_list(before)
        return all(one in allowed or (one == "integer" and "number" in allowed) for one in to_list(after))
    if keyword == "enum":
        return are_lists and are_among(after, before)
    if keyword == "required":
        return are_lists and are_among(before, after)
    if keyword == "items":
        return is_schema_narrower(before, after)
    if keyword == "uniqueItems":
        return before is False or after is True
    if keyword == "properties":
        return (
            isinstance(before, dict)
            and isinstance(after, dict)
            and all(name in after and is_schema_narrower(before[name], after[name]) for name in before)
        )
    return keyword == "additionalProperties" and (before is True or after is False or is_schema_narrower(before, after))


def is_schema_narrower(before, after):
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    if not all(keyword in after and is_keyword_narrower(keyword, before[keyword], after[keyword]) for keyword in before):
        return False
    # additionalProperties no longer applies to a property that got its own schema, so that schema must be as strict.
    additional, properties = before.get("additionalProperties", True), before.get("properties")
    if additional is True or not isinstance(after.get("properties"), dict):
        return True
    new_names = [name for name in after["properties"] if not (isinstance(properties, dict) and name in properties)]
    return all(additional is not False and is_schema_narrower(additional, after["properties"][name]) for name in new_names)


def is_step_narrower(before, after):
    def is_bound_narrower(kind):
        if kind not in before:
            return kind not in after
        return is_finite_number(before[kind]) and is_finite_number(after.get(kind)) and after[kind] <= before[kind]

    are_members_as_strict = "members" not in after
    if "members" in before:
        are_members_as_strict = isinstance(after.get("members"), list) and are_among(to_list(before["members"]), after["members"])
    are_hours = is_finite_number(before.get("hours")) and is_finite_number(after.get("hours"))
    are_hours_as_strict = are_hours and after["hours"] >= before["hours"]
    return is_bound_narrower("relative") and is_bound_narrower("absolute") and are_hours_as_strict and are_members_as_strict


def are_limits_narrower(before, after):
    """Returns whether limits allow no value or step that the limits before excluded."""
    if not isinstance(after, dict):
        return False
    if before is ABSENT:
        return True
    if not isinstance(before, dict) or not is_same_json(before.get("unit"), after.get("unit")):
        return False
    if "schema" in before and not is_schema_narrower(before["schema"], after.get("schema")):
        return False
    if "max_step" not in before:
        return True
    step, new_step = before["max_step"], after.get("max_step")
    return isinstance(step, dict) and isinstance(new_step, dict) and is_step_narrower(step, new_step)


# Patterns that every engine matches in linear time; any other pattern matches no value.
VALUE_PATTERN = re.compile(
    r"\^(?:(?:\[\^?(?:[^\]\[\\^-]|\\[\\\]\[^$.*+?(){}|/-]|\\[dw]|-)+\]|\\(?:[\\^$.*+?()\[\]{}|/]|[dw])|[^\\^$.*+?()\[\]{}|])"
    r"(?:\{[0-9]{1,3}(?:,[0-9]{1,3})?\})?)*\$"
)
COUNT_RANGE = re.compile(r"\{[0-9]+,[0-9]+\}")
MAX_PATTERN_LENGTH = 256
JSON_TYPES = {
    "string": lambda value: isinstance(value, str),
    "number": is_finite_number,
    "integer": lambda value: is_finite_number(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
KEYWORD_TYPES = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
}


def matches_pattern(pattern, text):
    if not isinstance(pattern, str) or not VALUE_PATTERN.fullmatch(pattern) or len(text) > MAX_PATTERN_LENGTH:
        return False
    if len(COUNT_RANGE.findall(pattern)) > 2:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.fullmatch(pattern[1:-1], text, re.ASCII) is not None
    except re.error:
        return False


def matches_keyword(keyword, argument, value, schema):
    """Returns whether a value matches a keyword that applies to its type."""
    if keyword == "type":
        return any(isinstance(one, str) and one in JSON_TYPES and JSON_TYPES[one](value) for one in to_list(argument))
    if keyword == "enum":
        return isinstance(argument, list) and are_among([value], argument)
    if keyword == "const":
        return is_same_json(argument, value)
    if KEYWORD_TYPES[keyword] == "number":
        if not is_finite_number(argument):
            return False
        if keyword == "multipleOf":
            return argument > 0 and is_multiple(value, argument)
        return {
            "minimum": value >= argument,
            "maximum": value <= argument,
            "exclusiveMinimum": value > argument,
            "exclusiveMaximum": value < argument,
        }[keyword]
    if keyword in ("minLength", "minItems"):
        return is_integer_at_least(argument, 0) and len(value) >= argument
    if keyword in ("maxLength", "maxItems"):
        return is_integer_at_least(argument, 0) and len(value) <= argument
    if keyword == "pattern":
        return matches_pattern(argument, value)
    if keyword == "items":
        return all(matches_schema(argument, one) for one in value)
    if keyword == "uniqueItems":
        return argument is False or len({canonical_text(one) for one in value}) == len(value)
    if keyword == "properties":
        return isinstance(argument, dict) and all(name not in value or matches_schema(argument[name], value[name]) for name in argument)
    if keyword == "required":
        return isinstance(argument, list) and all(isinstance(name, str) and name in value for name in argument)
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    return argument is True or all(name in properties or matches_schema(argument, value[name]) for name in value)


def matches_schema(schema, value):
    """Returns whether a value matches a schema; a schema with an unknown keyword matches no value."""
    if not isinstance(schema, dict):
        return False
    for keyword, argument in schema.items():
        if keyword not in KEYWORD_TYPES and keyword not in ("type", "enum", "const"):
            return False
        applies = keyword not in KEYWORD_TYPES or JSON_TYPES[KEYWORD_TYPES[keyword]](value)
        if applies and not matches_keyword(keyword, argument, value, schema):
            return False
    return True


def list_share_values(value):
    """Lists the values of the shares of a split; any other value is listed itself."""
    split = value["$split"] if isinstance(value, dict) and set(value) == {"$split"} else None
    shares = split.get("shares") if isinstance(split, dict) else None
    if isinstance(shares, list) and len(shares) > 1 and all(isinstance(one, list) and len(one) == 3 for one in shares):
        return [one[1] for one in shares]
    return [value]


def approver_name(detail):
    return normalize_name(string_or_none(detail.get("approver")) or "")


def is_mandate_signer(detail, bounds, intent):
    """Returns whether the approver of an entry may sign a mandate and has the groups that its intent requires."""
    name, idp = approver_name(detail), detail.get("idp")
    is_owner = any(name in approvers for _, _, approvers, _ in list_owner_rules(bounds, intent))
    has_groups = all(isinstance(idp, list) and group in idp for group in intent.idp.get(name, []))
    return (is_owner or intent.can_decide(name)) and has_groups


def is_signed_by_key(entry, detail, intent, signed, is_counted):
    keys = intent.keys.get(approver_name(detail), [])
    return any(key["id"] == signed.get(entry["id"]) and is_counted(key) for key in keys)


def is_attended(key):
    """Returns whether a key signs only when its owner touches it: a passkey, or an SSH key in a security key."""
    return key["type"] == "webauthn" or key["public_key"][4:7] == b"sk-"


def is_signed_by_mandate_signer(one, bounds, intents, signed):
    """Returns whether an entry was signed, with any key, by a person who may sign the mandate under the intent that the entry names."""
    entry, detail = one
    intent = intents.get(read_manifest_hash(detail))
    if "proof" not in detail or intent is None:
        return "proof" in detail
    return is_mandate_signer(detail, bounds, intent) and is_signed_by_key(entry, detail, intent, signed, lambda key: True)


def find_missing_signatures(entries, bounds, intent, signed):
    """Explains which signatures are missing under an intent, or returns None."""
    names = {
        approver_name(detail)
        for entry, detail in entries
        if is_mandate_signer(detail, bounds, intent) and is_signed_by_key(entry, detail, intent, signed, is_attended)
    }
    count = sum(map(intent.can_decide, names))
    if count < intent.major:
        return f"its mandate has {count} of {intent.major} signatures"
    for targets, _, approvers, required in list_owner_rules(bounds, intent):
        owner_count = len(names.intersection(approvers))
        if owner_count < required:
            return f"its mandate has {owner_count} of {required} signatures of the owners of {', '.join(targets)}"
    return None


def list_owner_rules(bounds, intent):
    """Lists the owner rules (targets, tenants, approvers, required) that overlap with the targets and tenants of a mandate."""
    patterns = [one for one in bounds["targets"] if isinstance(one, str)] if isinstance(bounds.get("targets"), list) else []
    tenants = bounds.get("tenants")

    def covers_tenant(tenant):
        return tenants == "all" or (isinstance(tenants, list) and tenant in tenants)

    return [
        rule
        for rule in intent.owner_rules
        if any(patterns_overlap(one, other) for one in patterns for other in rule[0])
        and (rule[1] is None or any(map(covers_tenant, rule[1])))
    ]


def patterns_overlap(one, other):
    """Returns whether some target matches both patterns, by dynamic programming over their suffixes."""
    a, b = [*one.translate(LOWER), None], [*other.translate(LOWER), None]
    next_row = [False] * (len(b) + 1)
    for letter in reversed(a):
        row = [False] * (len(b) + 1)
        for index in range(len(b) - 1, -1, -1):
            if letter is None and b[index] is None:
                row[index] = True
            elif "*" in (letter, b[index]):
                row[index] = next_row[index] or row[index + 1]
            else:
                row[index] = letter is not None and letter == b[index] and next_row[index + 1]
        next_row = row
    return next_row[0]


def compute_latest_end(first, days):
    """Returns the latest end that the policy allows, in ms since 1970, counted from the draft or the first signature, whichever is earlier."""
    entry, detail = first
    signed, drafted = parse_time_ms(entry["timestamp"]), parse_time_ms(string_or_none(detail.get("created_at")) or "")
    return (drafted if drafted < signed else signed) + days * 24 * 3600 * 1000


def list_sets(content):
    """Lists the targets of a change with their values."""
    return content["sets"] if isinstance(content.get("sets"), list) else [content]


def find_broken_scope_bound(subject, proposal, mandate, policy):
    """Returns the first of these bounds that a change breaks: agent, kinds, targets, tenants, systems. `subject`: its content."""
    bounds, targets, places = mandate.bounds, list_tenant_targets(subject) or [], proposal.get("places")
    bound_lists = {name: bounds[name] if isinstance(bounds.get(name), list) else [] for name in ("targets", "kinds", "tenants")}
    bound_lists = {name: [one for one in members if isinstance(one, str)] for name, members in bound_lists.items()}
    if normalize_name(string_or_none(subject.get("proposer")) or "") != bounds.get("agent"):
        return "agent"
    if subject.get("kind") not in bound_lists["kinds"]:
        return "kinds"
    are_covered = all(matches_any(one, bound_lists["targets"]) and matches_any(one, policy["targets"]) for one, _ in targets)
    if not targets or not are_covered:
        return "targets"
    if bounds.get("tenants") != "all" and not all(tenant in bound_lists["tenants"] for _, tenant in targets):
        return "tenants"
    places, signed_systems = places if isinstance(places, list) else [], mandate.list_systems()
    systems = [string_or_none(one.get("system")) if isinstance(one, dict) else None for one in places]
    are_systems_signed = all(system is not None and system in signed_systems for system in systems)
    return None if are_systems_signed else "systems"


def find_broken_content_bound(content, is_erased, mandate):
    """Returns the first bound that a content breaks, or None; after an erasure, values and users are not checked."""
    bounds = mandate.bounds
    max_users, affected_users = bounds.get("max_affected_users", ABSENT), content.get("affected_users", ABSENT)
    if content.get("reversible") is not True:
        return "reversible"
    if content.get("risk") not in ("low", "medium"):
        return "risk"
    if is_erased:
        are_users_allowed = affected_users is None
    else:
        are_counts = is_integer_at_least(affected_users, 0) and is_integer_at_least(max_users, 0)
        are_users_allowed = are_counts and affected_users <= max_users
    if max_users is not ABSENT and not are_users_allowed:
        return "max_affected_users"
    if "limits" not in bounds or is_erased:
        return None
    limits, sets = bounds["limits"], list_sets(content)
    if not all(isinstance(one, dict) and "value" in one for one in sets):
        return "limits"
    if not isinstance(limits, dict) or "schema" not in limits:
        return None
    allowed = all(matches_schema(limits["schema"], value) for one in sets for value in list_share_values(one["value"]))
    return None if allowed else "schema"


def find_broken_policy_bound(content, intent):
    """Returns the rule of the intent for mandates that a content breaks, or None."""
    if "apply_when" in content and not (content["apply_when"] == "approved" and intent.mandates["automatic"]):
        return "apply_when"
    return "stages" if "stages" in content and not intent.has_rollout_bounds else None


def is_within_period(timestamp, mandate, policy):
    """Returns whether a mandate is in force at a time."""
    starts_at, ends_at = string_or_none(mandate.bounds.get("from")) or "", string_or_none(mandate.bounds.get("until")) or ""
    return starts_at <= timestamp < ends_at and parse_time_ms(timestamp) < compute_latest_end(mandate.first, policy["days"])


def find_broken_count_bound(stated, entries, mandate, policy):
    """Returns the count that a consent exceeds or misstates, or None; `stated`: its `mandate`, `entries`: number of targets of the change."""
    number, left = stated.get("number"), stated.get("left")
    daily_bound, max_open = mandate.bounds.get("max_per_day"), mandate.bounds.get("max_open")
    if not is_integer_at_least(number, entries) or not is_integer_at_least(daily_bound, 1):
        return "max_per_day"
    max_per_day = min(daily_bound, policy["max_per_day"])
    max_open = min(max_open if is_integer_at_least(max_open, 1) else 0, policy["max_open"])
    if number > max_per_day:
        return "max_per_day"
    if max_open < 1:
        return "max_open"
    left = left if isinstance(left, dict) else {}
    today, open_left = left.get("today"), left.get("open")
    is_count_exact = is_integer_at_least(today, 0) and today == max_per_day - number
    return None if is_count_exact and is_integer_at_least(open_left, 0) and open_left < max_open else "left"


def is_loss(entry):
    """Returns whether an entry accepts a loss of the log's end: consents before it do not count after it."""
    return entry["event_type"] == "loss_accepted"


def find_transition(entry, detail, status, tier, is_rollout):
    """Returns the status that an entry needs, and the one that follows; None where the entry does not state that."""
    event = entry["event_type"]
    if event == "change_proposed":
        return "", "approved" if tier == "minor" else "pending_consent"
    if event == "consent_decision":
        stated_status = detail.get("status")
        # A further consent during a rollout leaves the change applied.
        if is_rollout and detail.get("from") == "applied" and detail.get("decision") == "approved":
            return "applied", stated_status if stated_status == "applied" else None
        # Any other decision with a `from` is on an approved change.
        needed = "approved" if "from" in detail else "pending_consent"
        if detail.get("decision") != "approved":
            return needed, "denied"
        is_valid = stated_status == "approved" or (stated_status == "pending_consent" and needed == stated_status)
        return needed, stated_status if is_valid else None
    return OPERATIONS.get(event, (status, status))


def find_required_signer(entry, detail):
    """Returns (name,) of the person who may have to sign an entry; None for an entry that needs no signature."""
    event, decision = entry["event_type"], detail.get("decision")
    if event in ("content_erased", "loss_accepted"):
        return (string_or_none(detail.get("actor")),)
    actor = string_or_none(detail.get("actor"))
    # An advance that was ordered under an earlier intent names no actor, and nobody signed it under the present one.
    if event == "stage_resumed" or (event == "stage_advanced" and detail.get("reason") == "manual" and actor is not None):
        return (actor,)
    is_decision = event == "consent_decision" and decision in ("approved", "denied", "revoked")
    is_decision = is_decision and not is_mandate_consent(entry, detail)
    about_mandate = event in MANDATE_DECISIONS and detail.get("reason") != "expired"
    return (string_or_none(detail.get("approver")),) if is_decision or about_mandate or event == "emergency_reviewed" else None


def iso_time(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def to_step(entry, detail, status, key):
    text = lambda value: value if isinstance(value, str) else None  # noqa: E731
    name = detail.get("proposer" if entry["event_type"] == "change_proposed" else "approver")
    decision = detail.get("verdict") if detail.get("verdict") is not None else detail.get("decision")
    return {
        "entry": entry["id"],
        "at": entry["timestamp"],
        "event": entry["event_type"],
        "decision": "approved_emergency" if detail.get("emergency") is True else text(decision),
        "name": text(name) if text(name) is not None else text(detail.get("actor")),
        "authenticated": text(detail.get("authenticated")),
        "note": text(detail.get("note")),
        "status": status,
        "key": key,
        "manifest_hash": text(detail.get("manifest_hash")),
    }


CERTIFICATE_VERDICT_TEXTS = {
    "valid": "valid: the entries are in a log that the policy trusts; "
    "this file does not show whether later entries, such as a rollback, exist",
    "consistent": "consistent: no check failed; the remarks above say what could not be checked",
}
EVENT_TEXTS = {
    "change_proposed": "proposed",
    "change_applied": "applied",
    "change_rolled_back": "rolled back",
    "value_restored": "value restored",
    "emergency_reviewed": "emergency reviewed",
    "content_erased": "content erased",
    "loss_accepted": "loss of the log's end accepted",
    "mandate_signed": "mandate signed",
    "mandate_narrowed": "mandate narrowed",
    "mandate_suspended": "mandate suspended",
    "mandate_resumed": "mandate resumed",
    "mandate_ended": "mandate ended",
}


def compact_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def certificate_text(path, report):
    """Formats a report as text: the change, its steps, the findings, and the verdict last."""
    lines = [f"{path}: {report['change_id']} in the log {compact_json(report['origin'])}"]
    action = "remaining content after its erasure" if report["erased"] else "content"
    lines.append(f"{action}: {report['content']}")
    lines.append(f"digest of the content: {report['digest']}")
    for step in report["steps"]:
        action = ", ".join(filter(None, (EVENT_TEXTS.get(step["event"]), step["decision"]))) or step["event"]
        signature_text = f"authenticated by: {step['authenticated'] or 'nothing'}"
        if (step["authenticated"] or "").startswith("signature"):
            signature_text = "recorded as signed, not checked"
        if step["key"] is not None:
            is_unattended = step["authenticated"] == "signature_unattended"
            presence = "a key that can sign without its owner" if is_unattended else "its owner present and verified"
            signature_text = f"signed with {step['key']}, {presence}"
        note_text = f", note {compact_json(step['note'])}" if step["note"] else ""
        actor_text = "" if step["name"] is None else f" by {compact_json(step['name'])}"
        status_text = f", then {step['status']}" if step["event"] in ("change_proposed", "consent_decision") else ""
        action_text = f"entry {step['entry']}, {step['at']}: {action}{actor_text}{status_text}"
        lines.append(f"{action_text} ({signature_text}{note_text}), under the intent {step['manifest_hash']}")
    for finding in report["findings"]:
        location = "" if finding["entry"] is None else f"entry {finding['entry']}: "
        lines.append(f"{location}{finding['rule']}: {finding['message']}")
    checkpoint = report["checkpoint"]
    if checkpoint:
        lines.append(f"the log had {checkpoint['length']} entries; signed by {checkpoint['signed_by']}")
        lines += [f"cosigned by the witness {one['name']} at {one['at']}" for one in checkpoint["witnessed_by"]]
    lines += report["remarks"]
    total = len(report["findings"])
    lines.append(CERTIFICATE_VERDICT_TEXTS.get(report["verdict"], f"bad: {total} finding{'s' if total > 1 else ''}"))
    return "\n".join(map(escape_for_terminal, lines))


VERDICT_TEXTS = {
    "valid": "valid: every entry is valid, and the log continues what was stored outside",
    "consistent": "consistent: every entry is valid; without a receipt or checkpoint stored outside, "
    "a truncated or rewritten log would go unnoticed",
}


PROOF_TEXTS = {
    "verified": "valid signed decisions, with keys that the policy lists",
    "as_named": "valid signed decisions, with keys that only the log lists",
    "not_checked": "signed decisions not checked, since no policy lists their keys",
    "unsigned": "decisions without a signature, by names whose keys the policy lists",
}


def content_lines(contents):
    if contents is None:
        return []
    lines = [f"contents of changes that match their entries: {contents['changes']}"]
    lines.append(f"intents that match their entries: {contents['intents']}")
    lines += [f"contents that do not match: {contents['unfit']}"] if contents["unfit"] else []
    lines += [f"contents that are missing: {contents['missing']}"] if contents["missing"] else []
    lines += [f"erased: {change}" for change in contents["erased_changes"]]
    more = contents["erased"] - len(contents["erased_changes"])
    return lines + ([f"and {more} more erased"] if more else [])


def report_text(path, report):
    """Formats a report as text: findings first, the verdict last."""
    lines = [f"{path}: {report['entries']} entries of {compact_json(report['origin'])}, head {report['head']}"]
    for finding in report["findings"]:
        location = "" if finding["line"] is None else f"line {finding['line']}: "
        if finding["entry"] is not None:
            location = f"line {finding['line']}, entry {finding['entry']}: "
        lines.append(f"{location}{finding['rule']}: {finding['message']}")
    more = report["findings_total"] - len(report["findings"])
    lines += [f"and {more} more"] if more else []
    lines += [f"verified against {description}" for description in report["held_against"]]
    for witnessed in report["witnessed"]:
        lines.append(f"cosigned by {witnessed['name']} up to entry {witnessed['length']}, at {witnessed['time']} seconds since 1970")
    lines += [format_loss(loss) for loss in report["losses"]]
    lines += [f"{PROOF_TEXTS[name]}: {count}" for name, count in report["proofs"].items() if count > 0]
    lines += content_lines(report["contents"]) + report["remarks"]
    total = report["findings_total"]
    lines.append(VERDICT_TEXTS.get(report["verdict"], f"bad: {total} finding{'s' if total > 1 else ''}"))
    return "\n".join(map(escape_for_terminal, lines))


def read_receipt(length, head):
    if length is None and head is None:
        return []
    if not re.fullmatch(r"0|[1-9][0-9]{0,14}", length or "") or not HEX.fullmatch(head or ""):
        raise Unreadable("--expected-length N and --expected-head HEX go together: a number, and 64 lower-case hex digits")
    return [{"length": int(length), "head": head, "description": f"the receipt of entry {length}"}]


def read_intents(folder):
    """Reads the files of a folder that are named after a hash."""
    try:
        names = [name for name in os.listdir(folder) if re.fullmatch(r"[0-9a-f]{64}\.json", name)]
        return [open(os.path.join(folder, name), "rb").read() for name in names]
    except OSError as error:
        raise Unreadable(f"--intents {folder} cannot be read: {errno.errorcode.get(error.errno, error.errno)}") from error


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Unreadable(f"{message}; see --help")


def main_certificate(argv):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS, allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--policy")
    parser.add_argument("--keys")
    parser.add_argument("--manifest-hash", action="append", default=[])
    parser.add_argument("--intents")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if not all(HEX.fullmatch(manifest) for manifest in options.manifest_hash):
        raise Unreadable("--manifest-hash HEX is 64 lower-case hex digits, as GET /api/product/intent shows them")
    policy = None if options.policy is None else read_tlog_policy(options.policy)
    people = None if options.keys is None else read_policy(options.keys)
    with open(options.file, "rb") as file:
        certificate = file.read()
    intents = [] if options.intents is None else read_intents(options.intents)
    report = CertificateCheck(policy, people, options.manifest_hash, intents).verify(certificate)
    print(json.dumps(report) if options.json else certificate_text(options.file, report))
    return EXIT_CODES[report["verdict"]]


def main(argv):
    """Runs the program; returns its exit code."""
    try:
        return main_certificate(argv[1:]) if argv[:1] == ["certificate"] else main_export(argv)
    except (Unreadable, OSError) as error:
        reason = str(error)
    except Exception as error:  # A file other than the export or the certificate cannot be read.
        reason = f"an unexpected error: {type(error).__name__}: {error}"
    print(f"verify_audit.py: {escape_for_terminal(reason)}", file=sys.stderr)
    return 3


def main_export(argv):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS, allow_abbrev=False)
    parser.add_argument("file")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    parser.add_argument("--witness", action="append", default=[])
    parser.add_argument("--quorum")
    parser.add_argument("--expected-length")
    parser.add_argument("--expected-head")
    parser.add_argument("--policy")
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if options.key and not options.checkpoint:
        raise Unreadable("--key needs a --checkpoint to verify")
    keys = [read_key(key) for key in options.key]
    evidence = [read_checkpoints(path, keys) for path in options.checkpoint]
    states = [item for part in evidence for item in part[0]] + read_receipt(options.expected_length, options.expected_head)
    witnessed, witness_findings = read_cosignatures(options.witness, options.quorum, evidence)
    findings = [finding for part in evidence for finding in part[1]] + witness_findings
    remarks = [remark for part in evidence for remark in part[2]]
    policy = None if options.policy is None else read_policy(options.policy)
    with open(options.file, "rb") as file:
        report = verify_export(file, states, findings, remarks, policy, witnessed, options.changes)
    print(json.dumps(report) if options.json else report_text(options.file, report))
    return EXIT_CODES[report["verdict"]]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Verifies an export of Countersign's audit log offline, with Python's standard library only.

  verify_audit.py FILE [--key KEY]... [--checkpoint NOTE]... [--expected-length N --expected-head HEX]
                  [--witness KEY]... [--quorum N] [--policy FILE] [--changes] [--json]
  verify_audit.py certificate FILE [--policy POLICY] [--keys FILE] [--manifest-hash HEX]... [--json]

FILE is an export (GET /api/product/audit?format=jsonl). What it is held against was kept outside the service:
--checkpoint, a checkpoint or the file of --audit-anchor, with --key also its signature (PEM, verifier key, or its file),
with several, as after a change of keys, that of one of them;
--expected-length and --expected-head, a receipt: the id and the current_hash of an entry that was answered once;
--witness, a witness that must have cosigned a checkpoint (verifier key, or its file), of several --quorum N or else all;
--policy, whose keys signed decisions must be signed with: an intent, or any JSON with its principals.
--changes: the export carries the contents of its changes and intents (contents=1, or GET /api/product/export); each must
be what its entry has the hash of, and none may be missing.

A certificate (GET /api/product/changes/<id>/certificate) is held against --policy, a C2SP tlog-policy of the logs and
witnesses that are trusted; --keys, whose keys decisions must be signed with, instead of those of the intents in it;
--manifest-hash, the only intents under which decisions count; --intents, a folder of intents that the certificate names and
does not contain, as files <hash>.json: that of a pack.

Exit codes: 0 valid against something kept outside; 2 consistent, but nothing outside to hold it against;
1 bad; 3 unreadable, no export as the service sent it, or wrongly called. See evidence.md for what each of them proves.
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

FIELDS = ("origin", "id", "timestamp", "event_type", "change_id", "tenant", "detail", "previous_hash", "current_hash")
HASHED = ("origin", "previous_hash", "id", "timestamp", "event_type", "change_id", "tenant", "detail")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
HEX = re.compile(r"[0-9a-f]{64}")
MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 100
WHOLE = 2**53 - 1
MAX_LISTED_MISMATCHES = 100
EXIT = {"valid": 0, "bad": 1, "consistent": 2}


class Unreadable(Exception):
    """Something that had to be read and cannot be."""


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


def parse_json(text, members=None):
    """JSON as every reader takes it: no NaN, numbers as doubles, well-formed Unicode, and not nested too deep. `members` makes an object."""

    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    if is_too_deep(text):
        raise ValueError("it is nested too deep")
    whole = lambda digits: int(digits) if len(digits) < 16 else float(digits)  # noqa: E731
    value = json.loads(text, parse_constant=refuse, parse_int=whole, object_pairs_hook=members)
    if re.search(r"\\u[dD]", text):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def object_in(text, members=None):
    """The members of a JSON object, or None."""
    try:
        value = parse_json(text, members)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def text_of(value):
    return value if isinstance(value, str) else None


def is_whole(value, least):
    """Returns whether a value is a whole number that every reader reads alike."""
    return type(value) in (int, float) and least <= value <= WHOLE and value == int(value)


LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def entry_line(entry):
    """The one line of an entry: what many readers take for the end of a line is escaped."""
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).translate(LINE_BREAKS).encode("utf-8")


def read_entry(line):
    """The entry of a line, or None when the line is not exactly what the service writes."""
    try:
        entry = parse_json(line.decode("utf-8"))
        if not isinstance(entry, dict) or tuple(entry) != FIELDS:
            return None
        if entry_line(entry) != line:
            return None
    except ValueError:
        return None
    if type(entry["id"]) is not int or not 1 <= entry["id"] < 10**15:
        return None
    if not all(isinstance(entry[field], str) for field in FIELDS if field != "id"):
        return None
    if not (TIME.fullmatch(entry["timestamp"]) and HEX.fullmatch(entry["previous_hash"])):
        return None
    return entry if HEX.fullmatch(entry["current_hash"]) else None


def entry_hash(entry):
    """What current_hash has to be: each field behind its length, four bytes, the highest first."""
    hashed = hashlib.sha256(b"countersign-audit/v1\n")
    for field in HASHED:
        text = str(entry[field]).encode("utf-8")
        hashed.update(len(text).to_bytes(4, "big") + text)
    return hashed.hexdigest()


class Chain:
    """Follows the chain; behind a broken line it goes on from what that line states, so that one fault shows once."""

    def __init__(self):
        self.lines = 0
        self.origin = None
        self.entry = None
        self.last = {"id": 0, "current_hash": "0" * 64, "timestamp": ""}

    def follow(self, line):
        """Takes the next line; returns what does not hold, or None."""
        self.lines += 1
        entry, last = read_entry(line), self.last
        self.last = self.entry = entry
        if entry is None:
            return self.finding(None, "form", "the line is not an entry in the exact form that the service writes")
        if self.origin is None:
            self.origin = entry["origin"]
        if entry["origin"] != self.origin:
            return self.finding(entry, "origin", "the entry belongs to another log than the first one")
        if last and entry["id"] != last["id"] + 1:
            return self.finding(entry, "id", f"the entry behind {last['id']} should be {last['id'] + 1}")
        if last and entry["previous_hash"] != last["current_hash"]:
            return self.finding(entry, "previous_hash", "it is not the current_hash of the entry before")
        if last and entry["timestamp"] < last["timestamp"] and entry["event_type"] != "clock_accepted":
            return self.finding(entry, "timestamp", "it is earlier than that of the entry before")
        if entry["current_hash"] != entry_hash(entry):
            return self.finding(entry, "current_hash", "it does not cover the entry's fields")
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
        """The root in base64, as checkpoints give it."""
        if not self.subtrees:
            return base64.b64encode(hashlib.sha256(b"").digest()).decode()
        root = self.subtrees[-1][1]
        for _, left in reversed(self.subtrees[:-1]):
            root = hashlib.sha256(b"\x01" + left + root).digest()
        return base64.b64encode(root).decode()


# Ed25519, RFC 8032 section 5.1.7

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def decode_point(encoded):
    """The point in extended coordinates, or None."""
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
    """So many times a point, from the neutral one on; `add` also doubles."""
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
    if len(signature) != 64 or point is None or scalar >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + text).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
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
    """The sum of two points in projective coordinates, by the complete formula of Renes, Costello and Batina for a = -3."""
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


def der_parts(encoded, tag):
    """The content of the first element of this tag, and what is behind it; ValueError for any but the one writing."""
    if len(encoded) < 2 or encoded[0] != tag:
        raise ValueError("not this element")
    digits = max(0, encoded[1] - 128) if encoded[1] >= 128 else 0
    begin = 2 + digits
    if digits > 4 or begin > len(encoded):
        raise ValueError("not this element")
    length = int.from_bytes(encoded[2:begin], "big") if encoded[1] >= 128 else encoded[1]
    shortest = 0 if length < 128 else (length.bit_length() + 7) // 8
    if encoded[1] == 128 or digits != shortest or begin + length > len(encoded):
        raise ValueError("not of this length")
    return encoded[begin : begin + length], encoded[begin + length :]


def plain_number(number):
    """A number above zero, written as short as it can be; ValueError for any other."""
    first, second = (number + b"\x80")[0], (number[1:] + b"\x00")[0]
    if first > 127 or (first == 0 and second < 128):
        raise ValueError("not a number above zero")
    return int.from_bytes(number, "big")


def der_numbers(encoded):
    """The two numbers of a sequence of nothing else."""
    body, rest = der_parts(encoded, 0x30)
    first, second = der_parts(body, 2)
    second, more = der_parts(second, 2)
    if rest or more:
        raise ValueError("more than two numbers")
    return plain_number(first), plain_number(second)


def rsa_verifies(public_key, text, signature):
    """Returns whether the bytes sign the text with SHA-256 under the DER of a public key of 2048 to 16384 bits."""
    modulus, exponent = der_numbers(public_key)
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
OTHERS = {
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
DECIDING = {*OTHERS, "consent_decision", "intent_in_force", "automation_stopped", "stage_stopped"} - {
    "change_apply_failed",
    "change_rollback_failed",
    "kpi_refreshed",
}
# Decisions that a trusted proxy's word is enough for, or that only some intents want signed.
MAY_BE_UNSIGNED = (None, "propose", "withdraw", "apply", "rollback", "feed_kpis")


def url_bytes(text):
    """The bytes of base64url without padding, or None unless written in the one way."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return data if data and base64.urlsafe_b64encode(data).decode().rstrip("=") == text else None
    except (ValueError, TypeError):
        return None


def sha256(data):
    return hashlib.sha256(data).digest()


def spki_verifies(spki, text, signature):
    """Returns whether a signature of a passkey is valid under its public key; ValueError where either is not in its form."""
    if spki.startswith(SPKI):
        return ed25519_verifies(spki[len(SPKI) :], text, signature)
    if spki.startswith(SPKI_P256):
        return p256_verifies(spki[len(SPKI_P256) :], text, *der_numbers(signature))
    body, behind = der_parts(spki, 0x30)
    if not body.startswith(SPKI_RSA):
        return False
    bits, more = der_parts(body[len(SPKI_RSA) :], 3)
    return not behind and not more and bits[:1] == b"\x00" and rsa_verifies(bits[1:], text, signature)


def once_each(members):
    """The members of an object of JSON; ValueError where one stands there twice."""
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("it repeats a member")
    return found


def client_data_in(proof):
    client = url_bytes(proof.get("client_data_json"))
    try:
        return object_in(client.decode("utf-8"), once_each) if client else None
    except ValueError:
        return None


def is_assertion_of(statement, proof):
    """Returns whether an assertion is one of the statement, apart from its signature."""
    data, said = url_bytes(proof.get("authenticator_data")), client_data_in(proof)
    if data is None or said is None or len(data) < 37:
        return False
    challenge = base64.urlsafe_b64encode(sha256(statement.encode())).decode().rstrip("=")
    right = said.get("type") == "webauthn.get" and said.get("challenge") == challenge
    inside = said.get("crossOrigin", False) is not False or "topOrigin" in said
    there = data[32] & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED
    return right and not inside and there and not (data[32] & BACKED_UP and not data[32] & BACKUP_ELIGIBLE)


def may_ask(origin, key):
    """Returns whether a page of this origin may ask for a passkey: those that it lists, else its relying party's own."""
    if key["origins"] is not None:
        return origin in key["origins"]
    if key["rp_id"] == "localhost":
        return re.fullmatch(r"http://localhost(:[1-9][0-9]{0,4})?", origin) is not None
    return origin == f"https://{key['rp_id']}"


def is_signed_by_passkey(proof, key):
    """Returns whether a passkey signed an assertion, for its relying party and a page of it."""
    if key["type"] != "webauthn" or key["credential_id"] != proof.get("credential_id"):
        return False
    data, client = url_bytes(proof["authenticator_data"]), url_bytes(proof["client_data_json"])
    signature, origin = url_bytes(proof.get("signature")), text_of(client_data_in(proof).get("origin"))
    if signature is None or origin is None or not may_ask(origin, key) or data[:32] != sha256(key["rp_id"].encode()):
        return False
    try:
        return spki_verifies(key["public_key"], data + sha256(client), signature)
    except ValueError:
        return False


class Wire:
    """Reads values of the wire format of SSH one after another."""

    def __init__(self, data):
        self.data = data

    def take(self, length):
        if length > len(self.data):
            raise ValueError("too short")
        taken, self.data = self.data[:length], self.data[length:]
        return taken

    def string(self):
        return self.take(int.from_bytes(self.take(4), "big"))


def measured(data):
    return len(data).to_bytes(4, "big") + data


def unarmoured(text):
    """The bytes in armour, whose line ends may be CRLF and around which there may be blanks; or None."""
    armour = ARMOUR.fullmatch((text or "").replace("\r\n", "\n").strip(" \t\r\n"))
    return from_base64(armour.group(1).replace("\n", "")) if armour else None


def ssh_signer_of(statement, proof):
    """The public key that signed the statement with `ssh-keygen -Y sign`, or None."""
    try:
        outer = Wire(unarmoured(text_of(proof.get("signature"))) or b"")
        if outer.take(10) != b"SSHSIG\x00\x00\x00\x01":
            return None
        blob, namespace, reserved, name, signature = (outer.string() for _ in range(5))
        if outer.data or namespace != b"countersign-consent" or reserved or name not in (b"sha256", b"sha512"):
            return None
        digest = hashlib.new(name.decode(), statement.encode()).digest()
        signed = b"SSHSIG" + b"".join(measured(part) for part in (namespace, reserved, name, digest))
        return blob if is_signed_by_ssh(blob, signature, signed) else None
    except ValueError:
        return None


def fingerprint(public_key):
    return "SHA256:" + base64.b64encode(sha256(public_key)).decode().rstrip("=")


def is_signed_by_ssh(blob, signature, signed):
    """ValueError where key or signature are not in their form."""
    key, own = Wire(blob), Wire(signature)
    kind = key.string()
    ecdsa = kind in (b"ecdsa-sha2-nistp256", b"sk-ecdsa-sha2-nistp256@openssh.com")
    if own.string() != kind or not (ecdsa or kind in (b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com")):
        return False
    if ecdsa and key.string() != b"nistp256":
        return False
    public_key = key.string()
    application = key.string() if kind.startswith(b"sk-") else None
    inner = own.string()
    said = None if application is None else own.take(5)
    if key.data or own.data or (said and said[0] & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED):
        return False
    if said is not None:
        signed = sha256(application) + said + sha256(signed)
    if not ecdsa:
        return ed25519_verifies(public_key, signed, inner)
    numbers = Wire(inner)
    first, second = (plain_number(numbers.string()) for _ in range(2))
    return not numbers.data and p256_verifies(public_key, signed, first, second)


SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
OUTER_SPACE = re.compile(f"^[{SPACE}]+|[{SPACE}]+\\Z")
SPACES = re.compile(f"[{SPACE}]+")


def fold(letter):
    """Case folding of one letter; a dotless i stays itself."""
    return letter if letter == "\u0131" else letter.lower().upper().lower()


def same_name(name):
    """A name as it is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners."""
    folded = "".join(map(fold, OUTER_SPACE.sub("", unicodedata.normalize("NFKC", name))))
    spaced = SPACES.sub(" ", unicodedata.normalize("NFKC", folded))
    return re.sub("[\u200c\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]", "", spaced)


class InvalidIntent(Exception):
    """Names a member of an intent that no service would load."""


def keys_of(principals):
    """Keys by name; InvalidIntent where a member is not of its type, or a name stands there twice."""
    if not isinstance(principals, dict):
        raise InvalidIntent("principals")
    keys = {}
    for name, principal in principals.items():
        if not isinstance(principal, dict) or same_name(name) in keys:
            raise InvalidIntent("principals")
        own = principal.get("keys")
        if own is not None and not isinstance(own, list):
            raise InvalidIntent("principals")
        keys[same_name(name)] = [key_in(key) for key in own or []]
    return keys


def key_in(key):
    if not isinstance(key, dict) or not isinstance(key.get("public_key"), str):
        raise InvalidIntent("principals")
    if key.get("type") == "ssh":
        public_key = from_base64((key["public_key"].split(" ") + [""])[1])
        if public_key:
            return {"type": "ssh", "id": fingerprint(public_key), "public_key": public_key}
    elif key.get("type") == "webauthn":
        public_key, origins = url_bytes(key["public_key"]), key.get("origins")
        listed = origins is None or (isinstance(origins, list) and all(isinstance(one, str) for one in origins))
        asked = {name: key.get(name) for name in ("credential_id", "rp_id")}
        if public_key and listed and all(isinstance(one, str) for one in asked.values()):
            return {"type": "webauthn", "id": fingerprint(public_key), "public_key": public_key, "origins": origins, **asked}
    raise InvalidIntent("principals")


def read_policy(path):
    """Keys by name."""
    text = read_text(path)
    try:
        value = object_in(text[1:] if text.startswith("\ufeff") else text)
        if value is not None:
            return keys_of(value.get("principals"))
    except InvalidIntent:
        pass
    raise Unreadable(f"{path} is no JSON with the principals of an intent")


def decision_of(entry, detail):
    """Which decision an entry records, and whose."""
    other = OTHERS.get(entry["event_type"])
    if other:
        return other, text_of(detail.get({"propose": "proposer", "review": "approver"}.get(other, "actor")))
    said = text_of(detail.get("decision")) if entry["event_type"] == "consent_decision" else None
    decision = DECISIONS.get(said)
    urgent = decision == "approve" and detail.get("emergency") is True
    return "approve_emergency" if urgent else decision, text_of(detail.get("approver"))


def are_numbers(values):
    return isinstance(values, dict) and all(
        type(value) in (int, float) and abs(value) <= sys.float_info.max for value in values.values()
    )


def number_text(number):
    """A number as RFC 8785 writes it: the shortest digits, as ECMAScript places their point and exponent."""
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
PLACE = {"tenant_id", "target", "system", "place"}


def are_places(places):
    """Returns whether these are the places of a proposal: objects of four texts."""
    return isinstance(places, list) and all(
        isinstance(one, dict) and set(one) == PLACE and all(isinstance(text, str) for text in one.values())
        for one in places
    )


def proposal_in(detail):
    """The facts of a proposal's detail that consents also sign."""
    return {name: detail[name] for name in ("places", "apply_when") if name in detail}


def canonical_text(value):
    """The RFC 8785 text of a value that was parsed from JSON."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical_text(name)}:{canonical_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(canonical_text, value))}]"
    if type(value) in (int, float, decimal.Decimal):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def mandate_statement(shared, detail):
    """The statement of a decision on a mandate; `shared`: what every statement states. None where it has no bounds or revision."""
    facts = {**shared, **{name: detail[name] for name in ("mandate_id",) if name in detail}}
    if shared["decision"] != "mandate":
        if not is_whole(detail.get("revision"), 1):
            return None
        # It names the revision that it was decided on, which a resumption does not raise.
        raised = shared["decision"] != "mandate_resume"
        narrow = shared["decision"] == "mandate_narrow" and "narrow" in detail
        own = {"revision": int(detail["revision"]) - raised, **({"narrow": detail["narrow"]} if narrow else {})}
        return canonical_text({**facts, **own})
    if not isinstance(detail.get("bounds"), dict):
        return None
    systems = {"systems": detail["systems"]} if "systems" in detail else {}
    return canonical_text({**detail["bounds"], **facts, **systems})


def statement_of(entry, detail, proposal):
    """What had to be signed for this entry, and by whom; the time alone is taken from what was. `proposal`: the change's."""
    decision, by = decision_of(entry, detail)
    signed = object_in(text_of(detail.get("statement")) or "")
    if decision is None or by is None or signed is None or "at" not in signed:
        return None, None
    facts = {"decision": decision, "note": detail.get("note", ""), "at": signed["at"]}
    facts.update({"origin": entry["origin"], "v": "countersign-consent/1"})
    facts.update({"manifest_hash": detail["manifest_hash"]} if "manifest_hash" in detail else {})
    if entry["event_type"].startswith("mandate_"):
        facts["approver"] = by
        return mandate_statement(facts, detail), by
    digest = {"digest": detail["digest"]} if "digest" in detail else {}
    if decision in ("freeze", "unfreeze", "accept_clock", "accept_loss", "erase", "feed_kpis"):
        facts["actor"] = by
        facts.update({"change_id": entry["change_id"], **digest} if decision == "erase" else {})
        lost = [name for name in ("length", "head") if name in detail and decision == "accept_loss"]
        facts.update({name: detail[name] for name in lost})
        if is_whole(facts.get("length"), 0):
            facts["length"] = int(facts["length"])
        facts.update({} if detail.get("until") is None else {"until": detail["until"]})
        facts.update({"kpis": detail["values"]} if decision == "feed_kpis" and "values" in detail else {})
    else:
        facts.update({"approver": by, **digest})
        facts.update({} if decision == "propose" else {"change_id": entry["change_id"]})
        own = {"review": "verdict", "note": "item", "rollback": "over_drift"}.get(decision)
        facts.update({own: detail[own]} if own in detail else {})
        if decision == "stage":
            action, step = STAGE_ACTIONS[entry["event_type"]], detail.get("step")
            # A hold may name any step reached so far.
            reached = action == "hold" and is_whole(signed.get("step"), 0) and is_whole(step, 0) and signed["step"] <= step
            facts.update({"action": action, "step": int(signed["step"]) if reached else step})
        if decision in ("approve", "approve_emergency"):
            facts.update(proposal)
            facts.update({"seen": detail["seen"]} if "seen" in detail else {})
    for name, fact in facts.items():
        is_fact = isinstance(fact, str) or (name in ("length", "step") and is_whole(fact, 0))
        is_fact = is_fact or (name == "places" and are_places(fact)) or (name == "over_drift" and fact is True)
        is_fact = are_numbers(fact) if name == "kpis" else is_fact
        if not (is_fact or (name == "seen" and isinstance(fact, list) and all(isinstance(one, str) for one in fact))):
            return None, None
    kpis = facts.pop("kpis", None)
    if kpis is None:
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True), by
    text = json.dumps({**facts, "kpis": ""}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    # No text of another member has this, since quotes in a text are escaped.
    fed = ",".join(f"{json.dumps(name)}:{number_text(kpis[name])}" for name in sorted(kpis))
    return text.replace('"kpis":""', f'"kpis":{{{fed}}}'), by


def manifest_in(detail):
    """Which intent a detail names; what is no text names none."""
    manifest = detail.get("manifest_hash")
    return manifest if isinstance(manifest, str) else "undefined"


def why_unclear(entry, detail):
    """Why nobody can tell what an entry decides, or None; `detail` is None where it is no JSON object."""
    if entry["event_type"] not in DECIDING:
        return None
    if detail is None:
        return "its detail is no JSON object, so that nobody can tell what it decides"
    decided = text_of(detail.get("decision")) in DECISIONS and text_of(detail.get("approver")) is not None
    if entry["event_type"] == "consent_decision" and not decided:
        return "its detail does not say what was decided, and by whom"
    return None


def principals_in(value):
    """What an intent's entry says of its principals: kind and key ids by name."""
    principals = {}
    for name, one in (value if isinstance(value, dict) else {}).items():
        one = one if isinstance(one, dict) else {}
        keys = one.get("keys") if isinstance(one.get("keys"), list) else []
        principals[same_name(name)] = (text_of(one.get("kind")) or "", sorted(key for key in keys if isinstance(key, str)))
    return principals


class Proofs:
    """Checks the proofs of entries one after another; without a policy only the log says whose the keys are."""

    def __init__(self, policy, proposals=None):
        self.policy = policy
        self.counts = {"verified": 0, "as_named": 0, "not_checked": 0, "unsigned": 0}
        self.named = {}
        self.proposals = {} if proposals is None else proposals

    def check(self, entry, line):
        """What is not valid of an entry's proof, or of what it says was decided; or None."""
        event = entry["event_type"]
        if event not in DECIDING and '"proof":' not in entry["detail"]:
            return None
        detail, rule = object_in(entry["detail"]), "form"
        message = why_unclear(entry, detail)
        if detail is not None and message is None:
            if event == "change_proposed":
                self.proposals.setdefault(entry["change_id"], proposal_in(detail))
            if event == "intent_in_force":
                rule, message = "intent", self.learn(entry["id"], detail)
            else:
                rule, message = "proof", (self.judge if "proof" in detail else self.judge_unsigned)(entry, detail)
        return message and {"line": line, "entry": entry["id"], "rule": rule, "message": message}

    def learn(self, entry, detail):
        """Takes an intent's entry; returns why it contradicts an earlier one of the same hash, or None."""
        principals = principals_in(detail.get("principals"))
        before = self.named.setdefault(manifest_in(detail), (entry, principals))
        if before[1] == principals:
            return None
        return f"it names other principals of its intent than entry {before[0]}, which is of the same manifest_hash"

    def keys_of(self, detail, name):
        _, principals = self.named.get(manifest_in(detail), (None, {}))
        return principals.get(same_name(name), ("", []))[1]

    def judge_unsigned(self, entry, detail):
        """Why a decision had to be signed that is not; a trusted proxy's word is enough for proposals and withdrawals."""
        decision, by = decision_of(entry, detail)
        if decision in MAY_BE_UNSIGNED or by is None:
            return None
        if self.keys_of(detail, by):
            return f"{by} has keys in the intent of this entry, and did not sign it"
        self.counts["unsigned"] += 1 if self.policy and self.policy.get(same_name(by)) else 0
        return None

    def judge(self, entry, detail):
        statement, by = statement_of(entry, detail, self.proposals.get(entry["change_id"], {}))
        if statement is None or detail.get("statement") != statement:
            return "its statement is not of this entry"
        proof = detail["proof"] if isinstance(detail["proof"], dict) else {}
        passkey = proof.get("type") == "webauthn"
        signer = None if passkey else ssh_signer_of(statement, proof)
        if not (is_assertion_of(statement, proof) if passkey else signer):
            return "its proof is not of its statement"
        if detail.get("authenticated") == "signature" and signer and signer[4:7] != b"sk-":
            return "it says that a person was verified, and its key signs by itself"
        if self.policy is not None:
            made = lambda key: (  # noqa: E731
                key["type"] == "ssh" and key["public_key"] == signer if signer else is_signed_by_passkey(proof, key)
            )
            own = next(filter(made, self.policy.get(same_name(by), [])), None)
            if own is None:
                return f"the policy lists no key of {by} that made its proof"
            if own["id"] != detail.get("key"):
                return "its key is not the one that made its proof"
            self.counts["verified"] += 1
            return None
        identifier = fingerprint(signer) if signer else detail.get("key")
        if identifier != detail.get("key") or identifier not in self.keys_of(detail, by):
            return f"the log does not name its key as one of {by}"
        self.counts["not_checked" if passkey else "as_named"] += 1
        return None


# The contents of changes and intents

CARRIED = (b'{"change_id":', b'{"manifest_hash":')


def is_carried(line):
    """Returns whether a line is none of an entry, but of what an entry is about."""
    try:
        line.decode("utf-8")
    except ValueError:
        return False
    return line.startswith(CARRIED)


def detail_of(entry):
    detail = object_in(entry["detail"])
    return {} if detail is None else detail


class Contents:
    """Verifies each content against the hash in the entry before it; `named`: principals by manifest hash, from entries."""

    def __init__(self, named, learn):
        self.named, self.learn = named, learn
        self.counts = {"changes": 0, "intents": 0, "unfit": 0, "missing": 0, "erased": 0, "erased_changes": []}
        self.left = {}
        self.awaited = None

    def finding(self, line, entry, rule, message):
        self.counts["unfit"] += 1
        return {"line": line, "entry": entry, "rule": rule, "message": message}

    def missed(self):
        awaited, self.awaited = self.awaited, None
        if awaited is None:
            return None
        self.counts["missing"] += 1
        return {"line": awaited["line"], "entry": awaited["entry"], "rule": awaited["rule"], "message": f"{awaited['name']} is missing"}

    def follow(self, entry, line):
        """An entry, or None; yields what does not hold of what stood behind the one before, or of an erasure."""
        yield self.missed()
        if entry is None:
            return
        if entry["event_type"] == "content_erased":
            yield self.erased_by(entry, line)
        elif entry["event_type"] == "change_proposed":
            change = entry["change_id"]
            self.awaited = {
                "rule": "content",
                "digest": detail_of(entry).get("digest"),
                "apply_when": detail_of(entry).get("apply_when", ABSENT),
                "name": f"the content of {change}",
                "change": change,
                "begins": f'{{"change_id":{compact(change)},"content":'.encode(),
                "erased": f'{{"change_id":{compact(change)},"erased":'.encode(),
            }
        elif entry["event_type"] == "intent_in_force":
            manifest = manifest_in(detail_of(entry))
            begins = f'{{"manifest_hash":{compact(manifest)},"manifest":'.encode()
            self.awaited = {"rule": "intent", "digest": manifest, "name": f"the manifest {manifest}", "begins": begins}
        if self.awaited:
            self.awaited.update(line=line, entry=entry["id"])

    def erased_by(self, entry, line):
        known = self.left.pop(entry["change_id"], None)
        if known is None:
            return None
        if detail_of(entry).get("remaining_digest") != known[2]:
            message = f"what is left of {entry['change_id']} is not what its erasure left"
            return self.finding(line, entry["id"], "content", message)
        self.counts["erased"] += 1
        if self.counts["erased"] <= MAX_LISTED_MISMATCHES:
            self.counts["erased_changes"].append(entry["change_id"])
        return None

    def take(self, text, line):
        """A line that is carried; returns what does not hold of it, or None."""
        awaited = self.awaited
        forms = [awaited.get("begins"), awaited.get("erased")] if awaited else []
        begins = next((form for form in forms if form and text.startswith(form)), None)
        if begins is None or not text.endswith(b"}"):
            message = "the line does not stand behind the entry that it is of"
            return {"line": line, "entry": None, "rule": "form", "message": message}
        self.awaited = None
        digest = hashlib.sha256(text[len(begins) : -1]).hexdigest()
        if begins == awaited.get("erased"):
            self.left[awaited["change"]] = (line, awaited["entry"], digest)
        elif digest != awaited["digest"]:
            return self.finding(line, awaited["entry"], awaited["rule"], "it is not what the entry has the hash of")
        elif awaited["rule"] == "content":
            self.counts["changes"] += 1
            content = object_in(text[len(begins) : -1].decode("utf-8", "replace"))
            message = None
            stated, own = awaited["apply_when"], (content or {}).get("apply_when", ABSENT)
            if content is not None and not (stated is own is ABSENT or (isinstance(own, str) and stated == own)):
                message = "it names another apply_when than its content"
            elif content is not None:
                message = self.learn(awaited["change"], content)
            if message:
                return self.finding(line, awaited["entry"], "content", message)
        else:
            message = self.why_other(text[len(begins) : -1], self.named.get(digest))
            if message:
                return self.finding(line, awaited["entry"], "intent", message)
            self.counts["intents"] += 1
        return None

    def why_other(self, manifest, told):
        """Why the entry of an intent says something else of its principals than the manifest, or None."""
        try:
            value = object_in(manifest.decode("utf-8"))
            if value is not None and told is not None:
                keys = keys_of({} if value.get("principals") is None else value["principals"])
                own = {name: sorted(key["id"] for key in listed) for name, listed in keys.items()}
                same = own == {name: identifiers for name, (_, identifiers) in told[1].items()}
                return None if same else "its entry names other principals, or other keys of theirs, than the manifest"
        except InvalidIntent:
            pass
        return "it is no intent that a service loads"

    def end(self):
        """Yields what does not hold now that there are no more lines."""
        yield self.missed()
        for change, (line, entry, _) in self.left.items():
            yield self.finding(line, entry, "content", f"{change} is said to be erased, and no entry says so")


# Checkpoints in signed notes (C2SP)

CHECKPOINT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")
NAME = r"([^\s\ufeff+\x00-\x1f\x7f-\x9f]+)"
SIGNATURE = re.compile("— " + NAME + r" ([A-Za-z0-9+/]+={0,2})")
VERIFIER_KEY = re.compile(NAME + r"\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})[ \t\r\n]*")
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----[ \t\r\n]+([A-Za-z0-9+/= \t\r\n]+)-----END PUBLIC KEY-----")
SPKI = bytes.fromhex("302a300506032b6570032100")


def from_base64(text):
    """The bytes, or None unless written in the one standard way."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text else None


def parse_checkpoint(note):
    """A checkpoint, or None. The empty line may be missing where there are no signatures."""
    end = note.rfind("\n\n")
    text, lines = (note, []) if end == -1 else (note[: end + 1], note[end + 2 :].split("\n")[:-1])
    parts = CHECKPOINT.fullmatch(text)
    if not parts or not note.endswith("\n") or CONTROL.search(note):
        return None
    signatures = []
    for line in lines:
        signed = SIGNATURE.fullmatch(line)
        data = from_base64(signed[2]) if signed else None
        if data is None or len(data) < 5:
            return None
        signatures.append((signed[1], data[:4], data[4:]))
    return {"origin": parts[1], "length": int(parts[2]), "root": parts[3], "text": text, "signatures": signatures}


LOG_KEY, COSIGNATURE = 1, 4
LATEST = 253402300799


def key_id(name, public_key, kind=LOG_KEY):
    return hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + public_key).digest()[:4]


def verifier_key(text, kind=LOG_KEY):
    """(name, 32 bytes) of a verifier key, `name+id+base64`, or None."""
    parts = VERIFIER_KEY.fullmatch(text)
    data = from_base64(parts[3]) if parts else None
    if not data or data[0] != kind or key_id(parts[1], data[1:], kind).hex() != parts[2]:
        return None
    return (parts[1], data[1:]) if decode_point(data[1:]) else None


def read_key(file_or_key):
    """(name or None, 32 bytes), from a PEM public key or a verifier key."""
    text = read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key
    key = verifier_key(text)
    if key:
        return key
    pem = PEM.search(text)
    der = from_base64("".join(pem[1].split())) if pem else None
    if der and len(der) == 44 and der.startswith(SPKI) and decode_point(der[12:]):
        return None, der[12:]
    raise Unreadable(f"{file_or_key} is neither a verifier key nor an Ed25519 public key in PEM")


def signer_of(checkpoint, key):
    """The name under which the key signed, or None when it did not, or when such a signature does not hold."""
    name, public_key = key
    own = [
        (signer, signature)
        for signer, identifier, signature in checkpoint["signatures"]
        if signer == (name or signer) and identifier == key_id(signer, public_key)
    ]
    text = checkpoint["text"].encode()
    return own[0][0] if own and all(ed25519_verifies(public_key, text, signature) for _, signature in own) else None


def read_witness(file_or_key):
    """(name, 32 bytes), from the verifier key of a witness."""
    key = verifier_key(read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key, COSIGNATURE)
    if key:
        return key
    raise Unreadable(
        f"{file_or_key} is no verifier key of a witness: <name>+<key id>+<base64>, Ed25519 cosignature"
    )


def cosigned_at(checkpoint, witness):
    """When a witness cosigned, the latest time; None without a cosignature, False when one in its name does not hold."""
    name, public_key = witness
    identifier, latest = key_id(name, public_key, COSIGNATURE), None
    for signer, identified, signature in checkpoint["signatures"]:
        if (signer, identified) != (name, identifier):
            continue
        time = int.from_bytes(signature[:8], "big")
        text = f"cosignature/v1\ntime {time}\n{checkpoint['text']}".encode()
        if len(signature) != 72 or not 0 < time <= LATEST or not ed25519_verifies(public_key, text, signature[8:]):
            return False
        latest = max(latest or 0, time)
    return latest


def sightings_of(checkpoints, witnesses, quorum):
    """What each witness saw of the log, the longest, and what is wrong: `quorum` of them must have cosigned the same."""
    longest, findings, most = {}, [], 0
    for what, checkpoint in checkpoints:
        here = 0
        for witness in witnesses:
            time = cosigned_at(checkpoint, witness)
            if time is False:
                findings.append(whole("cosignature", f"{what} bears a cosignature of {witness[0]} that does not hold"))
            elif time is not None:
                here += 1
                longest[witness] = max(longest.get(witness, (0, 0)), (checkpoint["length"], time))
        most = max(most, here)
    if most < quorum:
        message = f"no checkpoint is cosigned by {quorum} of {len(witnesses)} witnesses; the most that one is are {most}"
        findings.append(whole("cosignature", message))
    seen = [(witness[0], *longest[witness]) for witness in witnesses if witness in longest]
    return [{"name": name, "length": length, "time": time} for name, length, time in seen], findings


def read_sightings(witnesses, quorum, evidence):
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
    return sightings_of(checkpoints, keys, int(count))


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
    """The text of a file in which a line may be torn: a line that is not UTF-8 comes out as one of no meaning."""
    return "\n".join(text_in(line) for line in read_bytes(path).split(b"\n"))


def text_in(line):
    try:
        return line.decode("utf-8")
    except ValueError:
        return "\0"


def note_in(line):
    """The checkpoint in a line of an anchor's file."""
    return text_of((object_in(line) or {}).get("checkpoint")) or ""


def read_checkpoints(path, keys):
    """What is kept, what is wrong with it, what was passed over, and the checkpoints."""
    text = read_lines(path)
    kept, findings, remarks, checkpoints = [], [], [], []
    single = parse_checkpoint(text)
    places = [(path, single)] if single else []
    for number, line in enumerate([] if single else text.split("\n"), 1):
        checkpoint = parse_checkpoint(note_in(line))
        if checkpoint:
            places.append((f"line {number} of {path}", checkpoint))
        elif line:
            remarks.append(f"line {number} of {path} is not a checkpoint and was passed over")
    if not places:
        raise Unreadable(f"{path} holds no checkpoint")
    for place, checkpoint in places:
        what = f"the checkpoint of {checkpoint['length']} entries in {place}"
        signer = next(filter(None, (signer_of(checkpoint, key) for key in keys)), None)
        if keys and not signer:
            which = "any" if len(keys) > 1 else "the"
            findings.append(whole("signature", f"{what} does not bear the signature of {which} given key"))
            continue
        checkpoints.append((what, checkpoint))
        trust = f"signed by {signer}" if signer else "signature not checked, no --key was given"
        kept.append({**{k: checkpoint[k] for k in ("length", "root", "origin")}, "description": f"{what} ({trust})"})
    return kept, findings, remarks, checkpoints


def whole(rule, message):
    """A finding about the log as a whole."""
    return {"line": None, "entry": None, "rule": rule, "message": message}


def loss_in(entry):
    """The accepted loss of the end of the log that an entry states."""
    detail = detail_of(entry)
    known = detail.get("known")
    text = lambda value: value if isinstance(value, str) else ""  # noqa: E731
    count = lambda value: int(value) if is_whole(value, -WHOLE) else 0  # noqa: E731
    return {
        "entry": entry["id"],
        "at": entry["timestamp"],
        "actor": text(detail.get("actor")),
        "note": text(detail.get("note")),
        "known": known_length(known, count),
        "continues": count(detail.get("length")),
    }


def known_length(known, count):
    """How many entries the log had before; None where nobody knows."""
    if not isinstance(known, dict):
        return 0
    return None if "head" in known and known["head"] is None else count(known.get("length"))


def loss_text(loss):
    """One loss in a sentence."""
    continues, known = loss["continues"], loss["known"]
    if known is None:
        lost = f"after {continues}, of which nobody knows how many there were,"
    else:
        lost = f"after {continues} up to {known}" if continues < known else f"up to {known}"
    by = f"entry {loss['entry']}, {loss['at']}: {loss['actor']}"
    return f"{by} accepted that entries {lost} are lost; they may have been acknowledged"


def why_lost(losses, length):
    """What the log states of an end that it lacks; empty where no loss covers it."""
    def covers(loss):
        return loss["continues"] < length if loss["known"] is None else loss["known"] >= length

    loss = next(filter(covers, losses), None)
    return f"; {loss_text(loss)}" if loss else ""


def why_not_held(item, seen, origin, entries, losses):
    why = why_lost(losses, item["length"])
    if "origin" in item and entries > 0 and item["origin"] != note_line(origin):
        return whole("origin", f"{item['description']} is of another log, {item['origin']}")
    if item["length"] > entries:
        return whole("tail_truncation", f"the log has {entries} entries, and {item['description']} was kept of it{why}")
    if seen != item.get("head", item.get("root")):
        return whole("full_rewrite", f"the log does not continue {item['description']}{why}")
    return None


def percent(text, kinds):
    return re.sub(kinds, lambda one: "".join(f"%{byte:02X}" for byte in one[0].encode()), text)


def note_line(text):
    """A line of a note carries no control characters."""
    return percent(text, r"[\x00-\x1f\x7f-\x9f]")


def shown_line(text):
    """Text as a line for a terminal: without control characters, and without what turns or breaks a line."""
    return percent(text, r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


# One pass over an export


BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")


def lines_of(file):
    """(line without its end, what it is); one that is not ended, or longer than 16 MiB, is the last."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if not line.endswith(b"\n"):
            yield (line[:100], "too long") if len(line) > MAX_LINE_BYTES else (line, "not ended")
            return
        yield line[:-1], "ended"


def why_damaged(line, number, state):
    """Why a line shows that the file is not what the service sent, or None where it may be."""
    if number == 1 and line.startswith(b"\x1f\x8b"):
        return "it is compressed (gzip): unpack it first, for example with gunzip"
    if number == 1 and line.startswith(BYTE_ORDER_MARKS):
        return "it begins with a byte order mark, so another program saved it again: use the file as it was downloaded"
    if line == b"":
        return f"line {number} is empty, and an export has no empty lines: download it again"
    if number == 1 and not line.startswith(b'{"origin":"'):
        return "it does not begin with an entry of a log: it is an error, a page, or another file that was saved in its place"
    if state == "not ended":
        return "its last line is not ended, so the file was cut or its last line break removed: download it again"
    if state == "ended" and line.endswith(b"\r"):
        return f"line {number} ends with a carriage return, so line ends were converted: use the file as it was downloaded"
    return None


def target_key(tenant, target):
    """The key of a target, which is ASCII and compared without case."""
    return target.translate(LOWER), tenant


def plan_targets(sets, least=2):
    """The keys of the targets that `sets` names; None where these are not `least` different ones."""
    if not isinstance(sets, list) or len(sets) < least or not all(isinstance(one, dict) for one in sets):
        return None
    names = [(text_of(one.get("tenant_id")), text_of(one.get("target"))) for one in sets]
    if any(None in one for one in names):
        return None
    keys = [target_key(*one) for one in names]
    return keys if len(set(keys)) == len(keys) else None


def targets_held(entry):
    """The targets of an apply or a rollback with their facts: those of a plan, or the one of another change."""
    detail = object_in(entry["detail"]) or {}
    sets = detail.get("sets")
    listed = sets if isinstance(sets, list) else [{**detail, "tenant_id": entry["tenant"]}]
    for facts in (one for one in listed if isinstance(one, dict)):
        yield target_key(text_of(facts.get("tenant_id")) or "", text_of(facts.get("target")) or ""), facts


class PlanTargets:
    """The targets of plans by their entries: an apply sets all that were proposed, and a rollback takes back some that are left."""

    OTHER = "it names other targets of its plan than its content"
    STILL_HELD = "it is rolled back, and its plan still holds a target"
    # Events that name the targets of a plan, after its proposal.
    FAILURES = ("change_apply_failed", "change_rollback_failed")
    OPERATIONS = ("change_applied", "change_rolled_back", *FAILURES, "change_drifted", "value_restored")
    # States of a host after a failure; that of a plan is the first that one of its targets has.
    WORST_FIRST = ("unknown", "applied", "absent", "rolled_back")
    NO_TARGETS = "its sets are no targets of a plan"

    def __init__(self):
        self.known = {}

    def learn(self, change, content):
        """Takes the content of a change; returns why it is not of the entry of its proposal, or None."""
        plan = self.known.get(change)
        if plan is None or "sets" not in content:
            return None if plan is None and "sets" not in content else self.OTHER
        return None if plan_targets(content["sets"]) == plan["keys"] else self.OTHER

    def check(self, entry, line):
        """What is not valid of an entry of a plan; or None."""
        if entry["event_type"] not in ("change_proposed", *self.OPERATIONS):
            return None
        message = self.fault(entry["event_type"], entry["change_id"], object_in(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    def fault(self, event, change, detail):
        sets = detail.get("sets", ABSENT)
        if event == "change_proposed":
            keys = None if sets is ABSENT else plan_targets(sets)
            if keys:
                self.known[change] = {"keys": keys, "left": set()}
            return None if keys or sets is ABSENT else self.NO_TARGETS
        plan = self.known.get(change)
        if plan is None:
            return None if sets is ABSENT else "it names targets of a plan, and its change is none"
        if event == "change_drifted":
            return self.unknown(plan, sets)
        if event in self.FAILURES:
            problem = self.left_fault(plan, sets, detail.get("host"))
            if problem:
                return problem
            back = [one for one in sets if isinstance(one, dict) and "target_holds" in one] if isinstance(sets, list) else []
            return self.take_back(plan, plan_targets(back, 0) or [])
        keys = plan_targets(sets, 1)
        if keys is None:
            return self.NO_TARGETS
        # Its owners are checked by themselves.
        if event == "value_restored":
            return None
        if event == "change_rolled_back":
            return self.take_back(plan, keys) or (self.STILL_HELD if plan["left"] else None)
        plan["left"] = set(keys)
        return None if plan["left"] == set(plan["keys"]) else "it was applied to other targets than those of its plan"

    def unknown(self, plan, sets):
        keys = plan_targets(sets, 1)
        return None if keys and all(key in plan["keys"] for key in keys) else self.NO_TARGETS

    def left_fault(self, plan, sets, host):
        """What is not valid of how a failure left the targets of its plan; or None. A change whose content was edited names none."""
        if sets is ABSENT:
            return None
        problem = self.unknown(plan, sets)
        if problem:
            return problem
        hosts = [one.get("host") for one in sets]
        worst = next((state for state in self.WORST_FIRST if state in hosts), ABSENT)
        return None if worst == host else "its state is not the worst of its targets"

    @staticmethod
    def take_back(plan, keys):
        for key in keys:
            if key not in plan["left"]:
                return "it takes back a target that its plan does not hold"
            plan["left"].remove(key)
        return None


class Owners:
    """The owners of targets by the entries of applies and rollbacks: only the value of an owner is restored."""

    def __init__(self):
        # By change: the targets that it owns.
        self.owned = {}

    def give(self, change, key):
        self.owned.setdefault(change, set()).add(key)

    def take(self, change, key):
        self.owned.get(change, set()).discard(key)

    def check(self, entry, line):
        """What is not valid of an entry of a restore; or None."""
        event, change = entry["event_type"], entry["change_id"]
        if event == "change_applied":
            for key, facts in targets_held(entry):
                self.take(text_of(facts.get("target_held")), key)
                self.give(change, key)
        elif event in ("change_rolled_back", "change_rollback_failed"):
            for key, facts in targets_held(entry):
                if event == "change_rollback_failed" and "target_holds" not in facts:
                    continue
                self.take(change, key)
                self.give(text_of(facts.get("target_holds")), key)
        elif event == "value_restored" and not all(key in self.owned.get(change, ()) for key, _ in targets_held(entry)):
            message = "it restores a change that is not the applied owner of its target"
            return {"line": line, "entry": entry["id"], "rule": "form", "message": message}
        return None


SERVICE = "policy:apply_when"
WHEN = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")


class Automation:
    """Automatic applies by their entries: an approved change that was proposed so, from its time on, until that is stopped."""

    def __init__(self):
        # By change: "approved" or a time, when its last consent came, since when it is approved, and when it was first.
        self.automatic, self.stopped, self.last = {}, {}, None

    def check(self, entry, line):
        """What is not valid of an entry of an automatic apply; or None."""
        message = self.fault(entry, entry["event_type"], entry["change_id"], object_in(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    def fault(self, entry, event, change, detail):
        approved = detail.get("status") == "approved"
        known, timestamp = self.automatic.get(change), entry["timestamp"]
        # While a clock is behind the log, entries have the time of the one before.
        dated = self.last is not None and self.last[0] == entry["id"] - 1 and timestamp > self.last[1]
        self.last = entry["id"], timestamp
        if event == "change_proposed" and "apply_when" in detail:
            first = "" if approved else None
            self.automatic[change] = [detail["apply_when"], first, timestamp if approved else None, first]
        elif event == "consent_decision" and known:
            since = timestamp if known[2] is None else known[2]
            first = timestamp if approved and known[3] is None else known[3]
            known[1:] = [timestamp, since, first] if approved else [None, None, first]
        elif event == "automation_stopped":
            if not known:
                return "it stops the automation of a change that has none"
            self.stopped[change] = self.automatic.pop(change)
        if detail.get("actor") != SERVICE:
            return None
        if detail.get("authenticated") is not None:
            return f"it is the act of {SERVICE}, which is the service itself, and names how its actor was authenticated"
        if event in ("automation_stopped", "change_apply_failed"):
            return None
        if event != "change_applied":
            return f"{SERVICE} applies changes and stops doing so, and this is neither"
        # An apply that was found later began before the automation, the approval or its day ended; not before its time, or without a consent.
        late = detail.get("late")
        found = (detail.get("resolved_after_interruption") if late is None else late) is True
        begun = known or (self.stopped.get(change) if found else None)
        if not begun:
            return f"it is applied by {SERVICE}, and the change does not apply by itself"
        when, approved, since, first = begun
        return self.why_invalid(when, first if found else approved, since, timestamp, dated and not found)

    @staticmethod
    def why_invalid(when, approved, since, at, dated):
        if approved is None:
            return f"it is applied by {SERVICE}, and the change is not approved"
        if when != "approved" and (not isinstance(when, str) or not WHEN.fullmatch(when) or at < when):
            return f"it is applied by {SERVICE} before the time of the change"
        if when != "approved" and approved >= when:
            return f"it is applied by {SERVICE}, and was approved after the time of the change"
        late = milliseconds(at) - milliseconds(since if when == "approved" else when) if dated else 0
        return f"it is applied by {SERVICE} more than 24 hours after it was due" if late > MAX_LATE_MS else None


# An apply is postponed for 24 hours at most; one that began by then may end within another hour.
MAX_LATE_MS = 25 * 3600 * 1000
MOMENT = re.compile(r"([0-9]{4}|[+-][0-9]{6})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z")
EPOCH = datetime.date(1970, 1, 1).toordinal()
FARTHEST_MS = 8_640_000_000_000_000


def milliseconds(time):
    """A time as the service writes it in milliseconds; NaN for any other, and where the calendar has no such time."""
    parts = MOMENT.fullmatch(time)
    year, month, day, hour, minute, second, rest = map(int, parts.groups()) if parts else [0] * 7
    # Six digits are for the years that four do not hold.
    if not parts or (len(parts[1]) == 4) != (0 <= year <= 9999) or hour > 23 or max(minute, second) > 59:
        return math.nan
    try:
        # datetime has no year before 1; the calendar repeats itself every 400 years.
        days = datetime.date(2000 + year % 400, month, day).toordinal() - EPOCH + (year // 400 - 5) * 146_097
    except ValueError:
        return math.nan
    moment = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + rest
    return moment if abs(moment) <= FARTHEST_MS else math.nan


def verify_export(file, kept=(), findings=(), remarks=(), policy=None, witnessed=(), contents=False):
    """Verifies the lines of a binary file and returns the report; Unreadable where it is no export as the service sent it."""
    chain, tree, found, total, proofs = Chain(), Tree(), [], 0, Proofs(policy)
    owners, automation, rollouts, plans = Owners(), Automation(), Rollouts(), PlanTargets()

    def learn(change, content):
        return rollouts.learn(change, content) or plans.learn(change, content)

    carried, number = Contents(proofs.named, learn) if contents else None, 0
    with_tree = any("root" in item for item in kept)
    lengths = {item["length"] for item in kept}
    heads, roots, losses = {0: "0" * 64}, {0: tree.root()}, []

    def note(*told):
        nonlocal total, found
        for one in filter(None, told):
            total += 1
            found += [one] if total <= MAX_LISTED_MISMATCHES else []

    def judge(line, number):
        if carried and is_carried(line):
            note(carried.take(line, number))
            return
        finding = chain.follow(line)
        note(finding and {**finding, "line": number})
        note(*(carried.follow(chain.entry, number) if carried else ()))
        note(chain.entry and proofs.check(chain.entry, number))
        note(chain.entry and owners.check(chain.entry, number))
        note(chain.entry and automation.check(chain.entry, number))
        note(chain.entry and rollouts.check(chain.entry, number))
        note(chain.entry and plans.check(chain.entry, number))
        if chain.entry and chain.entry["event_type"] == "loss_accepted":
            losses.append(loss_in(chain.entry))
        if with_tree:
            tree.add(chain.last["current_hash"] if chain.last else "0" * 64)
        if chain.lines in lengths:
            heads[chain.lines] = chain.last["current_hash"] if chain.last else ""
            roots[chain.lines] = tree.root() if with_tree else ""

    for number, (line, state) in enumerate(lines_of(file), 1):
        damage = why_damaged(line, number, state)
        if damage:
            raise Unreadable(f"this is no export as the service sent it: {damage}")
        try:
            judge(line if state == "ended" else b"", number)
        except Exception as error:  # No line may end the verification: what nobody thought of is a finding too.
            message = f"it could not be judged: {type(error).__name__}: {error}"
            note({"line": number, "entry": None, "rule": "form", "message": message})
    if number == 0:
        raise Unreadable("there is nothing to verify: the file is empty")
    note(*(carried.end() if carried else ()))
    outside = list(findings)
    for item in kept:
        seen = (heads if "head" in item else roots).get(item["length"])
        outside.append(why_not_held(item, seen, chain.origin or "", chain.lines, losses))
    outside = [finding for finding in outside if finding]
    total += len(outside)
    # Every log continues an empty one, so having kept that shows nothing.
    held = any(item["length"] > 0 for item in kept)
    return {
        "verdict": "bad" if total else "valid" if held else "consistent",
        "entries": chain.lines,
        "origin": chain.origin or "",
        "head": chain.last["current_hash"] if chain.last else "",
        "findings": (found + outside)[:MAX_LISTED_MISMATCHES],
        "findings_total": total,
        "held_against": [item["description"] for item in kept],
        "witnessed": list(witnessed),
        "proofs": proofs.counts,
        "contents": carried.counts if carried else None,
        "losses": losses,
        "not_checked": [] if held else ["tail_truncation", "full_rewrite"],
        "remarks": [*remarks, *rollouts.remarks()],
    }


# Rollouts: the rule cs1, of plans as the field `stages` of a change has them


BUCKETS = 10_000
WRONG_BOUND = 0.05
WRONG_MISMATCH = 0.01
LEAST_USERS = 2


def murmur3(data):
    """Returns MurmurHash3 for 32 bits, seed 0, of bytes."""

    def rotated(number, by):
        return (number << by | number >> (32 - by)) & 0xFFFFFFFF

    def stirred(word):
        return rotated(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF

    state = 0
    whole_words = len(data) // 4 * 4
    for at in range(0, whole_words, 4):
        state ^= stirred(int.from_bytes(data[at : at + 4], "little"))
        state = (rotated(state, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= stirred(int.from_bytes(data[whole_words:], "little"))
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state


def bucket_of(salt, unit):
    """Returns the bucket of a user, 0 to 9,999; a step treats those below its share."""
    return murmur3((salt + unit).encode()) * BUCKETS >> 32


def rounded(number):
    """Rounds to 10 significant digits; None is no bound."""
    return None if number is None or not math.isfinite(number) else float(f"{number:.9e}")


def bounds_in(kpi):
    return (0, 1) if kpi["kind"] == "binary" else tuple(kpi["bounds"])


def exceeds(number, most):
    """Compares to 9 digits: feeders add up floating-point numbers. A number that is missing exceeds everything."""
    if number is None or most is None or math.isnan(number) or math.isnan(most):
        return True
    return number - most > 1e-9 * max(abs(number), abs(most))


def why_outside(name, users, total, squares, low, high):
    if exceeds(users * low, total) or exceeds(total, users * high):
        return f"{name} is outside the bounds of {users} users"
    if squares is None or exceeds(total * total / users, squares):
        return f"{name}2 is less than equal values would give"
    if exceeds(squares, (low + high) * total - users * low * high):
        return f"{name}2 is more than values within the bounds give"
    return None


def why_impossible(kpi, fed):
    """Says why the totals of an arm cannot be."""
    users, total = fed["n"], fed["sum"]
    if kpi["kind"] == "binary":
        if total < 0:
            return "fewer successes than none"
        return "more successes than users" if total > users else None
    why = why_outside("sum", users, total, fed.get("sum2"), *bounds_in(kpi))
    if why is not None or kpi["kind"] == "mean":
        return why
    if "per" not in fed:
        return f"per is outside the bounds of {users} users"
    why = why_outside("per", users, fed["per"], fed.get("per2"), *kpi["per_bounds"])
    if why is not None:
        return why
    cross = fed.get("cross")
    if cross is None or exceeds(cross * cross, fed["sum2"] * fed["per2"]):
        return "cross is beyond what the sums of squares allow"
    return None


def arm_of(kpi, fed):
    """Returns mean, variance and range of a user of an arm, as if one more user lay half the range off."""
    users = fed["n"]
    low, high = bounds_in(kpi)
    if kpi["kind"] == "ratio":
        per_low, per_high = kpi["per_bounds"]
        mean, scale = fed["sum"] / fed["per"], fed["per"] / users
        squares = (fed["sum2"] - 2 * mean * fed["cross"] + mean * mean * fed["per2"]) / (scale * scale)
        span = (high - low + mean * (per_high - per_low)) / scale
    else:
        mean, span = fed["sum"] / users, high - low
        # A success is 1, and so is its square.
        squares = (fed["sum"] if kpi["kind"] == "binary" else fed["sum2"]) - fed["sum"] * fed["sum"] / users
    return mean, (squares + span * span / 4) / users, span


def roots_of(square, linear, constant):
    """Returns both roots, the smaller first; None where the numbers between them have no end."""
    inner = linear * linear - 4 * square * constant
    if not (square > 0 and inner >= 0):
        return None
    half = math.sqrt(inner)
    return (-linear - half) / (2 * square), (-linear + half) / (2 * square)


class Harm:
    """How much worse the treated are than the control; positive is worse. Relative allowances are parts of the control's mean."""

    def __init__(self, kpi, treated, control):
        mean_t, variance_t, _ = arm_of(kpi, treated)
        self.mean, self.variance, span = arm_of(kpi, control)
        self.users_t, users_c = treated["n"], control["n"]
        self.up = kpi["good"] == "up"
        self.relative = isinstance(kpi["allowed"], dict)
        self.pairs = self.users_t * users_c / (self.users_t + users_c)
        self.harm = (self.mean - mean_t) if self.up else (mean_t - self.mean)
        larger = max(variance_t, self.variance)
        self.noise_t = (larger if self.users_t <= users_c else variance_t) / self.users_t
        self.noise_c = (larger if users_c <= self.users_t else self.variance) / users_c
        low, high = bounds_in(kpi)
        if kpi["kind"] == "ratio":
            low, high = low / kpi["per_bounds"][1], high / kpi["per_bounds"][0]
        self.room = abs((high if self.up else low) - self.mean) + span / (4 * users_c)

    def width(self, risk):
        stretch = 1 + self.pairs / 100
        return 2 * (1 + 100 / self.pairs) * math.log(1 + math.sqrt(stretch) / (2 * risk))

    def relative_roots(self, wide, fixed, growth):
        """Solves (x*mean - harm)^2 = wide * (fixed + growth*x*mean + noise_c*(1 -+ x)^2), by Fieller."""
        sign = -1 if self.up else 1
        return roots_of(
            self.mean * self.mean - wide * self.noise_c,
            -2 * self.mean * self.harm - wide * (growth * self.mean + 2 * sign * self.noise_c),
            self.harm * self.harm - wide * (fixed + self.noise_c),
        )

    def at_least(self, risk):
        wide = self.width(risk)
        if self.relative:
            roots = self.relative_roots(wide, self.noise_t, 0)
            return None if roots is None else roots[0]
        return self.harm - math.sqrt(wide * (self.noise_t + self.noise_c))

    def at_most(self, risk):
        wide = self.width(risk)
        # The second form has the variance of a treated arm that is so much worse.
        fixed, growth = self.variance / self.users_t, self.variance / self.users_t / self.room
        if self.relative:
            found = self.relative_roots(wide, self.noise_t, 0), self.relative_roots(wide, fixed, growth)
            return None if None in found else max(found[0][1], found[1][1])
        plain = self.harm + math.sqrt(wide * (self.noise_t + self.noise_c))
        # x = harm + s, where s^2 - wide*growth*s - wide*(fixed + growth*harm + noise_c) = 0.
        half = wide * growth / 2
        inner = half * half + wide * (fixed + growth * self.harm + self.noise_c)
        return None if inner < 0 else max(plain, self.harm + half + math.sqrt(inner))


def split_evidence(treated, control, share):
    """Returns the logarithm of the evidence that the counted users are not in the proportion of the share."""
    users, p = treated + control, share / BUCKETS
    tilts = [sign / 2**power for power in range(8) for sign in (1, -1)]
    logs = [tilt * treated - users * math.log1p(p * math.expm1(tilt)) for tilt in tilts]
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs) / len(logs))


def allowed_in(kpi):
    return kpi["allowed"]["relative"] if isinstance(kpi["allowed"], dict) else kpi["allowed"]


def tests_in(plan):
    return sum(step["share"] < BUCKETS for step in plan["steps"]) * len(plan["watch"])


def reading_of(plan, at, kpi, cell):
    """Returns the figures of a KPI in a step; none where an arm has fewer than two users."""
    reading = {"step": at, "kpi": kpi["kpi"]}
    if cell is None or min(cell["treated"]["n"], cell["control"]["n"]) < LEAST_USERS:
        return reading
    why = why_impossible(kpi, cell["treated"]) or why_impossible(kpi, cell["control"])
    if why is not None:
        return {**reading, "bad": why}
    harm, tests = Harm(kpi, cell["treated"], cell["control"]), tests_in(plan)
    low, best = rounded(harm.at_least(WRONG_BOUND / tests)), rounded(harm.at_most(WRONG_BOUND / tests))
    evidence = rounded(split_evidence(cell["treated"]["n"], cell["control"]["n"], plan["steps"][at]["share"]))
    return {
        **reading,
        "treated": rounded(arm_of(kpi, cell["treated"])[0]),
        "control": rounded(arm_of(kpi, cell["control"])[0]),
        "worse_low": low,
        "worse_high": rounded(harm.at_most(WRONG_BOUND)),
        "is_worse": low is not None and low > allowed_in(kpi),
        "is_better": best is not None and best < 0,
        "mismatch_ln": evidence,
        "is_mismatched": evidence >= math.log(tests / WRONG_MISMATCH),
    }


def decide_step(plan, state):
    """Decides by the rule cs1: `plan` is the field `stages`, `state` has step, hours, silent and the newest totals by step and KPI."""
    at, cells = state["step"], state["cells"]

    def cells_of(step):
        return (cells[step] if step < len(cells) else None) or {}

    readings = [
        reading_of(plan, step, kpi, cells_of(step).get(kpi["kpi"])) for step in range(at + 1) for kpi in plan["watch"]
    ]

    def decision(word, reason, reading=None):
        about = {} if reading is None else {"kpi": reading["kpi"], "step": reading["step"]}
        return {"decision": word, "reason": reason, **about, "readings": readings}

    for word, reason, member in (
        ("rollback", "worse", "is_worse"),
        ("hold", "mismatch", "is_mismatched"),
        ("hold", "impossible_data", "bad"),
    ):
        found = next((one for one in readings if one.get(member)), None)
        if found is not None:
            return decision(word, reason, found)
    fed, step = cells_of(at), plan["steps"][at]
    if any(kpi["kpi"] not in fed for kpi in plan["watch"]) or state["silent"] > plan["max_silent_hours"]:
        return decision("hold", "no_data")
    if step["advance"] == "manual":
        return decision("hold", "manual")
    if state["hours"] < step["min_hours"]:
        return decision("hold", "min_hours")
    following = plan["steps"][at + 1]["share"] if at + 1 < len(plan["steps"]) else BUCKETS
    for kpi, reading in zip(plan["watch"], readings[-len(plan["watch"]) :]):
        cell = fed[kpi["kpi"]]
        if step["advance"] == "unless_worse":
            passes = min(cell["treated"]["n"], cell["control"]["n"]) >= step.get("min_users", LEAST_USERS)
        else:
            high = reading.get("worse_high")
            exposed = following / BUCKETS if step["advance"] == "budget" else 1
            passes = high is not None and high * exposed <= allowed_in(kpi)
        if not passes:
            return decision("hold", "not_yet", reading)
    return decision("advance", step["advance"])


def decide_rollout(plan, state, baseline):
    """Decides by all totals on a rollback; after a resume out of a mismatch everything else counts what was fed beyond `baseline`."""
    decided = decide_step(plan, state)
    if baseline is None or decided["decision"] == "rollback":
        return decided

    def beyond(cell, known):
        return {
            arm: {name: total - known[arm].get(name, 0) for name, total in cell[arm].items()} if known else cell[arm]
            for arm in ("treated", "control")
        }

    newer = [
        {kpi: beyond(cell, (baseline[step] if step < len(baseline) else {}).get(kpi)) for kpi, cell in cells.items()}
        for step, cells in enumerate(state["cells"])
    ]
    decided = decide_step(plan, {**state, "cells": newer})
    return {**decided, "decision": "hold", "reason": "not_yet"} if decided["decision"] == "rollback" else decided


def cells_in(totals):
    """The totals of a decision by step and KPI."""
    cells = []
    for row in totals:
        cells += [{} for _ in range(int(row["step"]) + 1 - len(cells))]
        arms = {arm: {name: float(total) for name, total in row[arm].items()} for arm in ("treated", "control")}
        cells[int(row["step"])][row["kpi"]] = arms
    return cells


def is_count(value):
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


STAGES = "policy:stages"
HOUR_MS = 3600 * 1000
MAX_FALL = 0.01
# Totals may be so far ahead of the service when they are fed.
MAX_AHEAD_MS = 5 * 60_000
STATED_DECISIONS = {"stage_advanced": "advance", "stage_held": "hold", "stage_stopped": "rollback"}
OTHER_STAGES = "it names other stages than its content"
OF_NOBODY = "it is the act of a person, and names none"


def stages_in(detail):
    """(shares, feeder) that the entry of a proposal names; None where it names none, or none that can be."""
    stages = detail.get("stages")
    shares = stages.get("shares") if isinstance(stages, dict) else None
    if not (isinstance(shares, list) and shares and isinstance(stages.get("fed_by"), str)):
        return None
    if not all(is_whole(share, 1) and share < BUCKETS for share in shares):
        return None
    return (shares, stages["fed_by"]) if all(map(float.__lt__, map(float, shares), map(float, shares[1:]))) else None


def are_stages_of(named, content):
    """Returns whether an entry names the shares and the feeder of its content, or neither has a rollout."""
    if named is None or "stages" not in content:
        return named is None and "stages" not in content
    stages = content["stages"]
    steps = stages.get("steps") if isinstance(stages, dict) else None
    if not isinstance(steps, list) or stages.get("fed_by") != named[1] or len(steps) != len(named[0]):
        return False
    own = [step.get("share") if isinstance(step, dict) else None for step in steps]
    return all(is_whole(share, 1) for share in own) and own == named[0]


def is_plan(stages):
    """Returns whether the stages of a content are a plan whose numbers the rule can take."""

    def is_range(pair):
        return isinstance(pair, list) and len(pair) == 2 and all(map(is_count, pair)) and pair[0] < pair[1]

    def is_step(step):
        if not (isinstance(step, dict) and is_whole(step.get("share"), 1) and is_count(step.get("min_hours"))):
            return False
        known = step.get("advance") in ["budget", "proven", "unless_worse", "manual"]
        return known and ("min_users" not in step or is_whole(step["min_users"], 2))

    def is_watched(kpi):
        if not (isinstance(kpi, dict) and isinstance(kpi.get("kpi"), str) and kpi.get("good") in ["up", "down"]):
            return False
        allowed, kind = kpi.get("allowed"), kpi.get("kind")
        if not is_count(allowed["relative"] if isinstance(allowed, dict) and "relative" in allowed else allowed):
            return False
        if kind == "ratio" and not (is_range(kpi.get("per_bounds")) and kpi["per_bounds"][0] > 0):
            return False
        return kind == "binary" or (kind in ["mean", "ratio"] and is_range(kpi.get("bounds")))

    if not (isinstance(stages, dict) and is_count(stages.get("max_silent_hours"))):
        return False
    steps, watch = stages.get("steps"), stages.get("watch")
    listed = isinstance(steps, list) and isinstance(watch, list) and steps and watch
    return bool(listed) and all(map(is_step, steps)) and all(map(is_watched, watch))


def names_person(detail):
    """Returns whether an entry names somebody who is not the service itself."""
    actor = text_of(detail.get("actor"))
    return actor is not None and not actor.startswith("policy:")


class Rollouts:
    """Rollouts by their entries: no step is skipped, and each decision is the one that `cs1` makes of the recorded totals."""

    def __init__(self):
        self.known, self.unread, self.new_intent = {}, set(), 0

    def learn(self, change, content):
        """Takes the content of a change, which has its plan; returns why it is not of the entry of its proposal, or None."""
        stages, known = content.get("stages"), self.known.get(change)
        planned = is_plan(stages)
        if known:
            known["plan"] = stages if planned else None
        if not are_stages_of(known and (known["shares"], known["feeder"]), content):
            return OTHER_STAGES
        return "its stages are no plan of a rollout" if known and not planned else None

    def remarks(self):
        """Yields that decisions were not computed again, for want of their plan."""
        if self.unread:
            yield f"decisions of {len(self.unread)} rollouts were not computed again: their plans are not in this file"

    def check(self, entry, line):
        """What is not valid of an entry of a rollout; or None."""
        message = self.fault(entry, object_in(entry["detail"]) or {})
        return message and {"line": line, "entry": entry["id"], "rule": "form", "message": message}

    @staticmethod
    def begin(shares, feeder, plan=None):
        return {
            **{"shares": shares, "feeder": feeder, "plan": plan, "running": False, "step": 0, "begun": 0, "since": math.nan},
            **{"by_hand": None, "mismatched": False, "stopped": None, "baseline": None, "largest": {}},
        }

    def fault(self, entry, detail):
        event, change = entry["event_type"], entry["change_id"]
        known = self.known.get(change)
        if event == "intent_in_force":
            self.new_intent = entry["id"]
        if event != "change_proposed" and known is not None:
            self.note_intent(known, entry, detail)
        if event == "change_proposed":
            named = stages_in(detail)
            if named:
                self.known[change] = {**self.begin(*named), "intents": []}
                self.note_intent(self.known[change], entry, detail)
            elif "stages" in detail:
                return "its stages are no shares with a feeder"
        elif event == "change_applied":
            return self.apply(known, entry, detail)
        elif event == "change_rolled_back":
            ordered = known is not None and known["stopped"] is not None
            if known is not None:
                known["running"] = False
            if STAGES in (detail.get("by"), detail.get("actor")) and not ordered:
                return f"it is rolled back by {STAGES}, and the rule of its rollout did not order that"
        elif event.startswith("stage_"):
            if known is None or not known["running"]:
                return "it is about a step of a change that is not being rolled out"
            if known["plan"] is None:
                self.unread.add(change)
            return self.judge(known, entry, detail)
        return None

    @staticmethod
    def note_intent(known, entry, detail):
        """Keeps the intent that an entry about a rollout names, where the one before names another."""
        intents, manifest = known["intents"], manifest_in(detail)
        if not intents or intents[-1][1] != manifest:
            intents.append((entry["id"], manifest))

    def apply(self, known, entry, detail):
        stage = detail.get("stage", ABSENT)
        if known is None:
            return None if stage is ABSENT else "it exposes a share of a change without steps"
        known.update(self.begin(known["shares"], known["feeder"], known["plan"]))
        known.update(running=True, begun=entry["id"], since=milliseconds(entry["timestamp"]))
        first = isinstance(stage, dict) and is_whole(stage.get("step"), 0) and stage["step"] == 0
        first = first and is_whole(stage.get("share"), 1) and stage["share"] == known["shares"][0]
        return None if first else "it does not begin at the first step of its rollout"

    def judge(self, known, entry, detail):
        event, step = entry["event_type"], known["step"]
        if not is_whole(detail.get("step"), 0) or detail["step"] != step:
            return f"it is about another step than {step}, where the rollout stands"
        if step >= len(known["shares"]):
            return "everybody has the value already"
        if detail.get("decision", ABSENT) != STATED_DECISIONS.get(event, ABSENT):
            return "it states another decision than its event"
        totals = self.totals_in(detail.get("totals", ABSENT))
        wrong = "its totals are none" if totals is None else self.why_wrong(known, totals, entry)
        if wrong:
            return wrong
        if event == "stage_advanced":
            return self.judge_advance(known, entry, detail, totals)
        if event == "stage_stopped":
            if known["stopped"] is not None:
                return "the rollout is stopped already"
            if detail.get("actor") != STAGES:
                return f"only {STAGES} stops a rollout"
            known["stopped"] = entry["id"]
            return self.why_other(known, entry, detail, totals, lambda decided: decided["decision"] == "rollback")
        if event == "stage_resumed":
            return self.judge_resume(known, entry, detail, totals)
        if event == "stage_held":
            return self.judge_hold(known, entry, detail, totals)
        return "nobody knows what it says of a rollout"

    def judge_advance(self, known, entry, detail, totals):
        step, shares, ordered = known["step"], known["shares"], detail.get("ordered", ABSENT)
        to, share = detail.get("to"), shares[step + 1] if step + 1 < len(shares) else None
        stated = detail.get("share", ABSENT)
        if not is_whole(to, 0) or to != step + 1 or stated != share or isinstance(stated, bool):
            return "it does not advance to the next step"
        if known["mismatched"]:
            return "it advances a rollout that a mismatch holds"
        if ordered is not ABSENT and not (is_whole(ordered, known["begun"] + 1) and ordered <= entry["id"]):
            return "it was ordered before its step began, or after itself"
        for stop, why in (("by_hand", "that a person holds"), ("stopped", "that its rule has stopped")):
            if known[stop] is not None and (ordered is ABSENT or ordered > known[stop]):
                return f"it advances a rollout {why}"
        reason = detail.get("reason")
        if reason == "manual" and not names_person(detail):
            unnamed = ordered is not ABSENT and "actor" in detail and detail["actor"] is None
            if not (unnamed and self.is_under_other(known, detail, ordered)):
                return OF_NOBODY

        def decides(decided):
            if reason == "manual":
                return decided["reason"] == "manual" and detail["hours"] >= known["plan"]["steps"][step]["min_hours"]
            return decided["decision"] == "advance" and decided["reason"] == reason

        why = self.why_other(known, entry, detail, totals, decides)
        known.update(step=step + 1, begun=entry["id"], since=milliseconds(entry["timestamp"]))
        return why

    def is_under_other(self, known, detail, ordered):
        """Returns whether the intent is another than when an advance was ordered: then what a person signed does not count any more."""
        before = [manifest for identifier, manifest in known["intents"] if identifier < ordered]
        return self.new_intent >= ordered or before[-1:] != [detail.get("manifest_hash")]

    @staticmethod
    def judge_resume(known, entry, detail, totals):
        if known["by_hand"] is None and not known["mismatched"]:
            return "it resumes a rollout that nobody holds and that has no mismatch"
        if not names_person(detail):
            return OF_NOBODY
        stated = {(row["step"], row["kpi"]) for row in totals}
        if known["mismatched"] and not stated.issuperset(known["largest"]):
            return "its totals lack some that were used before it"
        if not known["mismatched"] and totals:
            return "it has totals, and no mismatch was resumed"
        if known["mismatched"]:
            known["baseline"] = entry["id"], cells_in(totals)
        known.update(by_hand=None, mismatched=False)
        return None

    def judge_hold(self, known, entry, detail, totals):
        reason, ruled = detail.get("reason"), "rule" in detail
        if not isinstance(reason, str):
            return "it does not say why the rollout is held"
        if reason == "by_hand" and not ruled:
            if known["by_hand"] is not None:
                return "a person holds the rollout already"
            known["by_hand"] = entry["id"]
            return None
        was_mismatched = known["mismatched"]
        known["mismatched"] = was_mismatched or reason == "mismatch"

        def decides(decided):
            if decided["decision"] == "rollback":
                return False
            if reason == "mismatch":
                return was_mismatched or decided["reason"] == reason
            by_rule = reason in ("no_data", "manual", "min_hours", "not_yet")
            return decided["reason"] == reason if by_rule else decided["reason"] != "mismatch"

        if not ruled:
            return "it holds for a mismatch, and names no rule" if reason == "mismatch" else None
        return self.why_other(known, entry, detail, totals, decides)

    @staticmethod
    def totals_in(totals):
        """Recorded totals; an entry without any has none, and None stands for what are no totals."""

        def is_arm(arm):
            return isinstance(arm, dict) and is_count(arm.get("n")) and arm["n"] >= 0 and is_count(arm.get("sum")) and all(map(is_count, arm.values()))

        def is_row(row):
            return (
                isinstance(row, dict)
                and is_whole(row.get("step"), 0)
                and all(isinstance(row.get(name), str) for name in ("kpi", "as_of", "at", "by"))
                and not any(math.isnan(milliseconds(row[name])) for name in ("as_of", "at"))
                and is_arm(row.get("treated"))
                and is_arm(row.get("control"))
            )

        if totals is ABSENT:
            return []
        return totals if isinstance(totals, list) and all(map(is_row, totals)) else None

    @staticmethod
    def why_wrong(known, totals, entry):
        """Why totals do not follow from those before them, or None; takes them where they do."""
        latest = milliseconds(entry["timestamp"]) + MAX_AHEAD_MS
        for row in totals:
            kpi, users = row["kpi"], (row["treated"]["n"], row["control"]["n"])
            as_of, arrived = milliseconds(row["as_of"]), milliseconds(row["at"])
            if row["step"] > known["step"]:
                return f"its totals are of step {row['step']}, which the rollout has not reached"
            if same_name(row["by"]) != same_name(known["feeder"]):
                return f"its totals of {kpi} are of another feeder than the plan names"
            if not max(as_of, arrived) <= latest:
                return f"its totals of {kpi} are of a time after it"
            before = known["largest"].get((row["step"], kpi))
            if before and any(now < most * (1 - MAX_FALL) for now, most in zip(users, before[1])):
                return f"its totals of {kpi} have fewer users than an earlier entry"
            if before and sum(users) > 0 and as_of < before[0]:
                return f"its totals of {kpi} are older than those of an earlier entry"
            most = tuple(map(max, users, before[1])) if before else users
            # A row without users tells nothing of its time.
            known["largest"][row["step"], kpi] = as_of if sum(users) > 0 else before[0] if before else -math.inf, most
        return None

    @staticmethod
    def why_other(known, entry, detail, totals, decides):
        """Computes a decision again; why the recorded one is another, or None."""
        hours, silent, step = detail.get("hours"), detail.get("silent"), known["step"]
        if detail.get("rule") != "cs1":
            return "it names another rule than cs1"
        baseline, cells = known["baseline"] or (ABSENT, None)
        if detail.get("baseline", ABSENT) != baseline:
            return "it does not count from the last resume out of a mismatch"
        if not (is_count(hours) and is_count(silent)):
            return "it does not say for how long the step lasted"
        at = known["since"] + hours * HOUR_MS
        late = milliseconds(entry["timestamp"]) - at
        # An advance on a target system is decided before it is recorded.
        if not late >= -1 or (late > 1 and "ordered" not in detail and entry["event_type"] == "stage_advanced"):
            return "its hours are not those since its step began"
        times = [milliseconds(row[name]) for row in totals if row["step"] == step for name in ("as_of", "at")]
        quiet = max(0, (at - min(times)) / HOUR_MS) if times else 0
        if abs(quiet - silent) > 1e-6:
            return "it is not silent for as long as it says"
        if known["plan"] is None:
            return None
        state = {"step": step, "hours": hours, "silent": silent, "cells": cells_in(totals)}
        decided = decide_rollout(known["plan"], state, cells)
        readings = detail.get("readings")
        if not (isinstance(readings, list) and len(readings) == len(decided["readings"])):
            return "its results are not those of the rule cs1 on its totals"
        if not all(map(is_same_reading, readings, decided["readings"])):
            return "its results are not those of the rule cs1 on its totals"
        return None if decides(decided) else "it is not what the rule cs1 decides on its totals"


def is_same_reading(recorded, computed):
    """Returns whether results are the same to nine digits; the reason of impossible totals is worded as each implementation likes."""

    def same(name):
        one, other = recorded.get(name, ABSENT), computed.get(name, ABSENT)
        if is_count(one) and is_count(other):
            return abs(one - other) <= 1e-9 * max(1, abs(one), abs(other))
        return type(one) is type(other) if name == "bad" else one is other or (type(one) is type(other) and one == other)

    return isinstance(recorded, dict) and all(map(same, {*recorded, *computed}))


# Certificates

PART = re.compile(rb"(content|erased|intent|proof) ([1-9][0-9]{0,8})\n")
PARTS = re.compile(r"(content|erased)( intent)*( proof)+")
HEAD = b"countersign-certificate/v1\n"
TLOG_PROOF = re.compile(
    r"c2sp\.org/tlog-proof@v1\nextra ([A-Za-z0-9+/]+={0,2})\nindex (0|[1-9][0-9]{0,14})\n((?:[A-Za-z0-9+/]{43}=\n){0,63})\n(.+)",
    re.DOTALL,
)


def parts_of(file):
    """(name, text) of each part of a certificate."""
    bad = Unreadable("this is no certificate in the one form that the service writes")
    try:
        file.decode("utf-8")
    except ValueError:
        raise bad from None
    if not file.startswith(HEAD):
        raise bad
    at, parts = len(HEAD), []
    while at < len(file):
        head = PART.match(file, at)
        end = head and head.end() + int(head[2])
        if not head or end > len(file) or file[end - 1 : end] != b"\n":
            raise bad
        try:
            parts.append((head[1].decode(), file[head.end() : end].decode("utf-8")))
        except ValueError:
            raise bad from None
        at = end
    if not PARTS.fullmatch(" ".join(name for name, _ in parts)):
        raise bad
    return parts


def root_over(leaf, index, length, path):
    """The root that a path leads to (RFC 9162, 2.1.3.2), or None when it is not as long as the tree has it."""
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


def proven_by(text):
    """(entry, note) of a tlog-proof, or why it proves nothing."""
    parts = TLOG_PROOF.fullmatch(text)
    if not parts:
        return "it is no tlog-proof with an entry"
    checkpoint = parse_checkpoint(parts[4])
    if not checkpoint:
        return "it has no checkpoint"
    line = from_base64(parts[1])
    entry = read_entry(line) if line else None
    if not entry:
        return "it has no entry in the exact form that the service writes"
    if entry["current_hash"] != entry_hash(entry):
        return f"current_hash does not cover the fields of entry {entry['id']}"
    if int(parts[2]) != entry["id"] - 1:
        return f"its index is not that of entry {entry['id']}"
    path = [from_base64(sibling) for sibling in parts[3].split("\n")[:-1]]
    if None in path:
        return "its hashes are not base64"
    root = root_over(bytes.fromhex(entry["current_hash"]), int(parts[2]), checkpoint["length"], path)
    if root is None or base64.b64encode(root).decode() != checkpoint["root"]:
        return f"entry {entry['id']} is not under its checkpoint"
    return entry, parts[4], checkpoint


def parse_tlog_policy(text):
    """{"logs", "witnesses", "quorum"} of a C2SP tlog-policy; ValueError names the line."""
    logs, witnesses, judges, quorum = [], {}, {}, []
    for number, line in enumerate(text.split("\n"), 1):

        def need(condition, why):
            if not condition:
                raise ValueError(f"line {number}: {why}")

        need(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line), "a control character other than a tab is in it")
        words = re.split(r"[ \t]+", line.strip(" \t"))
        word, rest = words[0], words[1:]
        if word == "" or word.startswith("#"):
            continue
        if word == "log":
            key = verifier_key(rest[0] if rest else "")
            need(key, "a verifier key is needed")
            need(all(key[1] != other[1] for other in logs), "this log is listed already")
            logs.append(key)
        elif word == "witness":
            key = verifier_key(rest[1] if len(rest) > 1 else "", COSIGNATURE)
            need(key, "a verifier key is needed")
            need(all(key[1] != other[1] for other in witnesses.values()), "this witness is listed already")
            need(rest[0] not in judges and rest[0] != "none", "a new name is needed")
            witnesses[rest[0]] = judges[rest[0]] = key
        elif word == "group":
            name, asked, names = (rest + ["", ""])[0], (rest + ["", ""])[1], rest[2:]
            least = {"all": len(names), "any": 1}.get(asked, int(asked) if re.fullmatch(r"[1-9][0-9]*", asked) else 0)
            good = 1 <= least <= len(names) and len(set(names)) == len(names)
            need(good, "a group has a name, then all, any or a number, then members, each once")
            for member in names:
                need(member in judges, f"{member} is defined on no line before")
            need(name not in judges and name != "none", "a new name is needed")
            judges[name] = [least, [judges[member] for member in names]]
        elif word == "quorum" and not quorum:
            named = rest[0] if rest else ""
            need(named == "none" or named in judges, f"{named} is defined on no line before")
            quorum.append(None if named == "none" else judges[named])
        else:
            need(False, "log, witness, group, or one quorum is needed")
    if not quorum:
        raise ValueError("exactly one quorum is needed; quorum none asks for no witness")
    return {"logs": logs, "witnesses": witnesses, "quorum": quorum[0]}


def read_tlog_policy(path):
    try:
        return parse_tlog_policy(read_text(path))
    except ValueError as error:
        raise Unreadable(f"{path} is no tlog-policy: {error}") from error


def is_met(judge, seen):
    """Returns whether a witness, or as many of a group as it asks for, are among those that cosigned."""
    if isinstance(judge, list):
        return sum(is_met(member, seen) for member in judge[1]) >= judge[0]
    return judge is None or judge in seen


RISKS = ("low", "medium", "high")


def member(of, name, kind):
    """A member of an object, or None; InvalidIntent where it is of another type."""
    value = of.get(name)
    if value is not None and not isinstance(value, kind):
        raise InvalidIntent(name)
    return value


def texts_in(of, name):
    value = member(of, name, list)
    if value is not None and not all(isinstance(one, str) for one in value):
        raise InvalidIntent(name)
    return value


def names_in(of, name, groups):
    """The people of a list of names, those of its groups included, or None."""
    names = texts_in(of, name)
    if names is None:
        return None
    people = []
    for one in map(same_name, names):
        if not one.startswith("group:"):
            people.append(one)
        elif one[len("group:") :] in groups:
            people += groups[one[len("group:") :]]
        else:
            raise InvalidIntent(name)
    return people


def tenants_in(of):
    """The tenants of a rule as they are recorded, or None for all."""
    tenants = texts_in(of, "tenants")
    return tenants if tenants is None else [unicodedata.normalize("NFC", one).strip() for one in tenants]


def count_in(of, name, least):
    value = of.get(name)
    if value is not None and not is_whole(value, least):
        raise InvalidIntent(name)
    return None if value is None else int(value)


def given(value, default):
    return default if value is None else value


def mandates_rule(rule):
    """The mandates that people may sign: targets, days, most changes of a day and open ones, and those that apply by themselves."""
    days = given(rule.get("max_days"), 30)
    if not is_count(days):
        raise InvalidIntent("max_days")
    most, most_open = given(count_in(rule, "max_per_day", 1), 50), given(count_in(rule, "max_open", 1), 20)
    targets, automatic = given(texts_in(rule, "targets"), []), given(member(rule, "apply_when", bool), False)
    return {"targets": targets, "days": days, "most": most, "most_open": most_open, "automatic": automatic}


def directions_in(kpis):
    """By KPI, 1 where up is good and -1 where down is."""
    directions = {}
    for kpi, goal in kpis.items():
        goal = goal if isinstance(goal, dict) else {}
        if not is_count(goal.get("baseline")) or not is_count(goal.get("target")):
            raise InvalidIntent("kpis")
        directions[kpi] = 1 if goal["target"] >= goal["baseline"] else -1
    return directions


def bounds_rollouts(stages):
    """Returns whether a rule of rollouts has each watched and fed within bounds."""
    watch, fed_by = given(texts_in(stages, "watch"), []), texts_in(stages, "fed_by")
    most = given(member(stages, "max_allowed", dict), {})
    return fed_by is not None and bool(watch) and all(kpi in most for kpi in watch)


class Intent:
    """The rules of an intent that a certificate can be verified against; InvalidIntent for one that no service would load."""

    def __init__(self, manifest):
        policy = given(member(manifest, "policy", dict), {})
        groups = given(member(policy, "groups", dict), {})
        groups = {name: [same_name(one) for one in given(texts_in(groups, name), [])] for name in groups}
        self.approvers = names_in(policy, "approvers", groups)
        required = given(member(policy, "required_approvers", dict), {})
        self.standard = given(count_in(required, "standard", 1), 1)
        self.major = given(count_in(required, "major", 1), self.standard)
        if self.major < self.standard:
            raise InvalidIntent("major")
        signed_only = member(policy, "signed_only", bool)
        self.self_approval = given(member(policy, "self_approval", bool), True)
        emergency = member(policy, "break_glass", dict)
        self.minor = member(policy, "minor", dict)
        mandates, stages = member(policy, "mandates", dict), member(policy, "stages", dict)
        owners = given(member(policy, "owners", list), [])
        if not all(isinstance(one, dict) for one in owners):
            raise InvalidIntent("owners")
        principals = given(manifest.get("principals"), {})
        self.keys = keys_of(principals)
        self.idp = {same_name(name): given(texts_in(one, "idp"), []) for name, one in principals.items()}
        self.agents = {same_name(name) for name, one in principals.items() if one.get("kind") == "agent"}
        self.signed_only = given(signed_only, any(self.keys.values()))
        self.urgent, self.urgent_required = [], 1
        if emergency is not None:
            self.urgent = given(names_in(emergency, "approvers", groups), [])
            self.urgent_required = given(count_in(emergency, "required", 1), 1)
        if self.minor is not None:
            self.minor_kinds = given(texts_in(self.minor, "kinds"), [])
            self.minor_scope = (given(texts_in(self.minor, "targets"), []), tenants_in(self.minor))
            self.minor_users = count_in(self.minor, "max_affected_users", 0)
            if given(self.minor.get("max_risk"), "low") not in RISKS:
                raise InvalidIntent("max_risk")
            self.minor_risk = RISKS.index(given(self.minor.get("max_risk"), "low"))
            self.minor_agents = given(member(self.minor, "agents", bool), False)
            self.minor_automatic = given(member(self.minor, "apply_when", bool), False)
        self.mandates = None if mandates is None else mandates_rule(mandates)
        self.directions = directions_in(given(member(manifest, "kpis", dict), {}))
        self.bounds_rollouts = stages is not None and bounds_rollouts(stages)
        self.owners = [
            (
                given(texts_in(one, "targets"), []),
                tenants_in(one),
                given(names_in(one, "approvers", groups), []),
                given(count_in(one, "required", 1), 1),
            )
            for one in owners
        ]
        self.owned = [rule[:2] for rule in self.owners]

    def is_agent(self, name):
        """Returns whether a name is an agent's: of the intent, or with the prefix that only agents may have."""
        return name.startswith("agent:") or name in self.agents

    def may_decide(self, name):
        return (self.approvers is None or name in self.approvers) and not self.is_agent(name)

    def may_propose_minor(self, name):
        """Returns whether a change that a name proposes may be minor: never a model's, an agent's where the intent allows it."""
        agents = self.minor is not None and self.minor_agents
        return not name.startswith("llm:") and (agents or not self.is_agent(name))

    def is_minor(self, content, erased):
        """Returns whether a content is one that passes without consent, as far as it says what that takes."""
        kind, users, places = content.get("kind"), content.get("affected_users"), minor_places(content)
        if self.minor is None or not isinstance(kind, str) or places is None:
            return False
        if any(is_in_scope(target, tenant, scope) for scope in self.owned for target, tenant in places):
            return False
        if "apply_when" in content and not self.minor_automatic:
            return False
        few = is_whole(users, 0) and (self.minor_users is None or users <= self.minor_users)
        risk = content.get("risk")
        return (
            kind in self.minor_kinds
            and all(is_in_scope(target, tenant, self.minor_scope) for target, tenant in places)
            and (users is None and "affected_users" in content if erased else few)
            and isinstance(risk, str)
            and risk in RISKS[: self.minor_risk + 1]
            and content.get("reversible") is True
        )


LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def minor_places(content):
    """The (target, tenant) of a content and those that a plan sets; None where one is none."""
    sets = content.get("sets", [])
    if not isinstance(sets, list) or not all(isinstance(one, dict) for one in sets):
        return None
    places = [(one.get("target"), one.get("tenant_id")) for one in [content, *sets]]
    return places if all(isinstance(name, str) for place in places for name in place) else None


def is_in_scope(target, tenant, scope):
    """Returns whether a rule is for a target of a tenant; its scope: patterns of targets, and tenants or None for all."""
    targets, tenants = scope
    return matches_any(target, targets) and (tenants is None or tenant in tenants)


def matches_any(target, patterns):
    return any(matches(target.translate(LOWER), pattern.translate(LOWER).split("*")) for pattern in patterns)


def matches(target, parts):
    """Returns whether a target is made of these parts, with anything between them."""
    begin, middle, end = parts[0], parts[1:-1], parts[-1]
    if len(parts) == 1:
        return target == begin
    if not target.startswith(begin):
        return False
    at = len(begin)
    for part in middle:
        found = target.find(part, at)
        if found == -1:
            return False
        at = found + len(part)
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


class Certificate:
    """Verifies a certificate: that what it says of a change stands in the log, and was signed by those who consented."""

    def __init__(self, policy=None, people=None, manifests=(), intents=()):
        self.policy, self.people, self.manifests, self.intents = policy, people, manifests, intents
        self.findings, self.remarks = [], []

    def found(self, entry, rule, message):
        self.findings.append({"line": None, "entry": entry, "rule": rule, "message": message})

    def verify(self, file):
        """The report on the bytes of a certificate; Unreadable where they are none."""
        parts = parts_of(file)
        try:
            return self.judge(parts)
        except Exception as error:  # No certificate may end the verification: what nobody thought of is a finding too.
            self.found(None, "form", f"it could not be judged: {type(error).__name__}: {error}")
            report = {"verdict": "bad", "change_id": "", "content": parts[0][1][:-1], "erased": parts[0][0] == "erased"}
            report.update(digest="", origin="", checkpoint=None, steps=[], findings=self.findings, remarks=[])
            return report

    def judge(self, parts):
        texts = lambda wanted: [text for name, text in parts if name == wanted]  # noqa: E731
        proven = []
        for number, text in enumerate(texts("proof"), 1):
            one = proven_by(text)
            if isinstance(one, str):
                self.found(None, "inclusion", f"proof {number}: {one}")
            else:
                proven.append(one)
        erased, content = parts[0][0] == "erased", parts[0][1][:-1]
        intents, known = self.read_intents(texts("intent"))
        everything = [(entry, detail_of(entry)) for entry, _, _ in proven]
        life, mandates = divide_entries(everything)
        named = {manifest_in(detail) for _, detail in everything}
        others = [text.decode("utf-8", "replace") for text in self.intents if sha256(text).hex() in named]
        for found, into in zip(self.read_intents([f"{text}\n" for text in others if object_in(text) is not None]), (intents, known)):
            into.update(found)
        for entry, _ in everything:
            why = why_unclear(entry, object_in(entry["detail"]))
            if why:
                self.found(entry["id"], "form", why)
        digest = sha256(content.encode()).hex()
        if erased:
            self.require_erasure(life, digest)
            digest = text_of(life[0][1].get("digest")) if life else None
            digest = "undefined" if digest is None else digest
        said = object_in(content) or {}
        self.require_one_change(life, digest)
        self.require_named_content(life, said)
        self.require_mandates(mandates, life[0][0] if life else None)
        self.require_one_checkpoint(proven)
        self.require_own_intents(everything, known)
        unread = self.missing_intents(everything, known, said)
        signed, unsigned = self.signatures(life, intents)
        signed.update(self.signatures(mandates, intents)[0])
        if signed and self.people is None and not self.manifests:
            self.remarks.append(
                "whose keys are whose is told by the intents in this file: --keys or --manifest-hash says which count"
            )
        statuses = self.statuses(life, said.get("tier"))
        automation, rollouts, plans = Automation(), Rollouts(), PlanTargets()
        for entry, _ in life:
            for finding in filter(None, (one.check(entry, 0) for one in (automation, rollouts, plans))):
                self.found(finding["entry"], finding["rule"], finding["message"])
            # An erasure leaves the stages, and the targets of a plan.
            for one in (rollouts, plans) if entry["event_type"] == "change_proposed" else ():
                why = one.learn(entry["change_id"], said)
                if why:
                    self.found(entry["id"], "content", why)
        self.remarks.extend(rollouts.remarks())
        for entry in (entry for entry, _ in mandates if is_loss(entry)):
            again = "a mandate that was signed before it counts after it once it is resumed"
            self.remarks.append(f"{loss_text(loss_in(entry))}; {again}")
        for entry in (entry for entry, _ in life if is_loss(entry)):
            self.remarks.append(f"{loss_text(loss_in(entry))}; consents before it do not count after it")
        folded = [one for one in everything if is_of_mandate(one[0]) or is_loss(one[0])]
        consents = Consents(life, said, erased, intents, signed, unsigned, self.people, folded)
        for finding in consents.faults(statuses):
            self.found(*finding)
        checkpoint = self.checkpoint_under(proven[0][2]) if proven else None
        first = life[0][0] if life else None
        return {
            "verdict": "bad" if self.findings else "valid" if checkpoint and not unread else "consistent",
            "change_id": first["change_id"] if first else "",
            "content": content,
            "erased": erased,
            "digest": digest,
            "origin": first["origin"] if first else "",
            "checkpoint": checkpoint,
            "steps": sorted(
                [
                    step_of(entry, detail, status, signed.get(entry["id"]))
                    for (entry, detail), status in [
                        *((one, text_of(one[1].get("status")) or "") for one in mandates),
                        *zip(life, statuses),
                    ]
                ],
                key=lambda step: step["entry"],
            ),
            "findings": self.findings,
            "remarks": self.remarks,
        }

    def read_intents(self, texts):
        """The intents by hash, and the hashes of all of them, also of those that no service would load."""
        intents, known = {}, {}
        for text in texts:
            manifest = object_in(text[:-1])
            if manifest is None:
                self.found(None, "intent", "an intent in this file is no JSON object")
                continue
            identifier = sha256(text[:-1].encode()).hex()
            known[identifier] = True
            try:
                intents[identifier] = Intent(manifest)
            except InvalidIntent as invalid:
                message = f"the intent {identifier} in this file is none that a service loads: {invalid}"
                self.found(None, "intent", message)
        return intents, known

    def require_named_content(self, life, content):
        """What the proposal's entry says of the content is what the content says; also when that was erased."""
        if not life:
            return
        entry, detail = life[0]
        for name in ("kind", "target", "tier", "risk", "kpi", "proposer"):
            if name not in detail or name not in content:
                continue
            told, own = detail[name], content[name]
            if not (told is None and own is None) and not (isinstance(told, str) and told == own):
                self.found(entry["id"], "content", f"it names another {name} than the content in this file")
        stated, own = detail.get("apply_when", ABSENT), content.get("apply_when", ABSENT)
        if not (stated is ABSENT and own is ABSENT) and not (isinstance(stated, str) and stated == own):
            self.found(entry["id"], "content", "it names another apply_when than the content in this file")
        if "tenant_id" in content and content["tenant_id"] != entry["tenant"]:
            self.found(entry["id"], "content", "it names another tenant than the content in this file")

    def require_erasure(self, life, left):
        """An entry says that the content was erased, and what was left of it."""
        erasure = next(((entry, detail) for entry, detail in life if entry["event_type"] == "content_erased"), None)
        if erasure is None:
            self.found(None, "content", "the content is said to be erased, and no entry says so")
        elif erasure[1].get("remaining_digest") != left:
            self.found(erasure[0]["id"], "content", "what is left of the content is not what its erasure left")
        else:
            self.remarks.append(f"the content was erased by entry {erasure[0]['id']}: what it said, only its digest tells")

    def require_one_change(self, life, digest):
        for index, (entry, detail) in enumerate(life):
            first, identifier = life[0][0], entry["id"]
            if index == 0 and entry["event_type"] != "change_proposed":
                self.found(identifier, "form", "its first entry is not the proposal")
            lost = is_loss(entry)
            if entry["change_id"] != ("" if lost else first["change_id"]):
                self.found(identifier, "form", "it is about another change than the first")
            if entry["origin"] != first["origin"]:
                self.found(identifier, "origin", "it is of another log than the first")
            if index > 0 and identifier <= life[index - 1][0]["id"]:
                self.found(identifier, "id", "it does not stand behind the one before")
            if not lost and detail.get("digest") != digest:
                self.found(identifier, "content", "it is not about the content in this file")

    def require_mandates(self, mandates, first):
        """Entries about mandates are of the same log, about no change, and in order."""
        for index, (entry, _) in enumerate(mandates):
            if entry["change_id"] != "":
                self.found(entry["id"], "form", "it is about a change and a mandate")
            if first is None or entry["origin"] != first["origin"]:
                self.found(entry["id"], "origin", "it is of another log than the first")
            if index > 0 and entry["id"] <= mandates[index - 1][0]["id"]:
                self.found(entry["id"], "id", "it does not stand behind the one before")

    def require_one_checkpoint(self, proven):
        for entry, note, checkpoint in proven:
            if note != proven[0][1]:
                self.found(entry["id"], "inclusion", "it is proven to be under another checkpoint than the first")
            if checkpoint["origin"] != note_line(entry["origin"]):
                self.found(entry["id"], "origin", "its checkpoint is of another log")

    def require_own_intents(self, life, intents):
        named = {manifest_in(detail) for _, detail in life}
        for manifest in intents:
            if manifest not in named:
                self.found(None, "intent", f"no decision was made under the intent {manifest} in this file")
        for entry, detail in life if self.manifests else ():
            if manifest_in(detail) not in self.manifests:
                message = f"it was decided under the intent {manifest_in(detail)}, which is not accepted"
                self.found(entry["id"], "intent", message)

    def statuses(self, life, tier):
        """What the change is after each entry; each must follow from those before it, so that none that decides is left out."""
        status, statuses = "", []
        for index, (entry, detail) in enumerate(life):
            needed, then = status_step(entry, detail, status, tier)
            if index > 0 and needed != status:
                message = f"the change must be {needed or 'new'} before it, and by the entries in this file it is {status}"
                self.found(entry["id"], "form", message)
            if then is None:
                self.found(entry["id"], "form", "it does not say whether the change is approved by it")
            status = status if then is None else then
            statuses.append(status)
        return statuses

    def missing_intents(self, life, intents, content):
        """The intents that what has to be checked was decided under, and that are not in the file."""
        needed = {}
        for entry, detail in life:
            decides = signer_in(entry, detail) is not None or "proof" in detail or entry["event_type"] == "change_applied"
            if decides or (entry["event_type"] == "change_proposed" and content.get("tier") == "minor"):
                needed[manifest_in(detail)] = None
        missing = [manifest for manifest in needed if manifest not in intents]
        for manifest in missing:
            self.remarks.append(f"the intent {manifest} is not in this file: what it asks of consents was not checked")
        return missing

    def signatures(self, life, intents):
        """The keys that signed decisions, by entry, where the signature is valid; and the entries that lack one."""
        signed, unsigned = {}, set()
        proposals = {entry["change_id"]: proposal_in(detail) for entry, detail in life[:1]}
        for entry, detail in life:
            intent, message = intents.get(manifest_in(detail)), None
            keys = self.people if self.people is not None else intent and intent.keys
            if "proof" not in detail:
                signer = signer_in(entry, detail)
                by = signer and signer[0]
                had_to = (by is not None and keys and keys.get(same_name(by))) or (intent is not None and intent.signed_only)
                if signer is not None and had_to:
                    message = f"{'somebody without a name' if by is None else by} had to sign it, and did not"
            elif keys is not None:
                finding = Proofs(keys, proposals).check(entry, 0)
                message = finding and finding["message"]
                if not finding:
                    signed[entry["id"]] = text_of(detail.get("key")) or ""
            if message:
                unsigned.add(entry["id"])
                self.found(entry["id"], "proof", message)
        return signed, unsigned

    def checkpoint_under(self, checkpoint):
        """The checkpoint that everything is under, where the policy trusts it."""
        if self.policy is None:
            self.remarks.append(
                "nobody's signature of the log was checked, since no --policy was given: anybody can have made this file"
            )
            return None
        own = [key for key in self.policy["logs"] if key[0] == checkpoint["origin"]]
        log = next(filter(None, (signer_of(checkpoint, key) for key in own)), None)
        cosigned = [(name, key, cosigned_at(checkpoint, key)) for name, key in self.policy["witnesses"].items()]
        doubtful = [name for name, _, at in cosigned if at is False]
        met = is_met(self.policy["quorum"], [key for _, key, at in cosigned if at])
        if doubtful:
            self.found(None, "cosignature", f"the cosignature of the witness {doubtful[0]} does not hold")
        if log is None:
            self.found(None, "signature", "its checkpoint is not signed by a log of the policy")
        elif not met:
            self.found(None, "cosignature", "its checkpoint lacks the witnesses that the policy asks for")
        if doubtful or log is None or not met:
            return None
        witnessed = [{"name": name, "at": iso_time(at)} for name, _, at in cosigned if at]
        return {"length": checkpoint["length"], "signed_by": log, "witnessed_by": witnessed}


class Consents:
    """The consents of a change, as each step that needs them finds them, whatever the entries say of their number."""

    def __init__(self, life, content, erased, intents, signed, unsigned, people, mandates):
        self.life, self.content, self.erased, self.intents = life, content, erased, intents
        self.signed, self.unsigned, self.people, self.mandates = signed, unsigned, people, mandates
        self.tier = content.get("tier")

    def faults(self, statuses):
        """Yields (entry, rule, message) of what is not valid."""
        if not self.life:
            return
        entry, detail = self.life[0]
        if not isinstance(self.tier, str) or self.tier not in TIERS:
            yield None, "content", "its tier is none of minor, standard and major"
        if "required_approvers" in detail and not is_whole(detail["required_approvers"], 0):
            yield entry["id"], "quorum", "its number of required approvers is no whole number"
        intent = self.intents.get(manifest_in(detail))
        if self.tier == "minor" and intent is not None:
            # The log's proposer_kind is no evidence: the kind follows from the names and the intent.
            proposers = filter(None, (text_of(one.get("proposer")) for one in (self.content, detail)))
            free = all(intent.may_propose_minor(same_name(name)) for name in proposers)
            if not free or not intent.is_minor(self.content, self.erased):
                yield entry["id"], "quorum", "it is minor, and its intent lets no such change pass without consent"
            if not self.is_proposer_known(entry, detail, intent):
                yield entry["id"], "quorum", "it is minor, and nothing but the request says who proposed it"
        for index, step in enumerate(self.life):
            message = self.too_few(index, statuses[index - 1] if index > 0 else "", step)
            if message:
                yield step[0]["id"], "quorum", message
                return

    def is_proposer_known(self, entry, detail, intent):
        """Returns whether a signature, a proxy or an agent's secret vouches for a named proposer, where the intent has principals."""
        how, proposer = text_of(detail.get("authenticated")), text_of(detail.get("proposer"))
        if not intent.keys:
            return True
        if proposer is None:
            return False
        if entry["id"] in self.signed or how in ("proxy", "jwt"):
            return True
        return how == "agent" and same_name(proposer) in intent.agents

    def too_few(self, index, before, step):
        """Which consents a step lacks, or None; `before` is the status before it."""
        entry, detail = step
        applied = entry["event_type"] == "change_applied"
        approval = entry["event_type"] == "consent_decision" and detail.get("decision") == "approved"
        urgent = detail.get("emergency") is True
        if not applied and not (approval and detail.get("status") == "approved"):
            return None
        if approval and before == "approved" and not (urgent and "review_hours" in detail):
            return None
        if approval and is_by_mandate(entry, detail):
            why = self.why_not_mandated(step, step)
            return why and f"it was approved by a mandate: {why}"
        counts = {kind: self.count(index, kind, detail) for kind in (False, True)}
        if applied:
            met = any(given >= needed for given, needed in counts.values())
            mandated = None
            for one in self.life[: index + 1]:
                mandated = None if is_loss(one[0]) else one if mandated is None and is_by_mandate(*one) else mandated
            if not met and mandated is not None:
                why = self.why_not_mandated(mandated, step)
                return why and f"it was applied by a mandate: {why}"
            return None if met else "it was applied with {} of {} consents".format(*counts[False])
        given, needed = counts[urgent]
        return None if given >= needed else f"it was approved with {given} of {needed} consents{' for an emergency' if urgent else ''}"

    def why_not_mandated(self, consent, step):
        """Why a mandate's consent does not count at a step, or None."""
        mandate = consent[1].get("mandate")
        mandate = mandate if isinstance(mandate, dict) else {}
        intent = self.intents.get(manifest_in(step[1]))
        name = text_of(mandate.get("mandate_id"))
        said = canonical_text(mandate.get("mandate_id"))
        own = [
            one
            for one in sorted(self.mandates, key=lambda one: one[0]["id"])
            if one[0]["id"] < step[0]["id"] and (is_loss(one[0]) or canonical_text(one[1].get("mandate_id")) == said)
        ]
        if all(is_loss(one[0]) for one in own) or consent[1].get("approver") != f"mandate:{name or ''}":
            return "the entries of its mandate are not in this file"
        folded = Mandate()
        for one in own:
            why = folded.advance(one, (self.intents, self.signed))
            if why:
                return why
        if folded.state != "active":
            return f"its mandate was {folded.state}"
        if step is consent and not (is_whole(mandate.get("revision"), 1) and mandate["revision"] == folded.revision):
            return "it names another revision of its mandate"
        if step is consent and not (is_whole(mandate.get("entry"), 0) and mandate["entry"] == folded.counts_from):
            return "it names another entry than that since which its mandate counts"
        if intent is None:
            return None
        if intent.mandates is None:
            return "its intent allows no mandate"
        for entries in (folded.signatures,) if folded.resumes is None else (folded.signatures, folded.resumes):
            why = why_mandate_unsigned(entries, folded.bounds, intent, self.signed)
            if why:
                return why
        rule, sets = intent.mandates, mandate_sets(self.content)
        bound = (
            mandate_place_breach(self.content, self.life[0][1], folded, rule)
            or mandate_content_breach(self.content, self.erased, folded)
            or mandate_rule_breach(self.content, intent)
            or (None if is_in_mandate_time(step[0]["timestamp"], folded, rule) else "until")
            or (mandate_count_breach(mandate, len(sets), folded, rule) if step is consent else None)
        )
        return bound and f"it lies outside its mandate: {bound}"

    def count(self, index, urgent, at):
        """How many consents of one kind are eligible at a step, by name, and how many its intent asks for."""
        intent, names = self.intents.get(manifest_in(at)), set()
        for entry, detail in self.life[: index + 1]:
            if is_loss(entry):
                # A revocation of an earlier consent may be among what was lost.
                names.clear()
            name = text_of(detail.get("approver"))
            consent = entry["event_type"] == "consent_decision" and detail.get("decision") == "approved"
            if not consent or name is None or (detail.get("emergency") is True) != urgent:
                continue
            if entry["id"] not in self.unsigned and self.is_eligible(entry, detail, intent):
                names.add(same_name(name))
        if urgent:
            return len(names), intent.urgent_required if intent else 1
        return len(names), self.needed(intent)

    def needed(self, intent):
        if self.tier == "minor":
            return 0
        claimed = self.life[0][1].get("required_approvers")
        rule = 1 if intent is None else intent.standard if self.tier == "standard" else intent.major
        return max(int(claimed) if is_whole(claimed, 0) else 0, rule)

    def is_eligible(self, entry, detail, intent):
        """Returns whether a consent counts under an intent: its name may give it, did not propose, and signed where it must."""
        if intent is None:
            return True
        name = same_name(detail["approver"])
        if not (name in intent.urgent if detail.get("emergency") is True else intent.may_decide(name)):
            return False
        proposers = [text_of(self.content.get("proposer")), text_of(self.life[0][1].get("asked_by"))]
        if not intent.self_approval and any(one is not None and same_name(one) == name for one in proposers):
            return False
        idp = detail.get("idp")
        if not all(isinstance(idp, list) and group in idp for group in intent.idp.get(name, [])):
            return False
        keys = intent.keys.get(name, [])
        if not keys and not intent.signed_only and not (self.people or {}).get(name):
            return True
        # A signature under an intent that is not in the file cannot be checked, which the verdict says.
        checked = self.people is not None or manifest_in(detail) in self.intents
        key = self.signed.get(entry["id"]) if checked else text_of(detail.get("key"))
        return key is not None and (any(one["id"] == key for one in keys) or (not keys and not intent.signed_only))


def is_of_mandate(entry):
    """Returns whether an entry is about a mandate."""
    return entry["event_type"].startswith("mandate_")


def is_by_mandate(entry, detail):
    """Returns whether an entry is the consent of a mandate."""
    return entry["event_type"] == "consent_decision" and (text_of(detail.get("approver")) or "").startswith("mandate:")


def divide_entries(everything):
    """The entries of a certificate: those of the change, and those of its mandates with the losses from their first to the proposal."""
    first = lambda found: next((entry["id"] for entry, _ in everything if found(entry)), math.inf)  # noqa: E731
    signed, proposed = first(is_of_mandate), first(lambda entry: entry["event_type"] == "change_proposed")
    of_mandates = [is_of_mandate(entry) or (is_loss(entry) and signed < entry["id"] < proposed) for entry, _ in everything]
    life = [one for one, apart in zip(everything, of_mandates) if not apart]
    return life, [one for one, apart in zip(everything, of_mandates) if apart]


class Mandate:
    """A mandate by its entries, one after another, and by the accepted losses of the log's end between them."""

    NOT_NEXT = "an entry of its mandate does not follow from those before it"

    def __init__(self):
        self.state, self.revision, self.bounds, self.systems, self.first = "draft", 1, {}, None, None
        self.counts_from, self.signatures, self.resumes = 0, [], None

    def advance(self, one, grounds):
        """Takes in the next entry; why it does not follow, or None. `grounds`: intents and signing keys."""
        entry, detail = one
        event = entry["event_type"]
        if is_loss(entry):
            return self.lose()
        self.revision += event not in ("mandate_signed", "mandate_resumed")
        if not is_whole(detail.get("revision"), 1) or detail["revision"] != self.revision:
            return self.NOT_NEXT
        if event == "mandate_signed":
            return self.sign(one)
        taken_back = event == "mandate_ended" and self.state == "draft" and self.first is not None
        if self.state not in ("active", "suspended") and not taken_back:
            return self.NOT_NEXT
        if event == "mandate_narrowed":
            return self.narrow(one, grounds)
        if event == "mandate_suspended":
            self.state, self.resumes = "suspended", []
        elif event == "mandate_resumed":
            self.resumes = [*(given(self.resumes, []) if self.state == "suspended" else []), one]
            self.state = "active" if detail.get("status") == "active" else "suspended"
            self.counts_from = entry["id"] if self.state == "active" else self.counts_from
        else:
            self.state = "ended"
        return None

    def lose(self):
        """After a loss nobody knows who took a signature back: what lacks some starts again, and what is active is suspended."""
        if self.state == "draft":
            self.signatures = []
        elif self.state != "ended":
            self.state, self.resumes = "suspended", []

    def sign(self, one):
        entry, detail = one
        bounds = detail["bounds"] if isinstance(detail.get("bounds"), dict) else {}
        systems = detail.get("systems")
        same = canonical_text([bounds, systems]) == canonical_text([self.bounds, self.systems])
        if self.state != "draft" or (self.first is not None and not same):
            return self.NOT_NEXT
        self.first, self.bounds, self.systems = one if self.first is None else self.first, bounds, systems
        self.signatures.append(one)
        if detail.get("status") == "active":
            self.state, self.counts_from = "active", entry["id"]
        return None

    def narrow(self, one, grounds):
        intents, signed = grounds
        narrow, intent = one[1].get("narrow"), intents.get(manifest_in(one[1]))
        if not is_narrowing(self.bounds, narrow, intent and intent.directions):
            return "a narrowing of its mandate makes a bound wider"
        if not is_brake(one, self.bounds, intents, signed):
            return "a narrowing of its mandate is not signed by one who may sign the mandate"
        self.bounds = {**self.bounds, **narrow}
        self.resumes = [] if self.state == "suspended" else self.resumes
        return None

    def saw(self):
        """The names of the systems that its signers saw."""
        listed = self.systems if isinstance(self.systems, list) else []
        return [one["name"] for one in listed if isinstance(one, dict) and isinstance(one.get("name"), str)]


def are_texts(value):
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def is_narrowing(bounds, narrow, directions=None):
    """Returns whether a narrowing makes no bound wider; `directions`: those of the KPIs, None where the intent is not known."""
    return isinstance(narrow, dict) and all(
        is_bound_narrower(name, bounds.get(name, ABSENT), after, directions) for name, after in narrow.items()
    )


def is_bound_narrower(name, before, after, directions):
    if name == "tenants" and before == "all":
        return after == "all" or are_texts(after)
    if name in ("targets", "kinds", "tenants"):
        return are_texts(before) and are_texts(after) and all(one in before for one in after)
    if name in ("max_affected_users", "max_per_day", "max_open"):
        whole = is_whole(after, 0 if name == "max_affected_users" else 1)
        return whole and (before is ABSENT or (is_whole(before, 0) and after <= before))
    if name == "limits":
        return are_limits_narrower(before, after)
    if name == "kpi_floor":
        return is_floor_higher(before, after, directions)
    return name == "until" and isinstance(before, str) and isinstance(after, str) and after <= before


DOWN_IS_GOOD = ("sales_cycle_days_p50", "incident_rate")


def is_floor_higher(before, after, directions):
    """Returns whether floors are added, or moved in the direction that is good for their KPIs."""
    before = {} if before is ABSENT else before
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    for kpi, floor in before.items():
        moved = after.get(kpi)
        if not is_count(floor) or not is_count(moved):
            return False
        if directions is not None and directions.get(kpi, -1 if kpi in DOWN_IS_GOOD else 1) * (float(moved) - float(floor)) < 0:
            return False
    return True


def is_whole_multiple(number, factor):
    """Returns whether a number is a whole multiple of another, by the decimal text of both."""
    return fractions.Fraction(repr(float(number))) % fractions.Fraction(repr(float(factor))) == 0


def same_json(one, other):
    return canonical_text(one) == canonical_text(other)


def are_among(values, listed):
    texts = {canonical_text(one) for one in listed}
    return all(canonical_text(one) in texts for one in values)


def as_list(value):
    return value if isinstance(value, list) else [value]


def is_keyword_narrower(keyword, before, after):
    """Returns whether a keyword of a schema is at least as strict as before."""
    counts, lists = is_count(before) and is_count(after), isinstance(before, list) and isinstance(after, list)
    if keyword in ("minimum", "exclusiveMinimum", "minLength", "minItems"):
        return counts and after >= before
    if keyword in ("maximum", "exclusiveMaximum", "maxLength", "maxItems"):
        return counts and after <= before
    if keyword == "multipleOf":
        return counts and before > 0 and after > 0 and is_whole_multiple(after, before)
    if keyword in ("const", "pattern"):
        return same_json(before, after)
    if keyword == "type":
        allowed = as_list(before)
        return all(one in allowed or (one == "integer" and "number" in allowed) for one in as_list(after))
    if keyword == "enum":
        return lists and are_among(after, before)
    if keyword == "required":
        return lists and are_among(before, after)
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
    # A member that gets a schema of its own leaves that of all others.
    others, own = before.get("additionalProperties", True), before.get("properties")
    if others is True or not isinstance(after.get("properties"), dict):
        return True
    free = [name for name in after["properties"] if not (isinstance(own, dict) and name in own)]
    return all(others is not False and is_schema_narrower(others, after["properties"][name]) for name in free)


def is_step_narrower(before, after):
    def is_kind(kind):
        if kind not in before:
            return kind not in after
        return is_count(before[kind]) and is_count(after.get(kind)) and after[kind] <= before[kind]

    members = "members" not in after
    if "members" in before:
        members = isinstance(after.get("members"), list) and are_among(as_list(before["members"]), after["members"])
    hours = is_count(before.get("hours")) and is_count(after.get("hours")) and after["hours"] >= before["hours"]
    return is_kind("relative") and is_kind("absolute") and hours and members


def are_limits_narrower(before, after):
    """Returns whether limits allow no value or step that those before exclude."""
    if not isinstance(after, dict):
        return False
    if before is ABSENT:
        return True
    if not isinstance(before, dict) or not same_json(before.get("unit"), after.get("unit")):
        return False
    if "schema" in before and not is_schema_narrower(before["schema"], after.get("schema")):
        return False
    if "max_step" not in before:
        return True
    step, own = before["max_step"], after.get("max_step")
    return isinstance(step, dict) and isinstance(own, dict) and is_step_narrower(step, own)


# A pattern that every engine decides in a moment; others match nothing.
VALUE_PATTERN = re.compile(
    r"\^(?:(?:\[\^?(?:[^\]\[\\^-]|\\[\\\]\[^$.*+?(){}|/-]|\\[dw]|-)+\]|\\(?:[\\^$.*+?()\[\]{}|/]|[dw])|[^\\^$.*+?()\[\]{}|])"
    r"(?:\{[0-9]{1,3}(?:,[0-9]{1,3})?\})?)*\$"
)
RANGE = re.compile(r"\{[0-9]+,[0-9]+\}")
MAX_PATTERN_LENGTH = 256
JSON_TYPES = {
    "string": lambda value: isinstance(value, str),
    "number": is_count,
    "integer": lambda value: is_count(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}
ABOUT = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("items", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
}


def matches_pattern(pattern, text):
    if not isinstance(pattern, str) or not VALUE_PATTERN.fullmatch(pattern) or len(text) > MAX_PATTERN_LENGTH:
        return False
    if len(RANGE.findall(pattern)) > 2:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.fullmatch(pattern[1:-1], text, re.ASCII) is not None
    except re.error:
        return False


def matches_keyword(keyword, stated, value, schema):
    """Returns whether a value matches a keyword that is about its type."""
    if keyword == "type":
        return any(isinstance(one, str) and one in JSON_TYPES and JSON_TYPES[one](value) for one in as_list(stated))
    if keyword == "enum":
        return isinstance(stated, list) and are_among([value], stated)
    if keyword == "const":
        return same_json(stated, value)
    if ABOUT[keyword] == "number":
        if not is_count(stated):
            return False
        if keyword == "multipleOf":
            return stated > 0 and is_whole_multiple(value, stated)
        return {
            "minimum": value >= stated,
            "maximum": value <= stated,
            "exclusiveMinimum": value > stated,
            "exclusiveMaximum": value < stated,
        }[keyword]
    if keyword in ("minLength", "minItems"):
        return is_whole(stated, 0) and len(value) >= stated
    if keyword in ("maxLength", "maxItems"):
        return is_whole(stated, 0) and len(value) <= stated
    if keyword == "pattern":
        return matches_pattern(stated, value)
    if keyword == "items":
        return all(matches_schema(stated, one) for one in value)
    if keyword == "uniqueItems":
        return stated is False or len({canonical_text(one) for one in value}) == len(value)
    if keyword == "properties":
        return isinstance(stated, dict) and all(name not in value or matches_schema(stated[name], value[name]) for name in stated)
    if keyword == "required":
        return isinstance(stated, list) and all(isinstance(name, str) and name in value for name in stated)
    own = schema.get("properties")
    own = own if isinstance(own, dict) else {}
    return stated is True or all(name in own or matches_schema(stated, value[name]) for name in value)


def matches_schema(schema, value):
    """Returns whether a value matches a schema; a keyword that no service knows matches nothing."""
    if not isinstance(schema, dict):
        return False
    for keyword, stated in schema.items():
        if keyword not in ABOUT and keyword not in ("type", "enum", "const"):
            return False
        about = keyword not in ABOUT or JSON_TYPES[ABOUT[keyword]](value)
        if about and not matches_keyword(keyword, stated, value, schema):
            return False
    return True


def shares_of(value):
    """The values of the shares of a split; of any other value itself."""
    split = value["$split"] if isinstance(value, dict) and set(value) == {"$split"} else None
    shares = split.get("shares") if isinstance(split, dict) else None
    if isinstance(shares, list) and len(shares) > 1 and all(isinstance(one, list) and len(one) == 3 for one in shares):
        return [one[1] for one in shares]
    return [value]


def mandate_signer(detail):
    return same_name(text_of(detail.get("approver")) or "")


def may_sign_mandate(detail, bounds, intent):
    """Returns whether the name of an entry may sign a mandate, with the groups of the identity provider that its intent asks for."""
    name, idp = mandate_signer(detail), detail.get("idp")
    owner = any(name in approvers for _, _, approvers, _ in mandate_owners(bounds, intent))
    grouped = all(isinstance(idp, list) and group in idp for group in intent.idp.get(name, []))
    return (owner or intent.may_decide(name)) and grouped


def signs_mandate(entry, detail, intent, signed, counts):
    own = intent.keys.get(mandate_signer(detail), [])
    return any(key["id"] == signed.get(entry["id"]) and counts(key) for key in own)


def is_attended(key):
    """Returns whether a key signs only with a touch: a passkey, or an SSH key of a security key."""
    return key["type"] == "webauthn" or key["public_key"][4:7] == b"sk-"


def is_brake(one, bounds, intents, signed):
    """Returns whether one who may sign a mandate signed an entry about it, by the intent that the entry names, with any key."""
    entry, detail = one
    intent = intents.get(manifest_in(detail))
    if "proof" not in detail or intent is None:
        return "proof" in detail
    return may_sign_mandate(detail, bounds, intent) and signs_mandate(entry, detail, intent, signed, lambda key: True)


def why_mandate_unsigned(entries, bounds, intent, signed):
    """Which signatures of a mandate are missing under an intent, or None."""
    names = {
        mandate_signer(detail)
        for entry, detail in entries
        if may_sign_mandate(detail, bounds, intent) and signs_mandate(entry, detail, intent, signed, is_attended)
    }
    count = sum(map(intent.may_decide, names))
    if count < intent.major:
        return f"its mandate has {count} of {intent.major} signatures"
    for targets, _, approvers, required in mandate_owners(bounds, intent):
        own = len(names.intersection(approvers))
        if own < required:
            return f"its mandate has {own} of {required} signatures of the owners of {', '.join(targets)}"
    return None


def mandate_owners(bounds, intent):
    """The rules whose owners must sign a mandate: (targets, tenants, approvers, required)."""
    patterns = [one for one in bounds["targets"] if isinstance(one, str)] if isinstance(bounds.get("targets"), list) else []
    tenants = bounds.get("tenants")

    def is_of(tenant):
        return tenants == "all" or (isinstance(tenants, list) and tenant in tenants)

    return [
        rule
        for rule in intent.owners
        if any(patterns_overlap(one, other) for one in patterns for other in rule[0])
        and (rule[1] is None or any(map(is_of, rule[1])))
    ]


def patterns_overlap(one, other):
    """Returns whether some target matches both patterns, from the ends of both to their beginnings."""
    a, b = [*one.translate(LOWER), None], [*other.translate(LOWER), None]
    behind = [False] * (len(b) + 1)
    for mine in reversed(a):
        row = [False] * (len(b) + 1)
        for to in range(len(b) - 1, -1, -1):
            if mine is None and b[to] is None:
                row[to] = True
            elif "*" in (mine, b[to]):
                row[to] = behind[to] or row[to + 1]
            else:
                row[to] = mine is not None and mine == b[to] and behind[to + 1]
        behind = row
    return behind[0]


def mandate_latest(first, days):
    """The end that the policy sets, in ms since 1970; a draft is no younger than its first signature."""
    entry, detail = first
    signed, drafted = milliseconds(entry["timestamp"]), milliseconds(text_of(detail.get("created_at")) or "")
    return (drafted if drafted < signed else signed) + days * 24 * 3600 * 1000


def mandate_sets(content):
    """The targets of a change with their values."""
    return content["sets"] if isinstance(content.get("sets"), list) else [content]


def mandate_place_breach(own, proposal, mandate, rule):
    """The first bound that a proposal breaks by what its entry states, or None; `own`: its content, or the entry's detail with its tenant."""
    bounds, places, reached = mandate.bounds, minor_places(own) or [], proposal.get("places")
    texts = {name: bounds[name] if isinstance(bounds.get(name), list) else [] for name in ("targets", "kinds", "tenants")}
    texts = {name: [one for one in listed if isinstance(one, str)] for name, listed in texts.items()}
    if same_name(text_of(own.get("proposer")) or "") != bounds.get("agent"):
        return "agent"
    if own.get("kind") not in texts["kinds"]:
        return "kinds"
    covered = all(matches_any(one, texts["targets"]) and matches_any(one, rule["targets"]) for one, _ in places)
    if not places or not covered:
        return "targets"
    if bounds.get("tenants") != "all" and not all(tenant in texts["tenants"] for _, tenant in places):
        return "tenants"
    reached, saw = reached if isinstance(reached, list) else [], mandate.saw()
    seen = all(isinstance(one, dict) and isinstance(one.get("system"), str) and one["system"] in saw for one in reached)
    return None if seen else "systems"


def mandate_content_breach(content, erased, mandate):
    """The first bound that a content breaks by itself, or None; after an erasure values and users are gone."""
    bounds = mandate.bounds
    users, reached = bounds.get("max_affected_users", ABSENT), content.get("affected_users", ABSENT)
    if content.get("reversible") is not True:
        return "reversible"
    if content.get("risk") not in ("low", "medium"):
        return "risk"
    few = reached is None if erased else is_whole(reached, 0) and is_whole(users, 0) and reached <= users
    if users is not ABSENT and not few:
        return "max_affected_users"
    if "limits" not in bounds or erased:
        return None
    limits, sets = bounds["limits"], mandate_sets(content)
    if not all(isinstance(one, dict) and "value" in one for one in sets):
        return "limits"
    if not isinstance(limits, dict) or "schema" not in limits:
        return None
    allowed = all(matches_schema(limits["schema"], value) for one in sets for value in shares_of(one["value"]))
    return None if allowed else "schema"


def mandate_rule_breach(content, intent):
    """The bound that a content breaks under the intent, or None."""
    if "apply_when" in content and not (content["apply_when"] == "approved" and intent.mandates["automatic"]):
        return "apply_when"
    return "stages" if "stages" in content and not intent.bounds_rollouts else None


def is_in_mandate_time(timestamp, mandate, rule):
    """Returns whether a mandate has begun and not ended at a moment."""
    begins, ends = text_of(mandate.bounds.get("from")) or "", text_of(mandate.bounds.get("until")) or ""
    return begins <= timestamp < ends and milliseconds(timestamp) < mandate_latest(mandate.first, rule["days"])


def mandate_count_breach(stated, entries, mandate, rule):
    """The count that a consent breaks or misstates, or None; `entries`: how many targets the change has."""
    number, left = stated.get("number"), stated.get("left")
    a_day, at_once = mandate.bounds.get("max_per_day"), mandate.bounds.get("max_open")
    if not is_whole(number, entries) or not is_whole(a_day, 1):
        return "max_per_day"
    most, at_once = min(a_day, rule["most"]), min(at_once if is_whole(at_once, 1) else 0, rule["most_open"])
    if number > most:
        return "max_per_day"
    if at_once < 1:
        return "max_open"
    left = left if isinstance(left, dict) else {}
    today, room = left.get("today"), left.get("open")
    exact = is_whole(today, 0) and today == most - number
    return None if exact and is_whole(room, 0) and room < at_once else "left"


def is_loss(entry):
    """Returns whether an entry states an accepted loss of the log's end: it is about no change, and ends the consents before it."""
    return entry["event_type"] == "loss_accepted"


def status_step(entry, detail, status, tier):
    """What the change must be before an entry, and what it is then; None where the entry does not say."""
    event = entry["event_type"]
    if event == "change_proposed":
        return "", "approved" if tier == "minor" else "pending_consent"
    if event == "consent_decision":
        needed = "approved" if "from" in detail else "pending_consent"
        if detail.get("decision") != "approved":
            return needed, "denied"
        said = detail.get("status")
        return needed, said if said == "approved" or (said == "pending_consent" and needed == said) else None
    return OPERATIONS.get(event, (status, status))


def signer_in(entry, detail):
    """(name,) in which an entry decides what may have to be signed; None for an entry that does not."""
    event, decision = entry["event_type"], detail.get("decision")
    if event in ("content_erased", "loss_accepted"):
        return (text_of(detail.get("actor")),)
    actor = text_of(detail.get("actor"))
    # An advance that a person ordered under an earlier intent names nobody, and nobody signed it under this one.
    if event == "stage_resumed" or (event == "stage_advanced" and detail.get("reason") == "manual" and actor is not None):
        return (actor,)
    decides = event == "consent_decision" and decision in ("approved", "denied", "revoked") and not is_by_mandate(entry, detail)
    about_mandate = event in MANDATE_DECISIONS and detail.get("reason") != "expired"
    return (text_of(detail.get("approver")),) if decides or about_mandate or event == "emergency_reviewed" else None


def iso_time(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def step_of(entry, detail, status, key):
    text = lambda value: value if isinstance(value, str) else None  # noqa: E731
    own = detail.get("proposer" if entry["event_type"] == "change_proposed" else "approver")
    decision = detail.get("verdict") if detail.get("verdict") is not None else detail.get("decision")
    return {
        "entry": entry["id"],
        "at": entry["timestamp"],
        "event": entry["event_type"],
        "decision": "approved_emergency" if detail.get("emergency") is True else text(decision),
        "name": text(own) if text(own) is not None else text(detail.get("actor")),
        "authenticated": text(detail.get("authenticated")),
        "note": text(detail.get("note")),
        "status": status,
        "key": key,
        "manifest_hash": text(detail.get("manifest_hash")),
    }


CERTIFICATE_VERDICTS = {
    "valid": "valid: the entries stand in a log that the policy trusts; what the log says of the change beyond them, "
    "such as a later step, this file does not show",
    "consistent": "consistent: everything in it fits together; what is said above could not be checked",
}
STEPS = {
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


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def certificate_text(path, report):
    """The change, its life, what does not hold, and the verdict last."""
    lines = [f"{path}: {report['change_id']} in the log {compact(report['origin'])}"]
    what = "what is left of the content, which was erased" if report["erased"] else "content"
    lines.append(f"{what}: {report['content']}")
    lines.append(f"digest of the content: {report['digest']}")
    for step in report["steps"]:
        what = ", ".join(filter(None, (STEPS.get(step["event"]), step["decision"]))) or step["event"]
        how = f"known by: {step['authenticated'] or 'nothing'}"
        if (step["authenticated"] or "").startswith("signature"):
            how = "said to be signed, which was not checked"
        if step["key"] is not None:
            alone = step["authenticated"] == "signature_unattended"
            how = f"signed with {step['key']}, {'a key that signs by itself' if alone else 'its owner present and verified'}"
        said = f", note {compact(step['note'])}" if step["note"] else ""
        by = "" if step["name"] is None else f" by {compact(step['name'])}"
        then = f", then {step['status']}" if step["event"] in ("change_proposed", "consent_decision") else ""
        lines.append(f"entry {step['entry']}, {step['at']}: {what}{by}{then} ({how}{said}), under the intent {step['manifest_hash']}")
    for finding in report["findings"]:
        place = "" if finding["entry"] is None else f"entry {finding['entry']}: "
        lines.append(f"{place}{finding['rule']}: {finding['message']}")
    under = report["checkpoint"]
    if under:
        lines.append(f"the log had {under['length']} entries; signed by {under['signed_by']}")
        lines += [f"seen by the witness {one['name']} at {one['at']}" for one in under["witnessed_by"]]
    lines += report["remarks"]
    total = len(report["findings"])
    lines.append(CERTIFICATE_VERDICTS.get(report["verdict"], f"bad: {total} finding{'s' if total > 1 else ''}"))
    return "\n".join(map(shown_line, lines))


VERDICTS = {
    "valid": "valid: every entry holds, and the log continues what was kept outside",
    "consistent": "consistent: every entry holds; without a receipt or checkpoint kept outside, "
    "a cut tail or a rewritten log would not show",
}


PROOFS = {
    "verified": "signed decisions that hold, with keys that the policy lists",
    "as_named": "signed decisions that hold, with a key as the log itself names it",
    "not_checked": "signed decisions not checked, since only a policy can tell their keys",
    "unsigned": "decisions without a signature, by names whose keys the policy lists",
}


def content_lines(contents):
    if contents is None:
        return []
    lines = [f"contents of changes that fit their entries: {contents['changes']}"]
    lines.append(f"intents that fit their entries: {contents['intents']}")
    lines += [f"contents that do not fit: {contents['unfit']}"] if contents["unfit"] else []
    lines += [f"contents that are missing: {contents['missing']}"] if contents["missing"] else []
    lines += [f"erased: {change}" for change in contents["erased_changes"]]
    more = contents["erased"] - len(contents["erased_changes"])
    return lines + ([f"and {more} more erased"] if more else [])


def report_text(path, report):
    """Findings first, the verdict last."""
    lines = [f"{path}: {report['entries']} entries of {compact(report['origin'])}, head {report['head']}"]
    for finding in report["findings"]:
        place = "" if finding["line"] is None else f"line {finding['line']}: "
        if finding["entry"] is not None:
            place = f"line {finding['line']}, entry {finding['entry']}: "
        lines.append(f"{place}{finding['rule']}: {finding['message']}")
    more = report["findings_total"] - len(report["findings"])
    lines += [f"and {more} more"] if more else []
    lines += [f"held against {what}" for what in report["held_against"]]
    for seen in report["witnessed"]:
        lines.append(f"seen by {seen['name']} up to entry {seen['length']}, at {seen['time']} seconds since 1970")
    lines += [loss_text(loss) for loss in report["losses"]]
    lines += [f"{PROOFS[name]}: {count}" for name, count in report["proofs"].items() if count > 0]
    lines += content_lines(report["contents"]) + report["remarks"]
    total = report["findings_total"]
    lines.append(VERDICTS.get(report["verdict"], f"bad: {total} finding{'s' if total > 1 else ''}"))
    return "\n".join(map(shown_line, lines))


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
    given = parser.parse_args(argv)
    if not all(HEX.fullmatch(manifest) for manifest in given.manifest_hash):
        raise Unreadable("--manifest-hash HEX is 64 lower-case hex digits, as GET /api/product/intent shows them")
    policy = None if given.policy is None else read_tlog_policy(given.policy)
    people = None if given.keys is None else read_policy(given.keys)
    with open(given.file, "rb") as file:
        certificate = file.read()
    intents = [] if given.intents is None else read_intents(given.intents)
    report = Certificate(policy, people, given.manifest_hash, intents).verify(certificate)
    print(json.dumps(report) if given.json else certificate_text(given.file, report))
    return EXIT[report["verdict"]]


def main(argv):
    """Runs the program; returns its exit code."""
    try:
        return main_certificate(argv[1:]) if argv[:1] == ["certificate"] else main_export(argv)
    except (Unreadable, OSError) as error:
        reason = str(error)
    except Exception as error:  # A file other than the export or the certificate cannot be read.
        reason = f"it could not be read: {type(error).__name__}: {error}"
    print(f"verify_audit.py: {shown_line(reason)}", file=sys.stderr)
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
    given = parser.parse_args(argv)
    if given.key and not given.checkpoint:
        raise Unreadable("--key needs a --checkpoint to verify")
    keys = [read_key(key) for key in given.key]
    evidence = [read_checkpoints(path, keys) for path in given.checkpoint]
    kept = [item for part in evidence for item in part[0]] + read_receipt(given.expected_length, given.expected_head)
    witnessed, unseen = read_sightings(given.witness, given.quorum, evidence)
    findings = [finding for part in evidence for finding in part[1]] + unseen
    remarks = [remark for part in evidence for remark in part[2]]
    policy = None if given.policy is None else read_policy(given.policy)
    with open(given.file, "rb") as file:
        report = verify_export(file, kept, findings, remarks, policy, witnessed, given.changes)
    print(json.dumps(report) if given.json else report_text(given.file, report))
    return EXIT[report["verdict"]]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))

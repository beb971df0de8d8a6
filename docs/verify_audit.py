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
1 bad; 3 unreadable, or wrongly called. See evidence.md for what each of them proves.
"""

import argparse
import base64
import datetime
import errno
import hashlib
import json
import os
import re
import sys
import unicodedata

FIELDS = ("origin", "id", "timestamp", "event_type", "change_id", "tenant", "detail", "previous_hash", "current_hash")
HASHED = ("origin", "previous_hash", "id", "timestamp", "event_type", "change_id", "tenant", "detail")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
HEX = re.compile(r"[0-9a-f]{64}")
LONGEST_LINE = 16 * 1024 * 1024
MOST_LISTED = 100
EXIT = {"valid": 0, "bad": 1, "consistent": 2}


class Unreadable(Exception):
    """Something that had to be read and cannot be."""


# The chain


def parse_json(text):
    """JSON as every reader takes it: Python's own would take NaN and Infinity too, and no number of many digits."""

    def refuse(name):
        raise ValueError(f"{name} is no JSON")

    whole = lambda digits: int(digits) if len(digits) < 400 else float(digits)  # noqa: E731
    return json.loads(text, parse_constant=refuse, parse_int=whole)


def read_entry(line):
    """The entry of a line, or None when the line is not exactly what the service writes."""
    try:
        entry = parse_json(line.decode("utf-8"))
        if not isinstance(entry, dict) or tuple(entry) != FIELDS:
            return None
        if json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8") != line:
            return None
    except (ValueError, RecursionError):
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
    """Whether the 64 bytes sign the text under the 32 bytes of the key."""
    point = decode_point(public_key)
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
    """Whether two numbers sign the text under the 65 bytes of a point."""
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
    """The content of the first element of this tag, and what is behind it."""
    if len(encoded) < 2 or encoded[0] != tag:
        raise ValueError("not this element")
    length, begin = encoded[1], 2
    if length >= 128:
        begin = 2 + length - 128
        length = int.from_bytes(encoded[2:begin], "big")
    if begin + length > len(encoded):
        raise ValueError("too short")
    return encoded[begin : begin + length], encoded[begin + length :]


def der_numbers(encoded):
    """The two numbers of a sequence of nothing else."""
    body, rest = der_parts(encoded, 0x30)
    first, second = der_parts(body, 2)
    second, more = der_parts(second, 2)
    if rest or more:
        raise ValueError("more than two numbers")
    return int.from_bytes(first, "big"), int.from_bytes(second, "big")


def rsa_verifies(public_key, text, signature):
    """Whether the bytes sign the text with SHA-256 under the DER of a public key."""
    modulus, exponent = der_numbers(public_key)
    size = (modulus.bit_length() + 7) // 8
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
    padded = b"\x00\x01" + b"\xff" * (size - 3 - len(info)) + b"\x00" + info
    return len(signature) == size and pow(int.from_bytes(signature, "big"), exponent, modulus) == int.from_bytes(padded, "big")


# Signed decisions: passkeys and SSH keys

SPKI_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
SPKI_RSA = bytes.fromhex("300d06092a864886f70d0101010500")
ARMOUR = re.compile(r"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?")
PRESENT_AND_VERIFIED, BACKUP_ELIGIBLE, BACKED_UP = 5, 8, 16
DECISIONS = {"approved": "approve", "denied": "deny", "withdrawn": "withdraw", "revoked": "revoke"}
OTHERS = {
    "change_proposed": "propose",
    "emergency_reviewed": "review",
    "service_frozen": "freeze",
    "service_unfrozen": "unfreeze",
    "clock_accepted": "accept_clock",
    "loss_accepted": "accept_loss",
    "content_erased": "erase",
}


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
    """Whether a signature of a passkey holds under its public key."""
    if spki.startswith(SPKI):
        return ed25519_verifies(spki[len(SPKI) :], text, signature)
    if spki.startswith(SPKI_P256):
        return p256_verifies(spki[len(SPKI_P256) :], text, *der_numbers(signature))
    body, _ = der_parts(spki, 0x30)
    if not body.startswith(SPKI_RSA):
        return False
    bits, _ = der_parts(body[len(SPKI_RSA) :], 3)
    return rsa_verifies(bits[1:], text, signature)


def is_assertion_of(statement, proof):
    """Whether an assertion is one of the statement, apart from its signature."""
    data, client = url_bytes(proof.get("authenticator_data")), url_bytes(proof.get("client_data_json"))
    if data is None or client is None or len(data) < 37:
        return False
    try:
        said = parse_json(client.decode("utf-8"))
        challenge = base64.urlsafe_b64encode(sha256(statement.encode())).decode().rstrip("=")
        right = said["type"] == "webauthn.get" and said["challenge"] == challenge
        inside = said.get("crossOrigin") not in (None, False) or "topOrigin" in said
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    there = data[32] & PRESENT_AND_VERIFIED == PRESENT_AND_VERIFIED
    return right and not inside and there and not (data[32] & BACKED_UP and not data[32] & BACKUP_ELIGIBLE)


def is_signed_by_passkey(proof, key):
    """Whether a passkey signed an assertion, for its relying party and a page of it."""
    data, client = url_bytes(proof["authenticator_data"]), url_bytes(proof["client_data_json"])
    signature, spki = url_bytes(proof.get("signature")), url_bytes(key.get("public_key"))
    origin, rp_id = parse_json(client.decode("utf-8")).get("origin"), key.get("rp_id")
    if signature is None or spki is None or not isinstance(origin, str) or not isinstance(rp_id, str):
        return False
    own = re.fullmatch(r"http://localhost(:[0-9]+)?", origin) if rp_id == "localhost" else origin == f"https://{rp_id}"
    if not (origin in key["origins"] if "origins" in key else own):
        return False
    if key.get("credential_id") != proof.get("credential_id") or data[:32] != sha256(rp_id.encode()):
        return False
    try:
        return spki_verifies(spki, data + sha256(client), signature)
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


def ssh_signer_of(statement, proof):
    """The base64 of the public key that signed the statement with `ssh-keygen -Y sign`, or None."""
    armour = ARMOUR.fullmatch(proof.get("signature") if isinstance(proof.get("signature"), str) else "")
    data = from_base64(armour.group(1).replace("\n", "")) if armour else None
    try:
        outer = Wire(data or b"")
        if outer.take(10) != b"SSHSIG\x00\x00\x00\x01":
            return None
        blob, namespace, reserved, name, signature = (outer.string() for _ in range(5))
        if outer.data or namespace != b"countersign-consent" or reserved or name not in (b"sha256", b"sha512"):
            return None
        digest = hashlib.new(name.decode(), statement.encode()).digest()
        signed = b"SSHSIG" + b"".join(measured(part) for part in (namespace, reserved, name, digest))
        return base64.b64encode(blob).decode() if is_signed_by_ssh(blob, signature, signed) else None
    except ValueError:
        return None


def fingerprint(public_key):
    return "SHA256:" + base64.b64encode(sha256(public_key)).decode().rstrip("=")


def is_signed_by_ssh(blob, signature, signed):
    key, own = Wire(blob), Wire(signature)
    kind = key.string()
    ecdsa = kind in (b"ecdsa-sha2-nistp256", b"sk-ecdsa-sha2-nistp256@openssh.com")
    if own.string() != kind or not (ecdsa or kind in (b"ssh-ed25519", b"sk-ssh-ed25519@openssh.com")):
        return False
    if ecdsa:
        key.string()
    public_key, inner = key.string(), own.string()
    if kind.startswith(b"sk-"):
        said = own.take(5)
        if said[0] & PRESENT_AND_VERIFIED != PRESENT_AND_VERIFIED:
            return False
        signed = sha256(key.string()) + said + sha256(signed)
    if own.data:
        return False
    if not ecdsa:
        return ed25519_verifies(public_key, signed, inner)
    numbers = Wire(inner)
    return p256_verifies(public_key, signed, *(int.from_bytes(numbers.string(), "big") for _ in range(2)))


def fold(letter):
    """Case folding of one letter; a dotless i stays itself."""
    return letter if letter == "\u0131" else letter.lower().upper().lower()


def same_name(name):
    """A name as it is compared: trimmed, NFKC, with full case folding, single spaces, and without joiners."""
    folded = "".join(map(fold, unicodedata.normalize("NFKC", name).strip()))
    spaced = " ".join(unicodedata.normalize("NFKC", folded).split())
    return re.sub("[\u200c\u200d\ufe0e\ufe0f\U000e0020-\U000e007f]", "", spaced)


def keys_of(principals):
    """Keys by name."""
    return {same_name(name): principal.get("keys", []) for name, principal in principals.items()}


def read_policy(path):
    """Keys by name."""
    try:
        return keys_of(parse_json(read_text(path))["principals"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{path} is no JSON with the principals of an intent") from error


def decision_of(entry, detail):
    """Which decision an entry tells of, and whose."""
    other = OTHERS.get(entry["event_type"])
    if other:
        return other, detail.get({"propose": "proposer", "review": "approver"}.get(other, "actor"))
    decision = DECISIONS.get(str(detail.get("decision")))
    urgent = decision == "approve" and detail.get("emergency") is True
    return "approve_emergency" if urgent else decision, detail.get("approver")


def statement_of(entry, detail):
    """What had to be signed for this entry, and by whom; the time alone is taken from what was."""
    decision, by = decision_of(entry, detail)
    try:
        at = parse_json(detail["statement"])["at"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, None
    if decision is None or not isinstance(by, str):
        return None, None
    facts = {
        "at": at,
        "decision": decision,
        "manifest_hash": detail.get("manifest_hash"),
        "note": detail.get("note", ""),
        "origin": entry["origin"],
        "v": "countersign-consent/1",
    }
    if decision in ("freeze", "unfreeze", "accept_clock", "accept_loss", "erase"):
        facts["actor"] = by
        facts.update({"change_id": entry["change_id"], "digest": detail.get("digest")} if decision == "erase" else {})
        facts.update({name: detail.get(name) for name in ("length", "head")} if decision == "accept_loss" else {})
        facts.update({} if detail.get("until") is None else {"until": detail["until"]})
    else:
        facts.update({"approver": by, "digest": detail.get("digest")})
        facts.update({} if decision == "propose" else {"change_id": entry["change_id"]})
        facts.update({"verdict": detail.get("verdict")} if decision == "review" else {})
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"), sort_keys=True), by


def manifest_in(detail):
    """Which intent a detail names; what is no text names none."""
    manifest = detail.get("manifest_hash")
    return manifest if isinstance(manifest, str) else "undefined"


def named_keys(principal):
    keys = principal.get("keys") if isinstance(principal, dict) else None
    return keys if isinstance(keys, list) else []


class Proofs:
    """Checks the proofs of entries one after another; without a policy only the log says whose the keys are."""

    def __init__(self, policy):
        self.policy = policy
        self.counts = {"verified": 0, "as_named": 0, "not_checked": 0, "unsigned": 0}
        self.named = {}
        self.any_keys = policy is not None

    def check(self, entry, line):
        """What does not hold of an entry's proof, or None."""
        intent = entry["event_type"] == "intent_in_force"
        may_sign = self.any_keys and (entry["event_type"] == "consent_decision" or entry["event_type"] in OTHERS)
        if not intent and not may_sign and '"proof":' not in entry["detail"]:
            return None
        try:
            detail = parse_json(entry["detail"])
        except (ValueError, RecursionError):
            return None
        if not isinstance(detail, dict):
            return None
        if intent and isinstance(detail.get("principals"), dict):
            principals = detail["principals"].items()
            keys = {same_name(name): named_keys(one) for name, one in principals}
            self.named[manifest_in(detail)] = keys
            self.any_keys = self.any_keys or any(keys.values())
        message = self.judge(entry, detail) if "proof" in detail else self.judge_unsigned(entry, detail)
        return message and {"line": line, "entry": entry["id"], "rule": "proof", "message": message}

    def judge_unsigned(self, entry, detail):
        """Why a decision had to be signed that is not; a trusted proxy's word is enough for proposals and withdrawals."""
        decision, by = decision_of(entry, detail)
        if decision in (None, "propose", "withdraw") or not isinstance(by, str):
            return None
        if self.named.get(manifest_in(detail), {}).get(same_name(by)):
            return f"{by} has keys in the intent of this entry, and did not sign it"
        self.counts["unsigned"] += 1 if self.policy and self.policy.get(same_name(by)) else 0
        return None

    def judge(self, entry, detail):
        statement, by = statement_of(entry, detail)
        if statement is None or detail.get("statement") != statement:
            return "its statement is not of this entry"
        proof = detail["proof"] if isinstance(detail["proof"], dict) else {}
        passkey = proof.get("type") == "webauthn"
        signer = None if passkey else ssh_signer_of(statement, proof)
        if not (is_assertion_of(statement, proof) if passkey else signer):
            return "its proof is not of its statement"
        if detail.get("authenticated") == "signature" and signer and not base64.b64decode(signer)[4:].startswith(b"sk-"):
            return "it says that a person was verified, and its key signs by itself"
        if self.policy is not None:
            keys = self.policy.get(same_name(by), [])
            made = lambda key: (  # noqa: E731
                is_signed_by_passkey(proof, key) if passkey else key.get("public_key", "").split(" ")[1:2] == [signer]
            )
            own = next(filter(made, keys), None)
            if own is None:
                return f"the policy lists no key of {by} that made its proof"
            if fingerprint(url_bytes(own["public_key"]) if passkey else base64.b64decode(signer)) != detail.get("key"):
                return "its key is not the one that made its proof"
            self.counts["verified"] += 1
            return None
        identifier = detail.get("key")
        if signer:
            identifier = fingerprint(base64.b64decode(signer))
        keys = self.named.get(manifest_in(detail), {}).get(same_name(by), [])
        if identifier != detail.get("key") or identifier not in keys:
            return f"the log does not name its key as one of {by}"
        self.counts["not_checked" if passkey else "as_named"] += 1
        return None


# The contents of changes and intents

CARRIED = (b'{"change_id":', b'{"manifest_hash":')


def is_carried(line):
    """Whether a line is none of an entry, but of what an entry is about."""
    try:
        line.decode("utf-8")
    except ValueError:
        return False
    return line.startswith(CARRIED)


def detail_of(entry):
    try:
        detail = parse_json(entry["detail"])
    except (ValueError, RecursionError):
        return {}
    return detail if isinstance(detail, dict) else {}


class Contents:
    """Holds each content against the hash in the entry before it."""

    def __init__(self):
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
        if self.counts["erased"] <= MOST_LISTED:
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
        else:
            self.counts["changes" if awaited["rule"] == "content" else "intents"] += 1
        return None

    def end(self):
        """Yields what does not hold now that there are no more lines."""
        yield self.missed()
        for change, (line, entry, _) in self.left.items():
            yield self.finding(line, entry, "content", f"{change} is said to be erased, and no entry says so")


# Checkpoints in signed notes (C2SP)

CHECKPOINT = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*")
SIGNATURE = re.compile(r"— ([^\s+]+) (\S+)")
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----\s+([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----")
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
    if not parts or not note.endswith("\n"):
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
    parts = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})\s*", text)
    data = from_base64(parts[3]) if parts else None
    return (parts[1], data[1:]) if data and data[0] == kind and key_id(parts[1], data[1:], kind).hex() == parts[2] else None


def read_key(file_or_key):
    """(name or None, 32 bytes), from a PEM public key or a verifier key."""
    text = read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key
    key = verifier_key(text)
    if key:
        return key
    pem = PEM.search(text)
    der = from_base64("".join(pem[1].split())) if pem else None
    if der and len(der) == 44 and der.startswith(SPKI):
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


# What was kept outside


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from error


def note_in(line):
    """The checkpoint in a line of an anchor's file."""
    try:
        note = parse_json(line)["checkpoint"]
        return note if isinstance(note, str) else ""
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""


def read_checkpoints(path, keys):
    """What is kept, what is wrong with it, what was passed over, and the checkpoints."""
    text = read_text(path)
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
        kept.append({**{k: checkpoint[k] for k in ("length", "root", "origin")}, "what": f"{what} ({trust})"})
    return kept, findings, remarks, checkpoints


def whole(rule, message):
    """A finding about the log as a whole."""
    return {"line": None, "entry": None, "rule": rule, "message": message}


def loss_in(entry):
    """The accepted loss of the end of the log that an entry states."""
    detail = detail_of(entry)
    known = detail.get("known")
    text = lambda value: value if isinstance(value, str) else ""  # noqa: E731
    count = lambda value: value if type(value) is int and abs(value) < 2**53 else 0  # noqa: E731
    return {
        "entry": entry["id"],
        "at": entry["timestamp"],
        "actor": text(detail.get("actor")),
        "note": text(detail.get("note")),
        "known": count(known.get("length") if isinstance(known, dict) else None),
        "continues": count(detail.get("length")),
    }


def loss_text(loss):
    """One loss in a sentence."""
    lost = f"after {loss['continues']} up to" if loss["continues"] < loss["known"] else "up to"
    by = f"entry {loss['entry']}, {loss['at']}: {loss['actor']}"
    return f"{by} accepted that entries {lost} {loss['known']} are lost; they may have been acknowledged"


def why_lost(losses, length):
    """What the log states of an end that it lacks; empty where no loss covers it."""
    loss = next((loss for loss in losses if loss["known"] >= length), None)
    return f"; {loss_text(loss)}" if loss else ""


def why_not_held(item, seen, origin, entries, losses):
    why = why_lost(losses, item["length"])
    if "origin" in item and entries > 0 and item["origin"] != note_line(origin):
        return whole("origin", f"{item['what']} is of another log, {item['origin']}")
    if item["length"] > entries:
        return whole("tail_truncation", f"the log has {entries} entries, and {item['what']} was kept of it{why}")
    if seen != item.get("head", item.get("root")):
        return whole("full_rewrite", f"the log does not continue {item['what']}{why}")
    return None


def note_line(text):
    """A line of a note carries no control characters."""
    return "".join("".join(f"%{b:02X}" for b in c.encode()) if re.match(r"[\x00-\x1f\x7f-\x9f]", c) else c for c in text)


# One pass over an export


def lines_of(file):
    """Lines without their ends; one that is not ended, or longer than 16 MiB, ends the export and fits no form."""
    while line := file.readline(LONGEST_LINE):
        if not line.endswith(b"\n"):
            yield b"not ended"
            return
        yield line[:-1]


def verify_export(file, kept=(), findings=(), remarks=(), policy=None, witnessed=(), contents=False):
    """Verifies the lines of a binary file and returns the report."""
    chain, tree, found, total, proofs = Chain(), Tree(), [], 0, Proofs(policy)
    carried = Contents() if contents else None
    with_tree = any("root" in item for item in kept)
    lengths = {item["length"] for item in kept}
    heads, roots, losses = {0: "0" * 64}, {0: tree.root()}, []

    def note(*told):
        nonlocal total, found
        for one in filter(None, told):
            total += 1
            found += [one] if total <= MOST_LISTED else []

    for number, line in enumerate(lines_of(file), 1):
        if carried and is_carried(line):
            note(carried.take(line, number))
            continue
        finding = chain.follow(line)
        note(finding and {**finding, "line": number})
        note(*(carried.follow(chain.entry, number) if carried else ()))
        note(chain.entry and proofs.check(chain.entry, number))
        if chain.entry and chain.entry["event_type"] == "loss_accepted":
            losses.append(loss_in(chain.entry))
        if with_tree:
            tree.add(chain.last["current_hash"] if chain.last else "0" * 64)
        if chain.lines in lengths:
            heads[chain.lines] = chain.last["current_hash"] if chain.last else ""
            roots[chain.lines] = tree.root() if with_tree else ""
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
        "findings": (found + outside)[:MOST_LISTED],
        "findings_total": total,
        "held_against": [item["what"] for item in kept],
        "witnessed": list(witnessed),
        "proofs": proofs.counts,
        "contents": carried.counts if carried else None,
        "losses": losses,
        "not_checked": [] if held else ["tail_truncation", "full_rewrite"],
        "remarks": list(remarks),
    }


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


def object_in(text):
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def parse_tlog_policy(text):
    """{"logs", "witnesses", "quorum"} of a C2SP tlog-policy; ValueError names the line."""
    logs, witnesses, judges, quorum = [], {}, {}, []
    for number, line in enumerate(text.split("\n"), 1):

        def need(condition, why):
            if not condition:
                raise ValueError(f"line {number}: {why}")

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
    """Whether a witness, or as many of a group as it asks for, are among those that cosigned."""
    if isinstance(judge, list):
        return sum(is_met(member, seen) for member in judge[1]) >= judge[0]
    return judge is None or judge in seen


OPERATIONS = {"change_applied": ("approved", "applied"), "change_rolled_back": ("applied", "rolled_back")}


class Certificate:
    """Verifies a certificate: that what it says of a change stands in the log, and was signed by those who consented."""

    def __init__(self, policy=None, people=None, manifests=(), intents=()):
        self.policy, self.people, self.manifests, self.intents = policy, people, manifests, intents
        self.findings, self.remarks = [], []

    def found(self, entry, rule, message):
        self.findings.append({"line": None, "entry": entry, "rule": rule, "message": message})

    def verify(self, file):
        parts = parts_of(file)
        texts = lambda wanted: [text for name, text in parts if name == wanted]  # noqa: E731
        proven = []
        for number, text in enumerate(texts("proof"), 1):
            one = proven_by(text)
            if isinstance(one, str):
                self.found(None, "inclusion", f"proof {number}: {one}")
            else:
                proven.append(one)
        erased, content = parts[0][0] == "erased", parts[0][1][:-1]
        intents = {}
        for text in texts("intent"):
            intent = object_in(text[:-1])
            if intent is None:
                self.found(None, "intent", "an intent in this file is no JSON object")
            else:
                intents[sha256(text[:-1].encode()).hex()] = intent
        life = [(entry, details if isinstance(details := object_in(entry["detail"]), dict) else {}) for entry, _, _ in proven]
        named = {manifest_in(detail) for _, detail in life}
        for text in self.intents:
            manifest = sha256(text).hex()
            intent = object_in(text.decode("utf-8", "replace")) if manifest in named else None
            if isinstance(intent, dict):
                intents[manifest] = intent
        told = life[0][1].get("digest") if life else None
        digest = sha256(content.encode()).hex()
        if erased:
            self.require_erasure(life, digest)
            digest = told if isinstance(told, str) else "undefined"
        self.require_one_change(life, digest)
        self.require_one_checkpoint(proven)
        self.require_own_intents(life, intents)
        said = object_in(content)
        tier = said.get("tier") if isinstance(said, dict) else None
        statuses = self.statuses(life, tier)
        unread = self.missing_intents(life, intents)
        signed = self.signatures(life, intents)
        if signed and self.people is None and not self.manifests:
            self.remarks.append(
                "whose keys are whose is told by the intents in this file: --keys or --manifest-hash says which count"
            )
        self.require_quorum(life, tier, intents)
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
            "steps": [
                step_of(entry, detail, status, signed.get(entry["id"]))
                for (entry, detail), status in zip(life, statuses)
            ],
            "findings": self.findings,
            "remarks": self.remarks,
        }

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
            if entry["change_id"] != first["change_id"]:
                self.found(identifier, "form", "it is about another change than the first")
            if entry["origin"] != first["origin"]:
                self.found(identifier, "origin", "it is of another log than the first")
            if index > 0 and identifier <= life[index - 1][0]["id"]:
                self.found(identifier, "id", "it does not stand behind the one before")
            if detail.get("digest") != digest:
                self.found(identifier, "content", "it is not about the content in this file")

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
        status, given, statuses = "", 0, []
        for index, (entry, detail) in enumerate(life):
            needed, then = status_step(entry, detail, status, tier)
            if index > 0 and needed != status:
                message = f"the change must be {needed or 'new'} before it, and by the entries in this file it is {status}"
                self.found(entry["id"], "form", message)
            if then == "consent":
                given += detail.get("emergency") is not True
                # The first versions left it to the reader to count.
                enough = given >= life[0][1].get("required_approvers", 1)
                approved = detail["status"] == "approved" if "status" in detail else enough
                then = "approved" if approved else status
            status = then
            statuses.append(status)
        return statuses

    def missing_intents(self, life, intents):
        """The intents that what has to be checked was decided under, and that are not in the file."""
        needed = {manifest_in(d): None for e, d in life if is_consent(e, d) or "proof" in d}
        missing = [manifest for manifest in needed if manifest not in intents]
        for manifest in missing:
            self.remarks.append(f"the intent {manifest} is not in this file: what it asks of consents was not checked")
        return missing

    def signatures(self, life, intents):
        """The keys that signed decisions, by entry, where the signature holds with a key that is the approver's."""
        signed = {}
        for entry, detail in life:
            intent, keys = intents.get(manifest_in(detail)), self.people
            if keys is None and intent is not None:
                keys = keys_of(intent.get("principals", {}))
            if "proof" not in detail:
                by = str(detail.get("approver"))
                had_to = (keys or {}).get(same_name(by)) or (intent is not None and is_signed_only(intent))
                if is_consent(entry, detail) and had_to:
                    self.found(entry["id"], "proof", f"{by} had to sign it, and did not")
            elif keys is not None:
                finding = Proofs(keys).check(entry, 0)
                if finding:
                    self.found(entry["id"], "proof", finding["message"])
                else:
                    signed[entry["id"]] = str(detail.get("key"))
        return signed

    def require_quorum(self, life, tier, intents):
        """An entry that says "approved" stands behind as many consents as its intent asks of the tier, or for an emergency."""
        ordinary, emergency = set(), set()
        for entry, detail in life:
            if detail.get("decision") != "approved":
                continue
            urgent = detail.get("emergency") is True
            names = emergency if urgent else ordinary
            names.add(same_name(str(detail.get("approver"))))
            intent = intents.get(manifest_in(detail))
            further = "from" in detail and "review_hours" not in detail
            if detail.get("status") != "approved" or further or intent is None:
                continue
            policy = intent.get("policy", {})
            glass = policy.get("break_glass", {})
            required = policy.get("required_approvers", {})
            asked = max(life[0][1].get("required_approvers") or 0, required.get(tier, required.get("standard", 1)))
            needed = glass.get("required", 1) if urgent else asked
            among = glass.get("approvers", []) if urgent else policy.get("approvers")
            given = len(names if among is None else names & {same_name(name) for name in among})
            if given < needed:
                message = f"it was approved with {given} of {needed} consents{' for an emergency' if urgent else ''}"
                self.found(entry["id"], "quorum", message)
                return

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


def status_step(entry, detail, status, tier):
    """What the change must be before an entry, and what it is then."""
    event = entry["event_type"]
    if event == "change_proposed":
        return "", "approved" if tier == "minor" else "pending_consent"
    if event == "consent_decision":
        needed = "approved" if "from" in detail else "pending_consent"
        return needed, "consent" if detail.get("decision") == "approved" else "denied"
    return OPERATIONS.get(event, (status, status))


def is_consent(entry, detail):
    """Whether an entry tells of a decision that may have had to be signed."""
    decided = entry["event_type"] == "consent_decision" and detail.get("decision") in ("approved", "denied", "revoked")
    return decided or entry["event_type"] == "emergency_reviewed"


def is_signed_only(intent):
    """Whether only signatures count under an intent."""
    asked = intent.get("policy", {}).get("signed_only")
    return any(one.get("keys") for one in intent.get("principals", {}).values()) if asked is None else asked


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
    "emergency_reviewed": "emergency reviewed",
    "content_erased": "content erased",
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
    return "\n".join(map(note_line, lines))


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
    lines = [f"{path}: {report['entries']} entries of {json.dumps(report['origin'])}, head {report['head']}"]
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
    return "\n".join(lines)


def read_receipt(length, head):
    if length is None and head is None:
        return []
    if not re.fullmatch(r"0|[1-9][0-9]{0,14}", length or "") or not HEX.fullmatch(head or ""):
        raise Unreadable("--expected-length N and --expected-head HEX go together: a number, and 64 lower-case hex digits")
    return [{"length": int(length), "head": head, "what": f"the receipt of entry {length}"}]


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
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
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
    if argv[:1] == ["certificate"]:
        try:
            return main_certificate(argv[1:])
        except (Unreadable, OSError) as error:
            print(f"verify_audit.py: {error}", file=sys.stderr)
            return 3
    return main_export(argv)


def main_export(argv):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
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
    try:
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
    except (Unreadable, OSError) as error:
        print(f"verify_audit.py: {error}", file=sys.stderr)
        return 3
    print(json.dumps(report) if given.json else report_text(given.file, report))
    return EXIT[report["verdict"]]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Verifies an export of Countersign's audit log offline, with Python's standard library only.

  verify_audit.py FILE [--key KEY]... [--checkpoint NOTE]... [--expected-length N --expected-head HEX] [--json]

FILE is an export (GET /api/product/audit?format=jsonl). What it is held against was kept outside the service:
--checkpoint, a checkpoint or the file of --audit-anchor, with --key also its signature (PEM, verifier key, or its file),
with several, as after a change of keys, that of one of them;
--expected-length and --expected-head, a receipt: the id and the current_hash of an entry that was answered once.

Exit codes: 0 valid against something kept outside; 2 consistent, but nothing outside to hold it against;
1 bad; 3 unreadable, or wrongly called. See evidence.md for what each of them proves.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys

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


def read_entry(line):
    """The entry of a line, or None when the line is not exactly what the service writes."""
    try:
        entry = json.loads(line.decode("utf-8"))
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
        self.last = {"id": 0, "current_hash": "0" * 64, "timestamp": ""}

    def follow(self, line):
        """Takes the next line; returns what does not hold, or None."""
        self.lines += 1
        entry, last = read_entry(line), self.last
        self.last = entry
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
        if last and entry["timestamp"] < last["timestamp"]:
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


def multiply(scalar, point):
    product = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            product = add_points(product, point)
        point = add_points(point, point)
        scalar >>= 1
    return product


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
    return encode_point(add_points(multiply(scalar, BASE), multiply(challenge, negated))) == signature[:32]


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


def key_id(name, public_key):
    return hashlib.sha256(name.encode() + b"\n\x01" + public_key).digest()[:4]


def read_key(file_or_key):
    """(name or None, 32 bytes), from a PEM public key or a verifier key: `name+id+base64`."""
    text = read_text(file_or_key) if os.path.exists(file_or_key) else file_or_key
    parts = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})\s*", text)
    if parts:
        data = from_base64(parts[3])
        if data and data[0] == 1 and key_id(parts[1], data[1:]).hex() == parts[2]:
            return parts[1], data[1:]
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
        note = json.loads(line)["checkpoint"]
        return note if isinstance(note, str) else ""
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""


def read_checkpoints(path, keys):
    """What is kept, what is wrong with it, and what was passed over."""
    text = read_text(path)
    kept, findings, remarks = [], [], []
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
        trust = f"signed by {signer}" if signer else "signature not checked, no --key was given"
        kept.append({**{k: checkpoint[k] for k in ("length", "root", "origin")}, "what": f"{what} ({trust})"})
    return kept, findings, remarks


def whole(rule, message):
    """A finding about the log as a whole."""
    return {"line": None, "entry": None, "rule": rule, "message": message}


def why_not_held(item, seen, origin, entries):
    if "origin" in item and entries > 0 and item["origin"] != note_line(origin):
        return whole("origin", f"{item['what']} is of another log, {item['origin']}")
    if item["length"] > entries:
        return whole("tail_truncation", f"the log has {entries} entries, and {item['what']} was kept of it")
    if seen != item.get("head", item.get("root")):
        return whole("full_rewrite", f"the log does not continue {item['what']}")
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


def verify_export(file, kept=(), findings=(), remarks=()):
    """Verifies the lines of a binary file and returns the report."""
    chain, tree, found, total = Chain(), Tree(), [], 0
    with_tree = any("root" in item for item in kept)
    lengths = {item["length"] for item in kept}
    heads, roots = {0: "0" * 64}, {0: tree.root()}
    for line in lines_of(file):
        finding = chain.follow(line)
        if finding:
            total += 1
            found += [finding] if total <= MOST_LISTED else []
        if with_tree:
            tree.add(chain.last["current_hash"] if chain.last else "0" * 64)
        if chain.lines in lengths:
            heads[chain.lines] = chain.last["current_hash"] if chain.last else ""
            roots[chain.lines] = tree.root() if with_tree else ""
    outside = list(findings)
    for item in kept:
        seen = (heads if "head" in item else roots).get(item["length"])
        outside.append(why_not_held(item, seen, chain.origin or "", chain.lines))
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
        "not_checked": [] if held else ["tail_truncation", "full_rewrite"],
        "remarks": list(remarks),
    }


VERDICTS = {
    "valid": "valid: every entry holds, and the log continues what was kept outside",
    "consistent": "consistent: every entry holds; without a receipt or checkpoint kept outside, "
    "a cut tail or a rewritten log would not show",
}


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
    lines += [f"held against {what}" for what in report["held_against"]] + report["remarks"]
    total = report["findings_total"]
    lines.append(VERDICTS.get(report["verdict"], f"bad: {total} finding{'s' if total > 1 else ''}"))
    return "\n".join(lines)


def read_receipt(length, head):
    if length is None and head is None:
        return []
    if not re.fullmatch(r"0|[1-9][0-9]{0,14}", length or "") or not HEX.fullmatch(head or ""):
        raise Unreadable("--expected-length N and --expected-head HEX go together: a number, and 64 lower-case hex digits")
    return [{"length": int(length), "head": head, "what": f"the receipt of entry {length}"}]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Unreadable(f"{message}; see --help")


def main(argv):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("file")
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    parser.add_argument("--expected-length")
    parser.add_argument("--expected-head")
    parser.add_argument("--json", action="store_true")
    try:
        given = parser.parse_args(argv)
        if given.key and not given.checkpoint:
            raise Unreadable("--key needs a --checkpoint to verify")
        keys = [read_key(key) for key in given.key]
        evidence = [read_checkpoints(path, keys) for path in given.checkpoint]
        kept = [item for part in evidence for item in part[0]] + read_receipt(given.expected_length, given.expected_head)
        findings = [finding for part in evidence for finding in part[1]]
        remarks = [remark for part in evidence for remark in part[2]]
        with open(given.file, "rb") as file:
            report = verify_export(file, kept, findings, remarks)
    except (Unreadable, OSError) as error:
        print(f"verify_audit.py: {error}", file=sys.stderr)
        return 3
    print(json.dumps(report) if given.json else report_text(given.file, report))
    return EXIT[report["verdict"]]


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""A peer of Countersign's cross-host link, from docs/link.md and Python's standard library alone.

    SVC_CROSS_LINK_SECRET=... python3 link_peer.py connect HOST:PORT [QUESTION ...]
    SVC_CROSS_LINK_SECRET=... python3 link_peer.py listen HOST:PORT [QUESTION ...]
    python3 link_peer.py vectors link.md

A QUESTION is a read path (/api/state) or the name of a message (query_product_identity). `connect` ends when all are
answered; `listen` takes one peer and ends with its connection. Each line of output is a JSON object.
"""

import hashlib
import hmac
import json
import os
import re
import socket
import struct
import sys

PROTOCOL = b"countersign-link/1"
HELLO, CHALLENGE, PROOF, REQUEST, RESPONSE, PING, PONG = range(1, 8)
SELF = {"peer_id": os.urandom(16).hex(), "instance_id": "python-peer", "product_id": None, "product_type": None}


class Refused(Exception):
    """The other end broke the protocol, or does not hold the secret."""


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def hkdf(secret, salt, info, length=32):
    return mac(mac(salt, secret), info + b"\x01")[:length]


def secret_key(secret):
    secret = secret.encode()
    return hkdf(secret, PROTOCOL, b"kid", 4).hex(), hkdf(secret, PROTOCOL, b"handshake")


def frame(kind, body):
    return struct.pack(">IB", 1 + len(body), kind) + body


def opening(kind, fields, nonce):
    return frame(kind, json.dumps({"v": 1, **fields, "nonce": nonce.hex()}).encode())


def proofs(key, hello, challenge):
    """Both proofs, and the session key of each direction."""
    transcript = hashlib.sha256(PROTOCOL + hello + challenge).digest()
    client = mac(key, b"client" + transcript)
    server = mac(key, b"server" + transcript + client)
    return client, server, hkdf(key, transcript, b"client to server"), hkdf(key, transcript, b"server to client")


def seal(key, sequence, kind, payload):
    sealed = struct.pack(">IBQ", 41 + len(payload), kind, sequence) + payload
    return sealed + mac(key, sealed)


def unseal(key, sequence, whole):
    sealed, tag = whole[:-32], whole[-32:]
    if len(whole) < 45 or not hmac.compare_digest(tag, mac(key, sealed)):
        raise Refused("a frame's HMAC does not hold")
    if struct.unpack(">Q", whole[5:13])[0] != sequence:
        raise Refused("a frame is out of sequence")
    return whole[4], sealed[13:]


class Link:
    """One connection; `shake` first."""

    def __init__(self, connection, secret):
        self.connection, (self.kid, self.key) = connection, secret_key(secret)
        self.limit, self.sent, self.received = 1024, 0, 0
        connection.settimeout(5)

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def read_frame(self, kind=None):
        head = self.read(4)
        length = struct.unpack(">I", head)[0]
        if not 1 <= length <= self.limit:
            raise Refused(f"a frame of {length} bytes was announced")
        whole = head + self.read(length)
        if kind is not None and whole[4] != kind:
            raise Refused(f"a frame of type {kind} was due, not {whole[4]}")
        return whole

    def shake(self, is_client):
        nonce = os.urandom(32)
        if is_client:
            hello = opening(HELLO, {"kid": self.kid, **SELF}, nonce)
            self.connection.sendall(hello)
            challenge = self.read_frame(CHALLENGE)
        else:
            hello = self.read_frame(HELLO)
            if json.loads(hello[5:]).get("kid") != self.kid:
                raise Refused("the client uses another secret")
            challenge = opening(CHALLENGE, SELF, nonce)
            self.connection.sendall(challenge)
        peer = json.loads((challenge if is_client else hello)[5:])
        if peer.get("v") != 1 or peer.get("peer_id") == SELF["peer_id"]:
            raise Refused("another version, or this very peer")
        client, server, to_server, to_client = proofs(self.key, hello, challenge)
        own, other = (client, server) if is_client else (server, client)
        if is_client:
            self.connection.sendall(frame(PROOF, own))
        if not hmac.compare_digest(self.read_frame(PROOF)[5:], other):
            raise Refused("the other end does not hold the secret")
        if not is_client:
            self.connection.sendall(frame(PROOF, own))
        self.out, self.into = (to_server, to_client) if is_client else (to_client, to_server)
        self.limit = 256 * 1024
        self.connection.settimeout(45)
        return peer

    def send(self, kind, message=None):
        payload = b"" if message is None else json.dumps(message).encode()
        self.connection.sendall(seal(self.out, self.sent, kind, payload))
        self.sent += 1

    def receive(self):
        kind, payload = unseal(self.into, self.received, self.read_frame())
        self.received += 1
        return kind, json.loads(payload) if kind in (REQUEST, RESPONSE) else None

    def serve(self, questions):
        """Asks the questions and answers the peer's; yields each question's answer."""
        for number, question in enumerate(questions):
            message, body = ("query", {"path": question}) if question.startswith("/") else (question, {})
            self.send(REQUEST, {"id": number, "message": message, "body": body})
        while True:
            kind, message = self.receive()
            if kind == PING:
                self.send(PONG)
            elif kind == REQUEST:
                self.send(RESPONSE, {"id": message["id"], **answer(message["message"])})
            elif kind == RESPONSE:
                yield {"question": questions[message["id"]], "status": message["status"], "body": message["body"]}


def answer(message):
    if message == "query_product_identity":
        return {"status": 200, "body": {**SELF, "node_id": None, "binding_mode": None}}
    if message == "query_product_evolution":
        return {"status": 200, "body": {"product_id": None, "product_type": None, "insights": [], "next": 0, "last": 0}}
    return {"status": 404, "body": {"error": "this peer has none", "code": "not_found"}}


def check_vectors(path):
    """The names of the vectors in link.md that do not hold."""
    with open(path, encoding="utf-8") as page:
        vectors = json.loads(re.search(r"```json vectors\n(.*?)```", page.read(), re.S)[1])
    raw = {name: bytes.fromhex(text) for name, text in vectors.items() if name != "secret"}
    kid, key = secret_key(vectors["secret"])
    client, server, to_server, to_client = proofs(key, raw["hello"], raw["challenge"])
    request = unseal(to_server, 0, raw["client_request"])
    response = unseal(to_client, 0, raw["server_response"])
    made = {
        "kid": bytes.fromhex(kid),
        "key": key,
        "client_proof": frame(PROOF, client),
        "server_proof": frame(PROOF, server),
        "client_to_server": to_server,
        "server_to_client": to_client,
        "client_request": seal(to_server, 0, *request),
        "client_ping": seal(to_server, 1, PING, b""),
        "server_response": seal(to_client, 0, *response),
    }
    return [name for name, data in made.items() if data != raw[name]]


def say(line):
    print(json.dumps(line), flush=True)


def connected(mode, place):
    host, port = place.rsplit(":", 1)
    if mode == "connect":
        return socket.create_connection((host, int(port)), 5)
    with socket.create_server((host, int(port))) as server:
        say({"listening": server.getsockname()[1]})
        return server.accept()[0]


def main(mode, place, *questions):
    if mode == "vectors":
        wrong = check_vectors(place)
        say({"wrong": wrong})
        return 1 if wrong else 0
    with connected(mode, place) as connection:
        link = Link(connection, os.environ["SVC_CROSS_LINK_SECRET"])
        try:
            say({"peer": link.shake(mode == "connect")})
            for number, answered in enumerate(link.serve(questions), 1):
                say(answered)
                if mode == "connect" and number == len(questions):
                    return 0
        except (Refused, EOFError, OSError) as error:
            say({"ended": str(error) or "the other end closed the connection"})
            return 0 if link.received else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

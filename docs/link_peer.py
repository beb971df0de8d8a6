#!/usr/bin/env python3
"""A peer of Countersign's cross-host link, from lib/link/README.md and Python's standard library alone.

    SVC_CROSS_LINK_SECRET=... python3 link_peer.py connect HOST:PORT [QUESTION ...]
    SVC_CROSS_LINK_SECRET=... python3 link_peer.py listen HOST:PORT [QUESTION ...]
    python3 link_peer.py vectors lib/link/README.md

A QUESTION is a read path (/api/state) or the name of a message (query_product_identity). `connect` ends when all are
answered; `listen` takes one peer and ends with its connection. Each line of output is a JSON object.
"""
import hashlib, hmac, json, os, re, socket, struct, sys

PROTOCOL = b"countersign-link/1"
HELLO, CHALLENGE, PROOF, REQUEST, RESPONSE, PING, PONG = range(1, 8)
PRODUCT = {"product_id": None, "product_type": None}
SELF = {"peer_id": os.urandom(16).hex(), "instance_id": "python-peer", **PRODUCT}
ANSWERS = {
    "query_product_identity": {**SELF, "node_id": None, "binding_mode": None},
    "query_product_evolution": {**PRODUCT, "insights": [], "next": 0, "last": 0},
}

class Refused(Exception):
    """The other end broke the protocol, or does not hold the secret."""

def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()

def hkdf(secret, salt, info, length=32):
    return mac(mac(salt, secret), info + b"\x01")[:length]

def secret_key(secret):
    """The name of a secret, and K."""
    return hkdf(secret.encode(), PROTOCOL, b"kid", 4).hex(), hkdf(secret.encode(), PROTOCOL, b"handshake")

def frame(kind, body):
    return struct.pack(">IB", 1 + len(body), kind) + body

def opening(kind, **fields):
    return frame(kind, json.dumps({"v": 1, **fields, **SELF, "nonce": os.urandom(32).hex()}).encode())

def proofs(key, hello, challenge):
    """The client's proof and the server's, then the session keys: to the server and to the client."""
    transcript = hashlib.sha256(PROTOCOL + hello + challenge).digest()
    client = mac(key, b"client" + transcript)
    server = mac(key, b"server" + transcript + client)
    return client, server, hkdf(key, transcript, b"client to server"), hkdf(key, transcript, b"server to client")

def seal(key, sequence, kind, payload):
    sealed = struct.pack(">IBQ", 41 + len(payload), kind, sequence) + payload
    return sealed + mac(key, sealed)

def unseal(key, sequence, whole):
    """The type and the payload of a sealed frame."""
    sealed, tag = whole[:-32], whole[-32:]
    if len(whole) < 45 or not hmac.compare_digest(tag, mac(key, sealed)):
        raise Refused("a frame's HMAC does not hold")
    if struct.unpack(">Q", whole[5:13])[0] != sequence:
        raise Refused("a frame is out of sequence")
    return whole[4], sealed[13:]

class Link:
    """One connection, and its handshake; `peer` is who answered."""

    def __init__(self, connection, is_client, secret):
        self.connection, self.limit, self.sent, self.received = connection, 1024, 0, 0
        connection.settimeout(5)
        kid, key = secret_key(secret)
        if is_client:
            hello = opening(HELLO, kid=kid)
            connection.sendall(hello)
            challenge = self.read_frame(CHALLENGE)
        else:
            hello, challenge = self.read_frame(HELLO), opening(CHALLENGE)
            if json.loads(hello[5:])["kid"] != kid:
                raise Refused("the client uses another secret")
            connection.sendall(challenge)
        self.peer = json.loads((challenge if is_client else hello)[5:])
        if self.peer["v"] != 1 or self.peer["peer_id"] == SELF["peer_id"]:
            raise Refused("another version, or this very peer")
        client, server, to_server, to_client = proofs(key, hello, challenge)
        if is_client:
            connection.sendall(frame(PROOF, client))
        if not hmac.compare_digest(self.read_frame(PROOF)[5:], server if is_client else client):
            raise Refused("the other end does not hold the secret")
        if not is_client:
            connection.sendall(frame(PROOF, server))
        self.out, self.into = (to_server, to_client) if is_client else (to_client, to_server)
        self.limit = 256 * 1024
        connection.settimeout(45)

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.connection.recv(count - len(data))
            if not part:
                raise Refused("the other end closed the connection")
            data += part
        return data

    def read_frame(self, kind=None):
        head = self.read(4)
        length = struct.unpack(">I", head)[0]
        if not 1 <= length <= self.limit:
            raise Refused(f"a frame of {length} bytes was announced")
        whole = head + self.read(length)
        if kind not in (None, whole[4]):
            raise Refused(f"a frame of type {kind} was due, not {whole[4]}")
        return whole

    def send(self, kind, message=None):
        self.connection.sendall(seal(self.out, self.sent, kind, json.dumps(message).encode() if message else b""))
        self.sent += 1

    def serve(self, questions):
        """Asks the questions and answers the peer's; yields each question's answer."""
        for number, question in enumerate(questions):
            message, body = ("query", {"path": question}) if question.startswith("/") else (question, {})
            self.send(REQUEST, {"id": number, "message": message, "body": body})
        while True:
            kind, payload = unseal(self.into, self.received, self.read_frame())
            self.received += 1
            message = json.loads(payload) if kind in (REQUEST, RESPONSE) else {}
            if kind == PING:
                self.send(PONG)
            elif kind == REQUEST:
                body = ANSWERS.get(message["message"], {"error": "this peer has none", "code": "not_found"})
                self.send(RESPONSE, {"id": message["id"], "status": 404 if "error" in body else 200, "body": body})
            elif kind == RESPONSE:
                yield {"question": questions[message["id"]], "status": message["status"], "body": message["body"]}

def wrong_vectors(path):
    """The names of the vectors in link.md that do not hold."""
    with open(path, encoding="utf-8") as page:
        vectors = json.loads(re.search(r"```json vectors\n(.*?)```", page.read(), re.S)[1])
    raw = {name: bytes.fromhex(text) for name, text in vectors.items() if name != "secret"}
    kid, key = secret_key(vectors["secret"])
    client, server, to_server, to_client = proofs(key, raw["hello"], raw["challenge"])
    made = {"kid": bytes.fromhex(kid), "key": key, "client_to_server": to_server, "server_to_client": to_client}
    made |= {"client_proof": frame(PROOF, client), "server_proof": frame(PROOF, server)}
    made["client_request"] = seal(to_server, 0, *unseal(to_server, 0, raw["client_request"]))
    made["client_ping"] = seal(to_server, 1, PING, b"")
    made["server_response"] = seal(to_client, 0, *unseal(to_client, 0, raw["server_response"]))
    return [name for name, data in made.items() if data != raw[name]]

def say(**line):
    print(json.dumps(line), flush=True)

def main(mode, place, *questions):
    if mode == "vectors":
        wrong = wrong_vectors(place)
        say(wrong=wrong)
        return len(wrong)
    host, port = place.rsplit(":", 1)
    if mode == "listen":
        with socket.create_server((host, int(port))) as server:
            say(listening=server.getsockname()[1])
            connection = server.accept()[0]
    else:
        connection = socket.create_connection((host, int(port)), 5)
    with connection:
        try:
            link = Link(connection, mode == "connect", os.environ["SVC_CROSS_LINK_SECRET"])
            say(peer=link.peer)
            for number, answered in enumerate(link.serve(questions), 1):
                say(**answered)
                if mode == "connect" and number == len(questions):
                    return 0
        except (Refused, OSError, LookupError, TypeError, ValueError) as error:
            say(ended=str(error))
            return 1 if mode == "connect" else 0

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

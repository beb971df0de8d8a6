/** The code produces the bytes of the vectors in lib/link/README.md, so that other implementations can connect to it. */
import { readFileSync } from "node:fs";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { expect, test } from "vitest";
import {
  clientProof,
  deriveSecretKey,
  serverProof,
  deriveSessionKeys,
  makeTranscript,
} from "../../../lib/link/keys.ts";
import { createSession } from "../../../lib/link/session.ts";

const page = readFileSync(new URL("../../../lib/link/README.md", import.meta.url), "utf8");
const vectors = JSON.parse(/```json vectors\n([^`]*)```/.exec(page)![1]!) as Record<string, string>;
/** The header of a proof's frame: the length 33 in four bytes, and the type 3. */
const PROOF_HEADER = "0000002103";
const bytes = (name: string) => hexToBytes(vectors[name]!);
/** Parses the JSON of an opening frame, which follows a header of five bytes. */
const parseOpening = (name: string) => JSON.parse(new TextDecoder().decode(bytes(name).subarray(5)));

test("keys and proofs equal the published vectors", () => {
  const { kid, key } = deriveSecretKey(vectors["secret"]!);
  const transcript = makeTranscript(bytes("hello"), bytes("challenge"));
  const proof = clientProof(key, transcript);
  const keys = deriveSessionKeys(key, transcript);
  const computed = { kid, key, transcript, client_proof: proof, server_proof: serverProof(key, transcript, proof) };
  expect(computed.kid).toBe(vectors["kid"]);
  expect(bytesToHex(computed.key)).toBe(vectors["key"]);
  expect(bytesToHex(computed.transcript)).toBe(vectors["transcript"]);
  expect(PROOF_HEADER + bytesToHex(computed.client_proof)).toBe(vectors["client_proof"]);
  expect(PROOF_HEADER + bytesToHex(computed.server_proof)).toBe(vectors["server_proof"]);
  expect(bytesToHex(keys.client)).toBe(vectors["client_to_server"]);
  expect(bytesToHex(keys.server)).toBe(vectors["server_to_client"]);
});

test("client and server send the published bytes", () => {
  const end = (role: "client" | "server", name: string) => {
    const { peer_id, instance_id, product_id, product_type, nonce } = parseOpening(name);
    const self = { peer_id, instance_id, product_id, product_type };
    return createSession({ role, self, keys: [deriveSecretKey(vectors["secret"]!)], nonce: hexToBytes(nonce) });
  };
  const [client, server] = [end("client", "hello"), end("server", "challenge")];
  const hello = client.open()[0]!;
  const challenge = server.receive(hello).send[0]!;
  const proof = client.receive(challenge).send[0]!;
  const answer = server.receive(proof).send[0]!;
  client.receive(answer);
  const frames = {
    hello,
    challenge,
    client_proof: proof,
    server_proof: answer,
    client_request: client.request(1, "query", { path: "/api/state", method: "GET" }),
    client_ping: client.ping(),
    server_response: server.respond(1, 200, { tick: 7 }),
  };
  for (const [name, sent] of Object.entries(frames)) expect(bytesToHex(sent), name).toBe(vectors[name]);
});

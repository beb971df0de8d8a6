/**
 * A witness and a client of C2SP tlog-witness, tlog-cosignature, tlog-checkpoint and signed-note, written from their texts
 * for tests. It shares no code with the implementation under test.
 */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** Returns the size of the left subtree (RFC 6962, 2.1): the largest power of two below the number of leaves. */
const leftSize = (leafCount: number): number => 2 ** Math.ceil(Math.log2(leafCount) - 1);

const sha256 = (...parts: (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** Makes a key with the signature type of a log (1) or of a witness (4). */
export function keyPair(name: string, type: 1 | 4) {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
  const id = sha256(`${name}\n`, Buffer.of(type), raw).subarray(0, 4);
  const line = (signature: Buffer) => `— ${name} ${Buffer.concat([id, signature]).toString("base64")}\n`;
  return {
    name,
    pem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    vkey: `${name}+${id.toString("hex")}+${Buffer.concat([Buffer.of(type), raw]).toString("base64")}`,
    /** Returns the signature line of a log. */
    signed: (body: string) => line(sign(null, Buffer.from(body), privateKey)),
    /** Returns the signature line of a witness. */
    cosigned(body: string, seconds: number) {
      const time = Buffer.alloc(8);
      time.writeBigUInt64BE(BigInt(seconds));
      const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`);
      return line(Buffer.concat([time, sign(null, message, privateKey)]));
    },
  };
}

interface Vkey {
  name: string;
  id: Buffer;
  type: number;
  key: KeyObject;
}

function readVkey(vkey: string): Vkey {
  const first = vkey.indexOf("+");
  const second = vkey.indexOf("+", first + 1);
  const bytes = Buffer.from(vkey.slice(second + 1), "base64");
  const x = bytes.subarray(1).toString("base64url");
  return {
    name: vkey.slice(0, first),
    id: Buffer.from(vkey.slice(first + 1, second), "hex"),
    type: bytes[0]!,
    key: createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }),
  };
}

/** Returns the text of a note and a key's signatures on it: each with its validity, cosignatures with their time. */
export function readNote(note: string, vkey: string): { body: string; by: { seconds?: number; isValid: boolean }[] } {
  const { name, id, type, key } = readVkey(vkey);
  const end = note.lastIndexOf("\n\n") + 1;
  const body = note.slice(0, end);
  const by = note
    .slice(end + 1)
    .split("\n")
    .filter((line) => line.startsWith(`— ${name} `))
    .map((line) => Buffer.from(line.split(" ")[2]!, "base64"))
    .filter((bytes) => bytes.subarray(0, 4).equals(id))
    .map((bytes) => {
      if (type === 1) return { isValid: verify(null, Buffer.from(body), key, bytes.subarray(4)) };
      // A cosignature has 4 bytes of key id, 8 of time and 64 of signature.
      const seconds = Number(bytes.readBigUInt64BE(4));
      const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${body}`);
      return { seconds, isValid: bytes.length === 76 && verify(null, message, key, bytes.subarray(12)) };
    });
  return { body, by };
}

/** RFC 6962, 2.1: the hash of a tree over leaves that are hashes of entries. */
export function treeHash(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256("");
  if (leaves.length === 1) return sha256(Buffer.of(0), leaves[0]!);
  const k = leftSize(leaves.length);
  return sha256(Buffer.of(1), treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

/** RFC 6962, 2.1.2: PROOF(m, D[n]). */
export function consistencyProof(m: number, leaves: readonly Buffer[]): Buffer[] {
  const subproof = (m: number, part: readonly Buffer[], complete: boolean): Buffer[] => {
    if (m === part.length) return complete ? [] : [treeHash(part)];
    const k = leftSize(part.length);
    return m <= k
      ? [...subproof(m, part.slice(0, k), complete), treeHash(part.slice(k))]
      : [...subproof(m - k, part.slice(k), false), treeHash(part.slice(0, k))];
  };
  return m === 0 || m === leaves.length ? [] : subproof(m, leaves, true);
}

/** RFC 6962-bis, 2.1.4.2: the old and the new root that a proof yields, by recursion over the tree. */
function rootsOf(m: number, n: number, old: Buffer, proof: Buffer[], complete: boolean): [Buffer, Buffer] | undefined {
  if (m === n) {
    const root = complete ? old : proof.pop();
    return root && [root, root];
  }
  const k = leftSize(n);
  const other = proof.pop();
  if (!other) return undefined;
  const inner = m <= k ? rootsOf(m, k, old, proof, complete) : rootsOf(m - k, n - k, old, proof, false);
  if (!inner) return undefined;
  const node = (left: Buffer, right: Buffer) => sha256(Buffer.of(1), left, right);
  return m <= k ? [inner[0], node(inner[1], other)] : [node(other, inner[0]), node(other, inner[1])];
}

function isConsistent(m: number, old: Buffer, n: number, root: Buffer, proof: readonly Buffer[]): boolean {
  if (m === 0) return proof.length === 0;
  const rest = [...proof];
  const roots = rootsOf(m, n, old, rest, true);
  return roots !== undefined && rest.length === 0 && roots[0].equals(old) && roots[1].equals(root);
}

/** Returns the text of a checkpoint over these leaves. */
export const checkpointText = (origin: string, leaves: readonly Buffer[]): string =>
  `${origin}\n${leaves.length}\n${treeHash(leaves).toString("base64")}\n`;

/** Returns the body of an `add-checkpoint` request. */
export const submission = (old: number, proof: readonly Buffer[], note: string): string =>
  `old ${old}\n${proof.map((hash) => `${hash.toString("base64")}\n`).join("")}\n${note}`;

/** Reads the first line of a request, `old <size>`. */
const readOldSize = (line: string): number => Number(line.slice("old ".length));

/** Starts a witness on loopback that cosigns the logs of these keys; a test can replace its answers. */
export async function independentWitness(name: string, logs: () => readonly string[], now: () => number = Date.now) {
  const key = keyPair(name, 4);
  const state = {
    /** A response that replaces the correct one. */
    fixedResponse: undefined as { status: number; body: string } | undefined,
    /** Signature lines that the witness returns after its own. */
    extraLines: "",
    /** The last cosigned checkpoint of each log, by origin. */
    latest: new Map<string, { size: number; root: Buffer; note: string }>(),
    requests: [] as { old: number; status: number }[],
  };
  const answerSubmission = (body: string): [number, string] => {
    const [header = "", ...rest] = body.split("\n\n");
    const note = rest.join("\n\n");
    const [first = "", ...lines] = header.split("\n");
    const old = readOldSize(first);
    const [origin = "", size = "", root = ""] = note.split("\n");
    const trusted = logs().filter((vkey) => readVkey(vkey).name === origin);
    if (trusted.length === 0) return [404, "unknown log\n"];
    const { body: signed, by } = readNote(note, trusted[0]!);
    if (by.length === 0 || !by.every(({ isValid }) => isValid)) return [403, "not signed\n"];
    const [n, hash] = [Number(size), Buffer.from(root, "base64")];
    if (old > n) return [400, "old is beyond the checkpoint\n"];
    const last = state.latest.get(origin) ?? { size: 0, root: treeHash([]), note: "" };
    if (old !== last.size) return [409, `${last.size}\n`];
    const proof = lines.map((line) => Buffer.from(line, "base64"));
    if (!isConsistent(old, last.root, n, hash, proof)) return [422, "not consistent\n"];
    state.latest.set(origin, { size: n, root: hash, note });
    return [200, key.cosigned(signed, Math.floor(now() / 1000)) + state.extraLines];
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const isAddCheckpoint = request.method === "POST" && request.url?.endsWith("/add-checkpoint");
      const [status, answer] = state.fixedResponse
        ? [state.fixedResponse.status, state.fixedResponse.body]
        : isAddCheckpoint
          ? answerSubmission(body)
          : [404, ""];
      state.requests.push({ old: readOldSize(body.split("\n")[0]!), status });
      response.writeHead(status, { "content-type": status === 409 ? "text/x.tlog.size" : "text/plain" }).end(answer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => new Promise((resolve) => void server.close(resolve).closeAllConnections());
  return { url, key, state, close };
}

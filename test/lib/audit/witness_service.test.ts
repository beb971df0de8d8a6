/** A service as a witness of other logs: it cosigns checkpoints of logs that only grow, and rejects all others. */
import { createHash, createPrivateKey, randomBytes, sign } from "node:crypto";
import { expect, test } from "vitest";
import { formatVerifierKey, parseVerifierKey } from "../../../lib/audit/note.ts";
import { type Watch, makeWatch } from "../../../lib/audit/witness_service.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import {
  checkpointText,
  consistencyProof,
  keyPair,
  readNote,
  submission,
  treeHash,
} from "../../support/independent_witness.ts";
import { failingStore } from "../../support/failing_store.ts";
import { service, type TestService } from "../../support/service.ts";

const ORIGIN = "log.example/a";
const LOG = keyPair(ORIGIN, 1);
const OTHER = keyPair(ORIGIN, 1);
const SELF = keyPair("witness.example/w1", 4);
const LEAVES = Array.from({ length: 200 }, () => randomBytes(32));

/** Creates the configuration with which a service watches the logs with these keys. */
function createWatch(...vkeys: string[]): Watch {
  // A verifier key is `<name>+<key id>+<base64>`; base64 can have a plus too, and its first byte is the signature type.
  const publicKey = Buffer.from(SELF.vkey.split("+").slice(2).join("+"), "base64").subarray(1);
  const signer = {
    publicKey: new Uint8Array(publicKey),
    sign: (text: Uint8Array) => new Uint8Array(sign(null, text, createPrivateKey(SELF.pem))),
  };
  return makeWatch({ name: SELF.name, signer, logs: vkeys.map((vkey) => parseVerifierKey(vkey, portableSha256)!) });
}

const startWitness = (options = {}) =>
  service({ intent: null, watch: createWatch(LOG.vkey), adminToken: "0123456789abcdef", ...options });
const signedNote = (size: number, key = LOG, leaves = LEAVES): string => {
  const text = checkpointText(ORIGIN, leaves.slice(0, size));
  return `${text}\n${key.signed(text)}`;
};
const submissionBody = (old: number, size: number, note = signedNote(size)): string =>
  submission(old, consistencyProof(old, LEAVES.slice(0, size)), note);
const submit = (witness: TestService, body: string) =>
  witness.send(new Request("http://127.0.0.1:8420/add-checkpoint", { method: "POST", body }));
/** The log's name in the path of its last checkpoint. */
const ORIGIN_HASH = createHash("sha256").update(ORIGIN).digest("hex");

test("a log that only grows is cosigned without a token, and its last checkpoint can be read", async () => {
  const witnessService = await startWitness({ protectReads: true });
  expect((await witnessService.get(`/${ORIGIN_HASH}/checkpoint`)).status).toBe(404);
  for (const [old, size] of [
    [0, 1],
    [1, 2],
    [2, 64],
    [64, 64],
    [64, 65],
    [65, 200],
  ] as const) {
    witnessService.deps.clock.advance(1000);
    const reply = await submit(witnessService, submissionBody(old, size));
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    const seconds = Math.floor(witnessService.deps.clock.now() / 1000);
    const cosigned = `${signedNote(size)}${reply.text}`;
    expect(readNote(cosigned, SELF.vkey)).toEqual({
      body: checkpointText(ORIGIN, LEAVES.slice(0, size)),
      by: [{ seconds, isValid: true }],
    });
    expect((await witnessService.get(`/${ORIGIN_HASH}/checkpoint`)).text).toBe(cosigned);
  }
});

test("two signature lines of one key are rejected", async () => {
  const witnessService = await startWitness();
  const note = signedNote(1);
  const [line] = note
    .split("\n\n")
    .at(-1)!
    .split(/(?<=\n)/);
  expect(await submit(witnessService, submissionBody(0, 1, `${note}${line}`))).toMatchObject({
    status: 400,
    body: { code: "invalid_field" },
  });
  expect((await submit(witnessService, submissionBody(0, 1, note))).status).toBe(200);
});

test("an empty log is cosigned with the empty tree's root, and again as it grows", async () => {
  const witnessService = await startWitness();
  expect((await submit(witnessService, submissionBody(0, 0))).status).toBe(200);
  expect((await submit(witnessService, submissionBody(0, 0))).status).toBe(200);
  expect((await submit(witnessService, submissionBody(0, 3))).status).toBe(200);
  const wrongRoot = `${ORIGIN}\n0\n${Buffer.alloc(32).toString("base64")}\n`;
  expect((await submit(await startWitness(), submission(0, [], `${wrongRoot}\n${LOG.signed(wrongRoot)}`))).status).toBe(
    422,
  );
});

test("a submission from another size is answered with the size that was cosigned last", async () => {
  const witnessService = await startWitness();
  const conflict = async (old: number, size: number) => {
    const { status, text, headers } = await submit(witnessService, submissionBody(old, size));
    return [status, text, headers.get("content-type")];
  };
  expect(await conflict(3, 7)).toEqual([409, "0\n", "text/x.tlog.size"]);
  expect((await submit(witnessService, submissionBody(0, 100))).status).toBe(200);
  for (const [old, size] of [
    [0, 150],
    [70, 70],
    [99, 150],
    [101, 150],
  ] as const)
    expect(await conflict(old, size)).toEqual([409, "100\n", "text/x.tlog.size"]);
});

const forgedLeaves = [...LEAVES.slice(0, 50), ...Array.from({ length: 150 }, () => randomBytes(32))];
const badRoot = checkpointText(ORIGIN, forgedLeaves.slice(0, 100));

test.each<[fault: string, body: string, status: number]>([
  [
    "a proof of another log",
    submission(100, consistencyProof(100, forgedLeaves), signedNote(200, LOG, forgedLeaves)),
    422,
  ],
  ["no proof", submission(100, [], signedNote(150)), 422],
  ["half a proof", submission(100, consistencyProof(100, LEAVES).slice(1), signedNote(200)), 422],
  [
    "a proof with an additional hash",
    submission(100, [...consistencyProof(100, LEAVES), randomBytes(32)], signedNote(200)),
    422,
  ],
  ["the same size with another root", submission(100, [], `${badRoot}\n${LOG.signed(badRoot)}`), 422],
  ["the same size with a proof", submission(100, [randomBytes(32)], signedNote(100)), 422],
  ["an old size beyond the checkpoint", submissionBody(0, 99).replace("old 0", "old 100"), 400],
  ["an unknown log", submissionBody(100, 150).replaceAll(ORIGIN, "log.example/b"), 404],
  ["another key", submissionBody(100, 150, signedNote(150, OTHER)), 403],
  ["no signature", submission(100, consistencyProof(100, LEAVES.slice(0, 150)), signedNote(150).split("—")[0]!), 403],
  ["an edited text", submissionBody(100, 150).replace("\n150\n", "\n151\n"), 403],
  ["an invalid signature together with a valid one", submissionBody(100, 150, signedNote(150) + LOG.signed("x")), 403],
  ["an empty body", "", 400],
  ["no checkpoint", "old 100\n\n", 400],
  ["a size with a leading zero", submissionBody(100, 150).replace("old 100", "old 0100"), 400],
  ["a size that is not a number", submissionBody(100, 150).replace("old 100", "old 1e2"), 400],
  ["a proof line that is no hash", submissionBody(100, 150).replace("old 100\n", "old 100\nAAAA\n"), 400],
  ["64 proof lines", submission(100, Array<Buffer>(64).fill(randomBytes(32)), signedNote(150)), 400],
  ["CRLF", submissionBody(100, 150).replaceAll("\n", "\r\n"), 400],
  ["more than 64 KiB", submissionBody(100, 150) + "— x ".padEnd(70_000, "A"), 413],
])("%s is rejected, and nothing is cosigned or stored", async (_, body, status) => {
  const witnessService = await startWitness();
  await submit(witnessService, submissionBody(0, 100));
  const before = (await witnessService.get(`/${ORIGIN_HASH}/checkpoint`)).text;
  const reply = await submit(witnessService, body);
  expect(reply.status, reply.text).toBe(status);
  expect(reply.text).not.toContain(SELF.name);
  expect((await witnessService.get(`/${ORIGIN_HASH}/checkpoint`)).text).toBe(before);
});

test("signatures of unknown keys are skipped and not returned; a second key of a log is valid", async () => {
  const witnessService = await startWitness({ watch: createWatch(LOG.vkey, OTHER.vkey) });
  const note = signedNote(9, OTHER) + keyPair("elsewhere.example", 4).cosigned("x", 9);
  expect((await submit(witnessService, submissionBody(0, 9, note))).status).toBe(200);
  const stored = (await witnessService.get(`/${ORIGIN_HASH}/checkpoint`)).text;
  expect(stored).not.toContain("elsewhere");
  expect(readNote(stored, OTHER.vkey).by).toEqual([{ isValid: true }]);
});

test("an invalid signature of a trusted key is rejected although another signature is valid", async () => {
  const witnessService = await startWitness({ watch: createWatch(LOG.vkey, OTHER.vkey) });
  expect((await submit(witnessService, submissionBody(0, 9, signedNote(9, OTHER) + LOG.signed("x")))).status).toBe(403);
});

test("only one of several concurrent submissions is cosigned", async () => {
  const witnessService = await startWitness();
  const sizes = [3, 150, 7, 90, 200, 64];
  const replies = await Promise.all(sizes.map((size) => submit(witnessService, submissionBody(0, size))));
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  const cosigned = sizes[replies.findIndex(({ status }) => status === 200)];
  for (const { status, text } of replies) if (status !== 200) expect([status, text]).toEqual([409, `${cosigned}\n`]);
});

test("a checkpoint that cannot be stored is not cosigned", async () => {
  const store = failingStore(memoryStore());
  const witnessService = await startWitness({ store });
  store.fail();
  const reply = await submit(witnessService, submissionBody(0, 9));
  expect(reply.status).toBe(503);
  expect(reply.text).not.toContain(SELF.name);
});

test("both contradicting checkpoints of a log are logged completely", async () => {
  const reported: unknown[] = [];
  const witnessService = await startWitness({
    log: { info() {}, warn() {}, error: (...args: unknown[]) => void reported.push(args) },
  });
  await submit(witnessService, submissionBody(0, 100));
  await submit(witnessService, submission(100, [], signedNote(150, LOG, forgedLeaves)));
  expect(reported).toEqual([
    [
      "a log that is watched does not continue what was cosigned",
      { cosigned: expect.stringContaining("\n100\n"), submitted: signedNote(150, LOG, forgedLeaves) },
    ],
  ]);
});

test("a service without watched logs has no witness endpoint", async () => {
  expect(await submit(await startWitness({ watch: undefined }), submissionBody(0, 1))).toMatchObject({
    status: 404,
    body: { code: "not_found" },
  });
});

test("keys and trees of the independent witness equal those of the implementation", () => {
  const key = parseVerifierKey(LOG.vkey, portableSha256)!;
  expect(formatVerifierKey(key, portableSha256)).toBe(LOG.vkey);
  expect(treeHash([]).toString("hex")).toBe(portableSha256(""));
});

/** Requests for cosignatures to the witnesses of a log, and the states of the witnesses. */
import { createPrivateKey, sign } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { auditCheckpoint } from "../../../handlers/product/audit_checkpoint.ts";
import { runCheckpointLoop, maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { type CheckpointSigner, storeCurrentCheckpoint, readLastCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { COSIGNATURE, parseVerifierKey } from "../../../lib/audit/note.ts";
import type { Witness } from "../../../lib/audit/witness.ts";
import { findMostCosigned, readWitnessStates } from "../../../lib/audit/request_cosignatures.ts";
import { createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { formatBusinessMetrics } from "../../../lib/operations/business_metrics.ts";
import { listCapabilities } from "../../../lib/operations/capabilities.ts";
import { checkReadiness } from "../../../lib/operations/readiness.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { notifyOnCommit } from "../../../lib/store/notify_on_commit.ts";
import { SECOND } from "../../support/clock.ts";
import { restartDeps, type TestDeps } from "../../support/deps.ts";
import { independentWitness, keyPair, readNote } from "../../support/independent_witness.ts";
import { get } from "../../support/requests.ts";
import { copyStore } from "../../tamper/world.ts";
import { lengthen, makeLog } from "./synthetic_log.ts";

/** Creates a checkpoint signer from a key pair of the independent implementation, of type 1: a log's; type 4 is a witness's. */
function createSigner({ pem, vkey }: ReturnType<typeof keyPair>): CheckpointSigner {
  // A verifier key is `<name>+<key id>+<base64>`; base64 can have a plus too, and its first byte is the type.
  const bytes = Buffer.from(vkey.split("+").slice(2).join("+"), "base64");
  return {
    publicKey: new Uint8Array(bytes.subarray(1)),
    sign: (text) => new Uint8Array(sign(null, text, createPrivateKey(pem))),
  };
}

/** Creates a log and witnesses that watch it; `deps` requests their cosignatures. */
async function createWatchedLog(length: number, names: readonly string[] = ["w.example/one"]) {
  const deps = { ...(await makeLog(length)), checkpointSigner: createSigner(keyPair("unnamed", 1)) } as TestDeps;
  const { origin } = (await deps.store.get("meta", "chain"))!.value;
  const { key } = await storeCurrentCheckpoint(deps);
  const logKeys = [key!];
  const witnessServers = await Promise.all(
    names.map((name) => independentWitness(name, () => logKeys, deps.clock.now)),
  );
  onTestFinished(async () => void (await Promise.all(witnessServers.map((witness) => witness.close()))));
  deps.witnesses = witnessServers.map((server): Witness => {
    const verifier = parseVerifierKey(server.key.vkey, deps.sha256, COSIGNATURE)!;
    return { url: server.url, key: verifier };
  });
  return { deps, witnessServers, witness: witnessServers[0]!, origin };
}

const witnessCapability = async (deps: TestDeps) =>
  (await listCapabilities(deps)).find(({ id }) => id === "audit_witness");
/** Appends entries, advances the clock, and stores and sends a checkpoint if it is time for one. */
const growAndMaintain = async (deps: TestDeps, entries: number, seconds = 1) => {
  await lengthen(deps, entries);
  deps.clock.advance(seconds * SECOND);
  await maintainCheckpoint(deps);
};
const requestCheckpoint = async (deps: TestDeps, query = "") =>
  (await (await auditCheckpoint(deps)(get(`audit/checkpoint${query}`))).json()) as {
    checkpoint: string;
    witnesses: unknown;
  };

test("checkpoints are cosigned as the log grows, and returned with the cosignatures", async () => {
  const { deps, witness, origin } = await createWatchedLog(1);
  expect(await requestCheckpoint(deps)).toMatchObject({ witnesses: [{ name: "w.example/one", length: 0, at: null }] });
  expect((await auditCheckpoint(deps)(get("audit/checkpoint?cosigned=1"))).status).toBe(404);
  for (const entries of [0, 1, 2, 60, 1, 64, 300]) await growAndMaintain(deps, entries);
  expect(witness.state.requests.map(({ old, status }) => [old, status])).toEqual(
    [0, 1, 2, 4, 64, 65, 129].map((old) => [old, 200]),
  );
  expect(witness.state.latest.get(origin)).toMatchObject({ size: 429 });
  const { checkpoint, witnesses } = await requestCheckpoint(deps);
  const seconds = Math.floor(deps.clock.now() / 1000);
  expect(readNote(checkpoint, witness.key.vkey)).toEqual({
    body: expect.stringContaining("\n429\n"),
    by: [{ seconds, isValid: true }],
  });
  expect(witnesses).toEqual([{ name: "w.example/one", length: 429, at: new Date(seconds * 1000).toISOString() }]);
  await lengthen(deps, 1);
  expect((await requestCheckpoint(deps)).checkpoint).not.toContain("w.example");
  expect((await requestCheckpoint(deps, "?cosigned=1")).checkpoint).toBe(checkpoint);
  expect(await formatBusinessMetrics(deps)).toContain(
    'countersign_witness_cosigned_entries{witness="w.example/one"} 429',
  );
  expect(await witnessCapability(deps)).toMatchObject({ status: "available", reason: null });
});

test("a cosigned checkpoint without a key of the log is returned as unsigned", async () => {
  const { deps } = await createWatchedLog(3);
  await growAndMaintain(deps, 1);
  expect(await requestCheckpoint(deps, "?cosigned=1")).toMatchObject({
    signed: true,
    key: expect.stringContaining("+"),
  });
  const record = (await deps.store.list("witnesses", { limit: 1 }))[0]!;
  await deps.store.transact((tx) => tx.put("witnesses", record.id, { ...record.value, key: "" }));
  expect(await requestCheckpoint(deps, "?cosigned=1")).toMatchObject({ signed: false, key: null });
});

test("a cosignature still counts for its checkpoint while the witness cosigns the next one", async () => {
  const { deps } = await createWatchedLog(3);
  await growAndMaintain(deps, 1);
  const { checkpoint } = await requestCheckpoint(deps, "?cosigned=1");
  expect(checkpoint).toContain("— w.example/one ");
  // The witness cosigns a longer checkpoint right after the cosignatures have been read.
  const getMany: typeof deps.store.getMany = async (collection, ids) => {
    const records = await deps.store.getMany(collection, ids);
    if (collection === "witnesses") await growAndMaintain(deps, 1);
    return records;
  };
  const store = Object.assign(Object.create(deps.store) as typeof deps.store, { getMany });
  expect((await requestCheckpoint({ ...deps, store }, "?cosigned=1")).checkpoint).toBe(checkpoint);
});

test("of checkpoints that are long enough, the one with most cosignatures wins, or the newest", async () => {
  const { deps } = await createWatchedLog(3);
  await growAndMaintain(deps, 1);
  const { state } = (await readWitnessStates(deps))[0]!;
  const cosignedAt = (length: number) => ({
    state: { ...state, length, note: state.note.replace("\n4\n", `\n${length}\n`) },
  });
  const states = [cosignedAt(4), cosignedAt(9), cosignedAt(7), cosignedAt(4)];
  expect([1, 4, 5, 8, 9].map((length) => findMostCosigned(states, length)?.length)).toEqual([4, 4, 9, 9, 9]);
  expect([findMostCosigned(states, 10), findMostCosigned([], 1)]).toEqual([undefined, undefined]);
});

test("a witness that reports another size gets a new request from that size", async () => {
  const { deps, witness } = await createWatchedLog(5);
  await growAndMaintain(deps, 0);
  const olderCopy = { ...deps, store: await copyStore(deps.store) };
  await growAndMaintain(deps, 3);
  // A process on an older copy of the store does not change the witness's size.
  await growAndMaintain(olderCopy as TestDeps, 0, 0);
  witness.state.requests.length = 0;
  const record = (await deps.store.list("witnesses", { limit: 1 }))[0]!;
  await deps.store.transact((tx) => tx.put("witnesses", record.id, { ...record.value, length: 2 }));
  await growAndMaintain(deps, 4);
  expect(witness.state.requests).toEqual([
    { old: 2, status: 409 },
    { old: 8, status: 200 },
  ]);
  expect(await witnessCapability(deps)).toMatchObject({ status: "available" });
});

test("a log that was set back is detected by its witness and is not ready", async () => {
  const { deps } = await createWatchedLog(70);
  await growAndMaintain(deps, 0);
  const older = await copyStore(deps.store);
  await growAndMaintain(deps, 70);
  const errors: string[] = [];
  const setBack = {
    ...(await restartDeps(deps, { store: older })),
    checkpointSigner: deps.checkpointSigner,
    witnesses: deps.witnesses,
  } as TestDeps;
  setBack.log = { ...setBack.log, error: (message) => void errors.push(message) };
  expect((await checkReadiness(setBack)).ready).toBe(true);
  await growAndMaintain(setBack, 1);
  const reason = expect.stringMatching(/^w\.example\/one: it cosigned 140 entries of this log, which has 71:/);
  expect((await checkReadiness(setBack)).checks).toMatchObject({ witnesses: { ok: false, reason } });
  expect(await witnessCapability(setBack)).toMatchObject({ status: "failing", reason });
  expect(errors).toEqual(["a witness refuses the log"]);
  await growAndMaintain(setBack, 100, 60);
  const rewritten = expect.stringMatching(/the log of 171 entries does not continue the one of 140/);
  expect((await checkReadiness(setBack)).checks).toMatchObject({ witnesses: { ok: false, reason: rewritten } });
  expect((await checkReadiness(deps)).ready).toBe(true);
});

test.each<[string, { status: number; body: string }, RegExp]>([
  ["answers 500", { status: 500, body: "" }, /it answered 500/],
  ["answers 404", { status: 404, body: "" }, /does not know this log/],
  ["answers 403", { status: 403, body: "" }, /does not trust the key of --audit-key/],
  ["answers 400", { status: 400, body: "" }, /does not understand what it is asked/],
  ["answers 409 without a size", { status: 409, body: "many" }, /409 without the size/],
  ["always answers 409", { status: 409, body: "0\n" }, /another size each time/],
  ["answers without a signature", { status: 200, body: "" }, /not a cosignature of its key/],
  ["answers too much", { status: 200, body: "x".repeat(20_000) }, /and too much/],
  ["signs with another key", { status: 200, body: keyPair("w.example/one", 4).cosigned("x", 1) }, /not a cosignature/],
])("a witness that %s is degraded and retried; requests still succeed", async (_, response, reason) => {
  const { deps, witness } = await createWatchedLog(3);
  witness.state.fixedResponse = response;
  await growAndMaintain(deps, 0);
  expect(await witnessCapability(deps)).toMatchObject({ status: "degraded", reason: expect.stringMatching(reason) });
  expect((await checkReadiness(deps)).ready).toBe(true);
  expect((await requestCheckpoint(deps)).checkpoint).not.toContain("— w.example");
  witness.state.fixedResponse = undefined;
  await growAndMaintain(deps, 1);
  expect(await witnessCapability(deps), "after one failure the delay is two seconds").toMatchObject({
    status: "degraded",
  });
  await growAndMaintain(deps, 1);
  expect(await witnessCapability(deps)).toMatchObject({ status: "available" });
});

test("an unreachable witness is retried after growing delays of up to five minutes", async () => {
  const { deps, witness } = await createWatchedLog(3);
  await witness.close();
  const times: number[] = [];
  let lastRequestAt = "";
  for (let second = 0; second < 2000; second++) {
    deps.clock.advance(SECOND);
    await maintainCheckpoint(deps);
    const requestAt = (await deps.store.list("witnesses", { limit: 1 }))[0]!.value.asked_at;
    if (requestAt !== lastRequestAt) times.push(second);
    lastRequestAt = requestAt;
  }
  expect(times.map((time, i) => time - (times[i - 1] ?? 0))).toEqual([
    0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300,
  ]);
  expect(await witnessCapability(deps)).toMatchObject({
    status: "degraded",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
});

test("an idle log is cosigned again every hour", async () => {
  const { deps, witness } = await createWatchedLog(3);
  for (let minute = 0; minute < 150; minute++) await growAndMaintain(deps, 0, 60);
  expect(witness.state.requests).toEqual([0, 3, 3].map((old) => ({ old, status: 200 })));
});

test("cosignatures of unknown keys are stored; lines that name another witness are not", async () => {
  const { deps, witnessServers, origin } = await createWatchedLog(2, ["w.example/one", "w.example/two"]);
  const unknown = keyPair("elsewhere.example", 4).cosigned("x", 7);
  witnessServers[0]!.state.extraLines =
    unknown + keyPair(origin, 1).signed("x") + keyPair("w.example/two", 4).cosigned("x", 7);
  await growAndMaintain(deps, 0);
  const { checkpoint } = await requestCheckpoint(deps);
  expect(checkpoint).toContain(unknown);
  expect(checkpoint.match(/^— .*? /gm)).toEqual([
    `— ${origin} `,
    "— w.example/one ",
    "— elsewhere.example ",
    "— w.example/two ",
  ]);
  for (const { key } of witnessServers)
    expect(readNote(checkpoint, key.vkey).by).toEqual([expect.objectContaining({ isValid: true })]);
});

test("no cosignature is requested without a key, for a broken log or for an empty log", async () => {
  const { deps, witness } = await createWatchedLog(3);
  await maintainCheckpoint({ ...deps, integrity: { breach: { first_invalid: 1, reason: "broken" } } });
  const emptyLog = { ...deps, store: memoryStore() };
  await maintainCheckpoint(emptyLog);
  const logWithoutKey = await makeLog(3);
  await maintainCheckpoint({ ...logWithoutKey, witnesses: deps.witnesses });
  expect(witness.state.requests).toEqual([]);
});

test("a silent witness delays neither checkpoints nor shutdown, and gets one request at a time", async () => {
  const commits = createCommitSignal();
  const plain = await makeLog(1, { store: notifyOnCommit(memoryStore(), commits) });
  const deps = { ...plain, checkpointSigner: createSigner(keyPair("unnamed", 1)) } as TestDeps;
  const silent = await independentWitness("silent.example", () => []);
  let requests = 0;
  const originalFetch = globalThis.fetch;
  onTestFinished(async () => {
    globalThis.fetch = originalFetch;
    await silent.close();
  });
  const requestSent = new Promise<void>((resolve) => {
    globalThis.fetch = (_, init) => {
      requests++;
      resolve();
      return new Promise((_, reject) => init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason)));
    };
  });
  deps.witnesses = [{ url: silent.url, key: parseVerifierKey(silent.key.vkey, deps.sha256, COSIGNATURE)! }];
  const running = runCheckpointLoop(deps, commits);
  await requestSent;
  // A checkpoint is stored when the log has 1,024 entries more than the last one.
  for (let length = 1025; length < 5000; length += 1024) {
    await lengthen(deps, 1024);
    for (let { count } = commits; (await readLastCheckpoint(deps))?.length !== length; { count } = commits)
      await commits.wait(count, 60 * SECOND);
  }
  commits.close();
  await running;
  expect(requests).toBe(1);
  expect(await deps.store.list("witnesses", { limit: 1 })).toEqual([]);
});

/** A service that starts with a log that lost entries serves reads; it accepts changes after a person accepts the loss. */
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { reportLoss } from "../../../lib/audit/report_loss.ts";
import type { StoreFaults } from "../../../lib/store/faults.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { openTestStore, temporaryFolder } from "../../local/store/open_test_store.ts";
import { PROPOSAL } from "../../support/client.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";

const HASH = "a".repeat(64);
/** The answer to a write while a loss is not accepted. */
const BROKEN = { status: 503, body: { code: "chain_broken" } };
const propose = (api: Core) => api.post("propose", PROPOSAL);

async function acceptLoss(api: Core) {
  const { length, head } = (await readHead(api.deps.store))!;
  return api.post("audit/accept-loss", { actor: "ops", note: "half a backup", length, head });
}

test("a log shorter than its backup states accepts no changes until the loss is accepted", async () => {
  const api = await core();
  const { audit_entry } = (await propose(api)).body;
  const backup = { length: audit_entry.id + 5, head: HASH };
  await reportLoss(api.deps, backup);
  const rejected = await propose(api);
  expect(rejected).toMatchObject(BROKEN);
  expect(rejected.body.reason).toContain(`backup.json states that entry ${backup.length} has the hash ${HASH}`);
  const restarted = makeCore(await restartDeps(api.deps));
  expect(await propose(restarted)).toMatchObject(BROKEN);
  expect((await restarted.get("audit")).status).toBe(200);
  expect(await acceptLoss(restarted)).toMatchObject({ status: 200, body: { known: backup } });
  // The log becomes longer than the backup states, with other entries than the lost ones.
  for (let count = 0; count < 6; count++) await propose(restarted);
  const restartedAgain = makeCore(await restartDeps(restarted.deps));
  await reportLoss(restartedAgain.deps, backup);
  expect((await propose(restartedAgain)).status).toBe(201);
});

test("an earlier accepted loss does not excuse a log that is shorter than a later backup states", async () => {
  const api = await core();
  await propose(api);
  const older = { length: 4, head: HASH };
  await reportLoss(api.deps, older);
  await acceptLoss(api);
  for (let count = 0; count < 6; count++) await propose(api);
  const { length } = (await readHead(api.deps.store))!;
  const restarted = makeCore(await restartDeps(api.deps));
  await reportLoss(restarted.deps, { length: length + 3, head: HASH });
  expect(await propose(restarted)).toMatchObject(BROKEN);
  await acceptLoss(restarted);
  // Each of the two losses excuses its own backup.
  for (const backup of [older, { length: length + 3, head: HASH }]) {
    const restartedAgain = makeCore(await restartDeps(restarted.deps));
    await reportLoss(restartedAgain.deps, backup);
    expect((await propose(restartedAgain)).status).toBe(201);
  }
});

test("a log that contains what its backup states accepts changes", async () => {
  const api = await core();
  const { audit_entry } = (await propose(api)).body;
  await propose(api);
  await reportLoss(api.deps, { length: audit_entry.id, head: audit_entry.current_hash });
  expect((await propose(api)).status).toBe(201);
  await reportLoss(api.deps, { length: audit_entry.id, head: HASH });
  expect(await propose(api)).toMatchObject(BROKEN);
});

test("a store without its newest file accepts no changes until the loss is accepted", async () => {
  const reason = "state.json.journal.jsonl, the file with the newest records after commit 40, is missing";
  const lost = { reason, left: { audit: 0 } };
  const faults = (): StoreFaults => ({ writes: null, damaged: [], lost, compaction: null, free_bytes: null });
  const api = await core({ store: { ...memoryStore(), faults } });
  await reportLoss(api.deps, undefined);
  const rejected = await propose(api);
  expect(rejected).toMatchObject(BROKEN);
  expect(rejected.body.reason).toContain(`${reason}: restore what is missing, or record its loss`);
  const acceptance = await acceptLoss(api);
  expect(acceptance).toMatchObject({ status: 200, body: { known: { length: 0, head: null } } });
  const { body } = await api.get("audit/verify");
  const message = "entries after 0, of which nobody knows how many there were, may have been acknowledged and are lost";
  expect(body).toMatchObject({ valid: true, losses: [{ known: { length: 0, head: null }, message }] });
  expect((await propose(api)).status).toBe(201);
  // The loss is found at the next start too.
  await reportLoss(api.deps, undefined);
  expect((await propose(api)).status).toBe(201);
});

test("a log that lost the record of its head continues after its last entry", async () => {
  const lost = { reason: "state.json.journal.jsonl is missing", left: { audit: 2 } };
  const faults = (): StoreFaults => ({ writes: null, damaged: [], lost, compaction: null, free_bytes: null });
  const api = await core({ store: { ...memoryStore(), faults } });
  for (let count = 0; count < 2; count++) await propose(api);
  const end = await readHead(api.deps.store);
  await api.deps.store.transact((tx) => tx.delete("meta", "chain"));
  const restarted = makeCore(await restartDeps(api.deps));
  expect(await readHead(restarted.deps.store)).toEqual(end);
  expect(await propose(restarted)).toMatchObject(BROKEN);
  expect(await acceptLoss(restarted)).toMatchObject({
    status: 200,
    body: { known: { length: end!.length, head: null } },
  });
  expect((await propose(restarted)).status).toBe(201);
});

test("a store whose newest file is put back without state.json accepts changes after a restart", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "state.json");
  const open = async () => (await openTestStore(path, { segmentBytes: 8000 })) as unknown as Store;
  const api = await core({ store: await open() });
  for (let count = 0; count < 20; count++) await propose(api);
  const end = await readHead(api.deps.store);
  await api.deps.store.close();
  await rename(`${path}.journal.jsonl`, join(folder, "journal"));
  const broken = makeCore(await restartDeps(api.deps, { store: await open() }));
  expect(await propose(broken)).toMatchObject(BROKEN);
  expect((await readHead(broken.deps.store))!.length).toBeLessThan(end!.length);
  await broken.deps.store.close();
  await rename(join(folder, "journal"), `${path}.journal.jsonl`);
  // The state file shows commits of the journal that was begun without the missing file, so it is removed.
  await rm(path);
  const restored = makeCore(await restartDeps(api.deps, { store: await open() }));
  expect(await readHead(restored.deps.store)).toEqual(end);
  expect((await propose(restored)).status).toBe(201);
});

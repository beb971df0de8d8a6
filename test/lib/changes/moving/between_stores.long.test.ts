/** Moves between all kinds of stores and back: the log and the records are unchanged, and writes continue. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { readHead } from "../../../../lib/audit/chain.ts";
import { exportContents } from "../../../../lib/changes/contents_export.ts";
import { joinChunks } from "../../../support/join_chunks.ts";
import { migrate } from "../../../../lib/changes/moving/migrate.ts";
import { fastestSha256 } from "../../../../lib/kit/platform.ts";
import type { Store } from "../../../../lib/store/store.ts";
import type { Version } from "../../../../lib/store/version.ts";
import { main as verifier } from "../../../../local/verify/main.ts";
import { app } from "../../../../handlers/index.ts";
import { client } from "../../../support/client.ts";
import { restartDeps } from "../../../support/deps.ts";
import { chainFault } from "../../../support/independent_chain.ts";
import { type Movable, movableStores } from "../../../support/movable_stores.ts";
import { FULL } from "../../../support/run_length.ts";
import { type Month, openMonth } from "../../../support/month/acts.ts";
import { october } from "../../../support/month/october.ts";
import { INTENT, PERSON } from "../../../support/month/people.ts";

const { kinds, folder, stop } = await movableStores();
afterAll(stop);
const sha256 = fastestSha256();
const names = Object.keys(kinds);
/** Pairs of a source and a destination: in the full run all pairs, otherwise each kind once on either side. */
const pairs = FULL
  ? names.flatMap((from) => names.map((to) => [from, to] as const))
  : names.map((from, index) => [from, names[(index + 1) % names.length]!] as const);

/** Returns a new store with the first half of the simulated month, and its clock. */
async function createMonth(): Promise<Month> {
  const month = await openMonth();
  await october(month);
  return month;
}

async function openMovable(movable: Movable): Promise<Store> {
  const store = await movable.open();
  onTestFinished(() => store.close());
  return store;
}

async function collect<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const tryWrite = (store: Store): Promise<void> => store.transact((tx) => tx.put("review_due", "late", true));

const listVersions = async (store: Store): Promise<Version[]> => (await collect(store.bulk!.dump())).flat();
/** Returns the records as sorted lines, without the records that a move adds. */
const listRecords = (versions: readonly Version[], length: number): string[] =>
  versions
    // Versions without an id are revision floors, and those without JSON are deleted records.
    .filter(({ id, json }) => id !== "" && json)
    .filter(({ collection, id }) => !(collection === "meta" && id === "chain"))
    .filter(({ collection, id }) => !(collection === "audit" && Number(id) > length))
    .map(({ collection, id, revision, json }) => `${collection}/${id} ${revision} ${json!.text}`)
    .sort();

const readExport = (store: Store): Promise<string> => joinChunks(exportContents(store));

/** Verifies the export of a store with the command-line verifier; returns its text. */
async function verifyExport(store: Store, file: string): Promise<string> {
  const text = await readExport(store);
  const head = (await readHead(store))!;
  const path = join(folder, `${file}.jsonl`);
  writeFileSync(path, text);
  const lines = text.trimEnd().split("\n");
  // Only entries have an id.
  const entries = lines.map((line) => JSON.parse(line)).filter(({ id }) => id);
  expect(chainFault(entries)).toBeNull();
  const options = ["--changes", "--json", "--expected-length", String(head.length), "--expected-head", head.head];
  const output = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  const code = await verifier([path, ...options]);
  output.mockRestore();
  expect(code).toBe(0);
  return text;
}

test.each(pairs)("a move from %s to %s and back keeps the log and the records", async (here, there) => {
  const month = await createMonth();
  const { clock } = month.deps;
  const deps = { clock, sha256 };
  const [first, second, third] = await Promise.all([kinds[here]!(), kinds[there]!(), kinds[here]!()]);
  let from: Store = month.deps.store;
  let name = "the month";
  let reported = await readExport(from);
  for (const [index, movable] of [first, second, third].entries()) {
    const before = await listVersions(from);
    const head = (await readHead(from))!;
    const to = await openMovable(movable);
    const moved = await migrate({ from: from.bulk!, name }, { to, name: movable.name, actor: "ana" }, deps);
    expect(moved.log).toEqual(head);

    // The records, their revisions and the log are unchanged; one entry about the move is added.
    expect(listRecords(await listVersions(to), head.length)).toEqual(listRecords(before, head.length));
    const after = await verifyExport(to, `${here}-${there}-${index}`);
    expect(after.startsWith(reported)).toBe(true);
    const { detail, ...entry } = JSON.parse(after.slice(reported.length));
    expect(entry).toMatchObject({
      event_type: "store_moved",
      id: head.length + 1,
      origin: head.origin,
      previous_hash: head.head,
    });
    expect(JSON.parse(detail)).toEqual({
      how: "migrate",
      from: name,
      to: movable.name,
      actor: "ana",
      authenticated: "claimed",
    });

    // The source of the move can be read, and rejects writes in this and in another process.
    await expect(tryWrite(from)).rejects.toThrow(/it moved to .* at /);
    // The month cannot be opened again, and a file store is open in one process only.
    if (name !== "the month" && !name.endsWith("state.json"))
      await expect(tryWrite(await openMovable([first, second, third][index - 1]!))).rejects.toThrow(/it moved to/);
    expect(await readHead(from)).toEqual(head);

    from = to;
    name = movable.name;
    reported = after;
  }

  // The destination accepts the next write, with a revision that was not used before.
  const { revision } = (await from.get("meta", "chain"))!;
  const service = await restartDeps(month.deps, { store: from, intent: INTENT, identityHeader: PERSON });
  const fields = {
    tenant_id: "t-9",
    kind: "config",
    target: "limits.next",
    summary: "after the move",
    proposer: "gil",
  };
  const reply = await client(app(service)).json("propose", fields, { [PERSON]: "gil" });
  expect([reply.status, reply.body.audit_entry.id]).toEqual([201, (await readHead(from))!.length]);
  expect((await from.get("meta", "chain"))!.revision).toBeGreaterThan(revision);
});

test.each(Object.keys(kinds))(
  "after a move from %s a deleted record is created again with a higher revision",
  async (kind) => {
    for (const other of Object.keys(kinds)) {
      const [here, there] = [await openMovable(await kinds[kind]!()), await openMovable(await kinds[other]!())];
      for (let count = 0; count < 5; count++) await here.transact((tx) => tx.put("review_due", "gone", true));
      await here.transact((tx) => tx.delete("review_due", "gone"));
      await here.transact((tx) => tx.put("review_due", "kept", true));
      const { revision } = (await here.get("review_due", "kept"))!;
      await migrate(
        { from: here.bulk!, name: "here" },
        { to: there, name: "there" },
        { clock: { now: Date.now }, sha256 },
      );
      expect((await there.get("review_due", "kept"))!.revision).toBe(revision);
      // Five writes of `gone` came before its deletion.
      for (const id of ["gone", "new"]) {
        await there.transact((tx) => tx.put("review_due", id, true));
        expect((await there.get("review_due", id))!.revision).toBeGreaterThan(5);
      }
    }
  },
);

/**
 * The expected value of each target: the value of the newest applied change, read from its record and returned only if the record
 * matches the log.
 */
import { describe, expect, test } from "vitest";
import { entryKey } from "../../../lib/audit/chain.ts";
import { entryHash } from "../../../lib/audit/entry_hash.ts";
import { projectAll, rebuild } from "../../../lib/projections/projector.ts";
import { readProjection } from "../../../lib/projections/snapshot.ts";
import { values } from "../../../lib/projections/values.ts";
import { verifyProjections } from "../../../lib/projections/verify.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { canonicalContent } from "../../../lib/changes/rules/content.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { seededFractions } from "../projections/test_log.ts";
import { openFileAdapter, unsyncedFiles } from "../../local/targets/file/open_file_adapter.ts";
import { restartDeps } from "../../support/deps.ts";
import { selectCases } from "../../support/run_length.ts";
import { service, makeService, type TestService } from "../../support/service.ts";

/** Key of the row of `ui.banner`, the default target, for the tenant t1. */
const BANNER_KEY = "t1\nui.banner";

const readValues = async (api: TestService, query = "") => {
  const { status, body, text } = await api.get(`values${query}`);
  if (status !== 200) throw new Error(text);
  return body.values as { tenant_id: string; target: string; state: string; value?: unknown; problem?: string }[];
};
/** Returns lines such as `tenant target=value`, with the problem in place of a withheld value. */
const valueLines = async (api: TestService, query = "") =>
  (await readValues(api, query)).map(
    (row) =>
      `${row.tenant_id} ${row.target}=${row.state === "governed" ? JSON.stringify(row.value) : `(${row.problem})`}`,
  );
/** Applies a change that sets this value; `undefined`: one that sets no value. Returns its id. */
const applyValue = (api: TestService, value: unknown, fields: object = {}) =>
  api.bring("applied", value === undefined ? { ...fields } : { value: JSON.stringify(value), ...fields });

test("a value is that of the newest applied change, with its origin, also without an adapter", async () => {
  const api = await service();
  expect((await api.get("values")).body).toMatchObject({ values: [], next: null, behind: 0 });
  const first = await applyValue(api, { on: true });
  const pending = await api.bring("approved", { value: '"not yet"' });
  const change = await api.change(first);
  const entry = change.audit_entries.at(-1);
  expect((await api.get("values")).body).toEqual({
    values: [
      {
        tenant_id: "t1",
        target: "ui.banner",
        change_id: first,
        entry: entry.id,
        applied_at: entry.timestamp,
        state: "governed",
        value: { on: true },
        kind: "config",
        digest: change.digest,
      },
    ],
    next: null,
    // The log goes on with the proposal and the consent of the other change.
    as_of: entry.id + 2,
    behind: 0,
  });
  await api.must("apply", pending);
  expect(await valueLines(api)).toEqual(['t1 ui.banner="not yet"']);
});

test("a rollback restores the previous value that was not rolled back, or none", async () => {
  const api = await service();
  const [first, second, third] = [await applyValue(api, 1), await applyValue(api, 2), await applyValue(api, 3)];
  await applyValue(api, undefined);
  await api.must("rollback", second);
  expect(await valueLines(api)).toEqual(["t1 ui.banner=3"]);
  await api.must("rollback", third);
  expect(await valueLines(api)).toEqual(["t1 ui.banner=1"]);
  expect((await readValues(api))[0]).toMatchObject({ change_id: first });
  await api.must("rollback", first);
  expect(await valueLines(api)).toEqual([]);
});

test("null is a value, and targets compare without case", async () => {
  const api = await service();
  await applyValue(api, 1, { target: "UI.Banner" });
  await applyValue(api, null, { target: "ui.banner" });
  expect(await valueLines(api)).toEqual(["t1 UI.Banner=null"]);
  expect(await valueLines(api, "?tenant_id=t1&target=Ui.baNNer")).toEqual(["t1 UI.Banner=null"]);
});

test("values are filtered by tenant and target, and paged", async () => {
  const api = await service();
  for (const tenant_id of ["t1", "t1 b", "t", "*"])
    for (const target of ["ui.banner", "a/b", "ui"])
      await applyValue(api, `${tenant_id} ${target}`, { tenant_id, target });
  const all = ["*", "t", "t1", "t1 b"].flatMap((tenant) =>
    ["a/b", "ui", "ui.banner"].map((target) => `${tenant} ${target}="${tenant} ${target}"`),
  );
  expect(await valueLines(api)).toEqual(all);
  expect(await valueLines(api, "?tenant_id=t1")).toEqual(all.slice(6, 9));
  expect(await valueLines(api, "?target=UI")).toEqual(all.filter((_, index) => index % 3 === 1));
  expect(await valueLines(api, "?tenant_id=t&target=ui")).toEqual([all[4]]);
  expect(await valueLines(api, "?tenant_id=t2&target=ui")).toEqual([]);
  for (const query of ["", "&tenant_id=t1", "&target=ui.banner"]) {
    const paged: string[] = [];
    for (let next: string | null = ""; next !== null;) {
      const { body } = await api.get(`values?limit=2${query}${next && `&after=${next}`}`);
      paged.push(...body.values.map((row: { value: string }) => row.value));
      expect(body.values.length).toBeLessThanOrEqual(2);
      next = body.next;
    }
    expect(paged).toEqual((await readValues(api, query.replace("&", "?"))).map(({ value }) => value));
  }
  for (const wrong of ["?after=?", "?after=a", "?limit=0", "?target=a b", "?tenant_id="])
    expect((await api.get(`values${wrong}`)).status, wrong).toBe(400);
});

test("the ETag changes with the values, and not with entries that change no value", async () => {
  const api = await service();
  const id = await applyValue(api, 1);
  const tag = (await api.get("values")).headers.get("etag")!;
  await api.propose();
  const again = await api.get("values", { "if-none-match": `"x", W/${tag}` });
  expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
  await api.must("rollback", id);
  expect((await api.get("values", { "if-none-match": tag })).status).toBe(200);
});

test("erased values are removed, and a rebuild makes the same rows", async () => {
  const api = await service();
  await applyValue(api, 1, { target: "ui.Banner" });
  const erasedId = await applyValue(api, 2);
  const empty = await applyValue(api, undefined, { target: "ui.empty" });
  await applyValue(api, undefined, { target: "ui.empty" });
  await api.must("rollback", erasedId);
  for (const change_id of [erasedId, empty])
    expect((await api.post("erase", { change_id, actor: "dpo", note: "asked" })).status).toBe(200);
  await projectAll(api.deps);
  const rows = async () =>
    Promise.all(values.collections.map((collection) => api.deps.store.list(collection, { limit: 100 })));
  const rowsWithoutRevision = async () => (await rows()).map((list) => list.map(({ id, value }) => [id, value]));
  const before = await rowsWithoutRevision();
  expect(before.map((list) => list.length)).toEqual([1, 1]);
  await rebuild(api.deps);
  expect(await rowsWithoutRevision()).toEqual(before);
  expect(await verifyProjections(api.deps)).toEqual({ tallies_match: true, mismatches: [] });
  expect(await valueLines(api)).toEqual(["t1 ui.Banner=1"]);
});

describe("inconsistent values are not returned", () => {
  const edit = (store: Store, id: string, change: (record: ChangeRecord) => object) =>
    store.transact(async (tx) => {
      const record = (await tx.get("changes", id))!.value as ChangeRecord;
      tx.put("changes", id, { ...record, ...change(record) } as ChangeRecord);
    });
  const content = ({ change }: ChangeRecord, edits: Partial<Change>) => ({ change: { ...change, ...edits } });

  const EDITS: Record<string, (record: ChangeRecord) => object> = {
    "another value": (record) => content(record, { value: "evil" }),
    "another value under its own digest": (record) => {
      const change = { ...record.change, value: "evil" };
      return { change: { ...change, digest: portableSha256(canonicalContent(change)) } };
    },
    "another tenant": (record) => content(record, { tenant_id: "t2" }),
    "no value": (record) => content(record, { value: undefined }),
    "an entry left out": ({ audit }) => ({ audit: audit.slice(0, -1) }),
    "no record": () => ({ change: undefined }),
  };
  test.each(Object.keys(EDITS))("%s", async (name) => {
    const api = await service();
    const id = await applyValue(api, "good");
    await applyValue(api, "other", { target: "ui.other" });
    await projectAll(api.deps);
    await edit(api.deps.store, id, EDITS[name]!);
    const [withheld, other] = await readValues(api);
    expect(withheld).toMatchObject({ tenant_id: "t1", target: "ui.banner", change_id: id, state: "withheld" });
    expect(withheld).not.toHaveProperty("value");
    expect(other).toMatchObject({ state: "governed", value: "other" });
  });

  test("an entry edited together with its record and its hash", async () => {
    const api = await service();
    const id = await applyValue(api, "good");
    await api.deps.store.transact(async (tx) => {
      const record = (await tx.get("changes", id))!.value as ChangeRecord;
      const change = { ...record.change, value: "evil" };
      const digest = portableSha256(canonicalContent(change));
      for (const number of record.audit) {
        const { value: entry } = (await tx.get("audit", entryKey(number)))!;
        const next = { ...entry, detail: entry.detail.replaceAll(record.change.digest, digest) };
        tx.put("audit", entryKey(number), { ...next, current_hash: entryHash(next, portableSha256) });
      }
      tx.put("changes", id, { ...record, change: { ...change, digest } });
    });
    expect((await readValues(api))[0]).toMatchObject({ state: "withheld" });
  });

  test("a record and row from before the rollback", async () => {
    const api = await service();
    const id = await applyValue(api, "good");
    await projectAll(api.deps);
    const record = (await api.deps.store.get("changes", id))!.value;
    const row = (await api.deps.store.get("values", BANNER_KEY))!.value;
    await api.must("rollback", id);
    await projectAll(api.deps);
    await api.deps.store.transact((tx) => {
      tx.put("changes", id, record);
      tx.put("values", BANNER_KEY, row);
    });
    expect(await valueLines(api)).toEqual(["t1 ui.banner=(the record does not name all of its entries)"]);
  });

  test("a row that names another change", async () => {
    const api = await service();
    await applyValue(api, "theirs", { tenant_id: "t2" });
    const denied = await api.bring("denied", { value: '"denied"' });
    await applyValue(api, "older");
    await projectAll(api.deps);
    const { value: older } = (await api.deps.store.get("values", BANNER_KEY))!;
    await applyValue(api, "ours");
    await applyValue(api, undefined);
    await projectAll(api.deps);
    expect(await valueLines(api, "?tenant_id=t1")).toEqual(['t1 ui.banner="ours"']);
    const { value: other } = (await api.deps.store.get("values", "t2\nui.banner"))!;
    for (const row of [other, { ...other, change_id: denied }, older]) {
      await api.deps.store.transact((tx) => tx.put("values", BANNER_KEY, row));
      expect((await readValues(api, "?tenant_id=t1"))[0]).toMatchObject({ state: "withheld", tenant_id: "t1" });
    }
    expect((await verifyProjections(api.deps)).mismatches[0]).toMatch(/^values\//);
  });

  test("an older row, and the entry of the newer apply with another target", async () => {
    const api = await service();
    await applyValue(api, "older");
    await projectAll(api.deps);
    const { value: older } = (await api.deps.store.get("values", BANNER_KEY))!;
    await applyValue(api, "newer");
    await projectAll(api.deps);
    await api.deps.store.transact(async (tx) => {
      const { id, value } = (await tx.list("audit", { limit: 1, reverse: true }))[0]!;
      const entry = { ...value, detail: value.detail.replace("ui.banner", "ui.other") };
      tx.put("audit", id, { ...entry, current_hash: entryHash(entry, portableSha256) });
      tx.put("values", BANNER_KEY, older);
    });
    expect(await readValues(api)).toMatchObject([{ target: "ui.banner", state: "withheld" }]);
  });

  test("entries after the first break of the chain", async () => {
    const api = await service();
    await applyValue(api, "before");
    const { as_of } = (await api.get("values")).body;
    await applyValue(api, "after", { target: "ui.other" });
    await projectAll(api.deps);
    api.deps.integrity.breach = { first_invalid: as_of + 1, reason: "edited" };
    expect(await valueLines(api)).toEqual([
      't1 ui.banner="before"',
      `t1 ui.other=(the audit chain is broken from entry ${as_of + 1} on)`,
    ]);
  });
});

test("an apply or rollback between two reads of a value gives the new value", async () => {
  const base = memoryStore();
  let meanwhile: (() => Promise<unknown>) | undefined;
  const store: Store = {
    ...base,
    getMany: async (collection, ids) => {
      if (collection === "changes" && meanwhile) {
        const run = meanwhile;
        meanwhile = undefined;
        await run();
      }
      return base.getMany(collection, ids);
    },
  };
  const api = await service({ store });
  await applyValue(api, 1);
  const two = await applyValue(api, 2);
  await projectAll(api.deps);
  meanwhile = () => api.must("rollback", two);
  expect(await valueLines(api)).toEqual(["t1 ui.banner=1"]);
  await applyValue(api, 3);
  meanwhile = () => applyValue(api, 4);
  expect(await valueLines(api)).toEqual(["t1 ui.banner=4"]);
});

test("the cost of reading a value does not grow with its applies and rollbacks", async () => {
  const counts = [];
  for (const rounds of [2, 12]) {
    const base = memoryStore();
    let read = 0;
    const getMany: Store["getMany"] = (collection, ids) => {
      read += ids.length;
      return base.getMany(collection, ids);
    };
    const api = await service({ store: { ...base, getMany } });
    await applyValue(api, 1);
    for (let round = 0; round < rounds; round++) await api.must("rollback", await applyValue(api, 2));
    await projectAll(api.deps);
    read = 0;
    expect(await valueLines(api)).toEqual(["t1 ui.banner=1"]);
    counts.push(read);
  }
  expect(counts[1]).toBe(counts[0]);
});

test("values are the same after a restart with entries that were not projected", async () => {
  const api = await service();
  const ids: string[] = [];
  for (let value = 0; value < 24; value++) ids.push(await applyValue(api, value, { target: `ui.t${value % 7}` }));
  for (const id of ids.filter((_, index) => index % 3 === 0)) await api.must("rollback", id);
  const before = await valueLines(api);
  const later = makeService(await restartDeps(api.deps));
  expect((await readProjection(later.deps, values)).as_of).toBeGreaterThan(0);
  expect(await valueLines(later)).toEqual(before);
  await projectAll(later.deps);
  expect(await valueLines(later)).toEqual(before);
});

test.each(selectCases([1, 2, 3, 4], 1))(
  "values equal those in the file adapter's file after a random history: seed %i",
  async (seed) => {
    const nextFraction = seededFractions(seed);
    const random = (below: number): number => Math.floor(nextFraction() * below);
    const { adapter, content } = await openFileAdapter({ files: unsyncedFiles });
    const api = await service({ adapter });
    const applied: string[] = [];
    const approved: string[] = [];
    for (let step = 0; step < 60; step++) {
      const action = random(8);
      if (action < 3 || approved.length + applied.length === 0) {
        const value =
          random(5) === 0 ? {} : { value: JSON.stringify([random(100), null, { a: random(9) }][random(3)]) };
        const key = { tenant_id: `t${random(2)}`, target: ["ui.banner", "UI.Banner", "a/b"][random(3)]! };
        approved.push(await api.bring("approved", { ...key, ...value }));
      } else if (action < 6 && approved.length > 0) {
        const [id] = approved.splice(random(approved.length), 1);
        await api.must("apply", id!);
        applied.push(id!);
      } else if (applied.length > 0) {
        const [id] = applied.splice(random(applied.length), 1);
        await api.must("rollback", id!);
      } else continue;
      if (random(6) === 0) await projectAll(api.deps);
      // Before the first apply there is no file.
      const file = ((await content().catch(() => ({}))).values ?? {}) as Record<string, Record<string, unknown>>;
      const written = Object.entries(file).flatMap(([tenant, fileValues]) =>
        Object.entries(fileValues).map(
          ([target, value]) => `${tenant} ${target.toLowerCase()}=${JSON.stringify(value)}`,
        ),
      );
      const lines = (await valueLines(api)).map((line) => line.replace(/ \S+=/, (target) => target.toLowerCase()));
      expect(lines).toEqual(written.sort());
    }
  },
);

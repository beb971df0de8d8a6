/** What earlier versions wrote: it opens, holds, shows what it showed, and goes on. */
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { countersign } from "../../handlers/index.ts";
import { followAll } from "../../lib/follow/follow.ts";
import { verifyFollowers } from "../../lib/follow/verify.ts";
import type { Collection } from "../../lib/store/store.ts";
import { fileAdapter } from "../../local/file_adapter.ts";
import { openFile } from "../../local/open_store.ts";
import { HOUR, testClock } from "../support/clock.ts";
import { chainFault } from "../support/independent_chain.ts";
import { serviceOf, type TestService } from "../support/service.ts";

const SAMPLE = join(import.meta.dirname, "../samples/0.1.0");
/** What its service answered before it was stopped. */
const answers = JSON.parse(await readFile(join(SAMPLE, "answers.json"), "utf8"));
const told = answers["product/runtime"].changes;
const kept = answers["product/audit?limit=1000"];
const named = (target: string, status: string): string =>
  told.find((change: { target: string; status: string }) => change.target === target && change.status === status)
    .change_id;

let api: TestService;
let config: () => Promise<{ values: object }>;

/** The sample's folder, copied and opened an hour after it was left. */
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), "sample-"));
  await cp(SAMPLE, folder, { recursive: true });
  const path = join(folder, "product_config.json");
  config = async () => JSON.parse(await readFile(path, "utf8"));
  const store = await openFile(join(folder, "state.json"), console);
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const clock = testClock(kept.entries.at(-1).timestamp);
  clock.advance(HOUR);
  const { deps } = await countersign({
    store,
    intent: await readFile(join(SAMPLE, "product_intent.json"), "utf8"),
    adapter: (identity) => fileAdapter({ path, store, clock, ...identity }),
    clock,
    exclusive: true,
  });
  api = serviceOf(Object.assign(deps, { clock }));
});

const read = async (path: string) => (await api.get(path)).body;
const KEPT = `audit/verify?expected_length=${kept.length}&expected_head=${kept.head}`;

/** Outcomes as of then, without the moment at which that was worked out; what was judged at once then is too early now. */
const ofThen = (body: { outcomes: { as_of: string; verdict: string; realised_delta: number | null }[] }) =>
  body.outcomes.map(({ as_of: _, ...outcome }) =>
    outcome.realised_delta === null ? outcome : { ...outcome, verdict: "too_early" },
  );

test("it verifies, and shows the same log, changes, outcomes and drift", async () => {
  const state = { compared: told.length, mismatched: 0, mismatches: [], unsettled: 0 };
  expect(await read(KEPT)).toMatchObject({ valid: true, not_checked: [], state });
  expect(await api.audit()).toEqual(kept.entries);
  const { intent, ...runtime } = answers["product/runtime"];
  // Rules that came later, and that an intent of then does not set.
  const later = { owners: [], on_stale: "report", windows: { deny: [], allow: [] } };
  const policy = { ...intent.policy, ...later };
  expect(await read("runtime")).toEqual({ ...runtime, intent: { ...intent, policy, keys: {} } });
  expect(await read("approvals")).toMatchObject(answers["product/approvals"]);
  expect((await read("outcomes")).outcomes).toMatchObject(ofThen(answers["product/outcomes"]));
  expect(await read("drift")).toEqual(answers["product/drift"]);
  expect((await read("/api/l1l5_trend")).totals).toEqual({ ...answers["l1l5_trend"].totals, unattributed: 0 });
});

test("its figures and what it noticed follow from its log, before anything is stored and after", async () => {
  const { E, R, dimensions } = answers.state;
  // Need is worked out otherwise than then: two drifts weigh 16, and what was approved is open too.
  const N = 16 / (16 + 8);
  const need = { value: N, open: 7, overdue: 2 };
  // Of what was taken back before it could be judged no verdict is missed any more, and none is told.
  const { expected, missing, gaps, value: _, ...memory } = dimensions.M;
  const late = gaps.filter(({ missing }: { missing: string[] }) => !missing.includes("verdict"));
  const M = {
    ...memory,
    expected: expected - 1,
    missing: { ...missing, verdict: 0 },
    gaps: late,
    value: memory.present / (expected - 1),
  };
  const derived = ["rolled_back", "operation_failed", "drift"];
  type Row = { kind: string; title: string; detail: string; ref: string };
  const rowsIn = (rows: Row[]) =>
    rows.flatMap(({ kind, title, detail, ref }) => (derived.includes(kind) ? [[kind, title, detail, ref]] : []));
  const shown = async () => {
    expect(await read("/api/state")).toMatchObject({ E, M: M.value, R, N, dimensions: { ...dimensions, M, N: need } });
    expect(rowsIn((await read("/api/log?limit=500")).entries)).toEqual(rowsIn(answers["log?limit=500"].entries));
    const { results } = await read("/api/memory/search?q=mail.rate");
    expect(results).not.toEqual([]);
  };
  await shown();
  await followAll(api.deps);
  await shown();
  expect(await verifyFollowers(api.deps)).toEqual({ tallies_match: true, mismatches: [] });
  const retired: string[] = ["live", "growth", "closings", "verdicts", "aging"];
  for (const collection of retired)
    expect(await api.deps.store.list(collection as Collection, { limit: 1 }), collection).toEqual([]);
});

test("what was said and rated then is remembered, in rings of its own and without a name that was not kept apart", async () => {
  const found = async (query: string, kind: string) => {
    const { results } = await read(`/api/memory/search?limit=50&q=${encodeURIComponent(query)}`);
    return results.find((one: { kind: string }) => one.kind === kind);
  };
  const shown = async () => {
    expect(await found("why was mail.rate changed", "chat")).toMatchObject({
      basis: "said",
      author: null,
      text: "said by somebody, unverified: “bo: why was mail.rate changed?”",
      ref: "msg_0000000000000001",
    });
    expect(await found("rated 4 of 5", "feedback")).toMatchObject({ basis: "said", author: null });
    expect((await read("/api/memory/search?q=mail.rate")).results[0].basis).toBe("record");
  };
  await shown();
  await followAll(api.deps);
  await shown();
  const kinds = async (source: "memories" | "chat_memories") =>
    (await api.deps.store.list(source, { limit: 100 })).map(({ value }) => value.kind);
  expect([await kinds("memories"), await kinds("chat_memories")]).toEqual([["feedback"], ["chat"]]);
});

test("what was left open goes on: consents, applies, rollbacks", async () => {
  const [retention, followup] = [named("data.retention", "pending_consent"), named("crm.followup", "pending_consent")];
  expect((await api.post("approve", { change_id: retention, approver: "bo" })).body.code).toBe("already_decided");
  expect((await api.post("approve", { change_id: retention, approver: "cy" })).body.status).toBe("approved");
  expect((await api.post("approve", { change_id: followup, approver: "bo" })).body.status).toBe("approved");
  for (const target of ["mail.subject", "data.region"]) await api.must("apply", named(target, "approved"));
  await api.must("apply", retention);
  await api.must("apply", followup);
  const applied = told.filter(({ status }: { status: string }) => status === "applied");
  expect(applied).toHaveLength(4);
  for (const { change_id } of applied) await api.must("rollback", change_id);
  expect((await config()).values).toEqual({
    t1: { "mail.subject": { limit: 12 }, "data.region": { limit: 11 }, "data.retention": { limit: 14 } },
    t2: { "crm.followup": { enabled: true, affected_users: 40, expected_delta_k: 12 } },
  });
  expect((await api.post("/api/action/run-now", { action: "check_drift" })).body.status).toBe("completed");
  expect(await read("drift")).toMatchObject({ result: "in_sync", drifted: [], missing: [] });

  const entries = await api.audit();
  expect(entries.slice(0, kept.length)).toEqual(kept.entries);
  expect(chainFault(entries)).toBeNull();
  expect(await read(KEPT)).toMatchObject({ valid: true, state: { compared: told.length, mismatched: 0 } });
});

test("the first entry that is written to it is of the manifest in force, whose text is kept", async () => {
  const { manifest_hash } = answers["product/runtime"].intent;
  await api.post("kpi", { nrr_quarterly: 1.08 });
  const added = (await api.audit()).slice(kept.length).map(({ detail }) => JSON.parse(detail));
  expect(added).toMatchObject([{ manifest_hash, principals: {} }, { values: { nrr_quarterly: 1.08 } }]);
  expect(await api.deps.store.get("manifests", manifest_hash)).toBeDefined();
});

test("what an old apply did not keep stays unproven; its record says so when it is written again", async () => {
  const owner = named("search.depth", "applied");
  const { audit } = (await api.deps.store.get("changes", owner))!.value;
  await api.must("rollback", owner);
  const { value } = (await api.deps.store.get("changes", owner))!;
  const applied = kept.entries.find(
    (entry: { change_id: string; event_type: string }) =>
      entry.change_id === owner && entry.event_type === "change_applied",
  );
  expect(value).toEqual({
    change: expect.objectContaining({ status: "rolled_back" }),
    audit: [...audit, kept.length + 2],
    applied: { entry: applied.id, at: applied.timestamp, kpis: null },
  });
});

test("a guardrail's mark of then is still shown, before and after the record is written again", async () => {
  const marked = named("search.depth", "applied");
  const gates = async () =>
    (await api.change(marked)).gates.filter(({ gate }: { gate: string }) => gate === "guardrail");
  const before = await gates();
  expect(before).toMatchObject([{ state: "warn" }]);
  await api.must("rollback", marked);
  expect(await gates()).toEqual(before);
});

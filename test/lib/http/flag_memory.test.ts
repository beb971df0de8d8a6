/** Flags are cached until the log grows, also by an entry of another process, and equal those evaluated without a cache. */
import { expect, test, vi } from "vitest";
import type { ChangesDeps } from "../../../lib/changes/deps.ts";
import { evaluateFlag, evaluateFlags } from "../../../lib/http/ofrep.ts";
import { readContext } from "../../../lib/http/ofrep_schemas.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { core, type Core } from "../../support/core.ts";
import { rolloutClient, AGENTS, STAGES, totals } from "../../support/rollouts.ts";

const CONTEXTS = [
  { targetingKey: "t1" },
  { targetingKey: "t2", userId: "u1" },
  ...Array.from({ length: 12 }, (_, at) => ({ targetingKey: "t1", userId: `u${at}` })),
].map((context) => readContext(context));

/** Shares of the treated users in the two steps, in ten-thousandths. */
const SHARES = [3000, 6000];
const stages = JSON.stringify({
  ...STAGES,
  steps: SHARES.map((share, at) => ({ ...STAGES.steps[at], share })),
});

/** Evaluates a flag and all flags for each context; `prepare` returns the dependencies for a context. */
async function evaluateAll(deps: ChangesDeps, prepare = (own: ChangesDeps) => own) {
  const results: unknown[] = [];
  for (const context of CONTEXTS) {
    const prepared = prepare(deps);
    const { text = "", tag = "" } = (await evaluateFlags(prepared, context)) ?? {};
    results.push((await evaluateFlag(prepared, "ui.a", context)).text, text, tag);
  }
  return results;
}

/** Returns dependencies without cached flags: the cache belongs to the store object, so a copy of the object has none. */
const withoutCache = (deps: ChangesDeps): ChangesDeps => ({ ...deps, store: { ...deps.store } });

/** Starts two processes on one store. */
async function startTwoProcesses(): Promise<[Core, Core]> {
  const store = memoryStore();
  const intent = { principals: AGENTS };
  return [await core({ store, intent }), await core({ store, intent })];
}

test("a write of one process shows in the next response of both", async () => {
  const [writing, other] = await startTwoProcesses();
  const apply = (fields: object) => writing.bring("applied", { target: "ui.a", ...fields });
  let change_id = "";
  /** Feeds numbers with which the rollout leaves a step. */
  const advance = async (step: number) => {
    const { passHours, feedNow } = rolloutClient(writing, change_id);
    passHours(24);
    await feedNow({ step, ...totals(100_000, SHARES[step]!) });
  };
  const writes: [name: string, write: () => Promise<unknown>][] = [
    ["a value for all", () => apply({ tenant_id: "*", value: '"all"' })],
    ["a tenant's own value", () => apply({ tenant_id: "t1", value: '"own"' })],
    ["a rollout", async () => (change_id = await apply({ tenant_id: "t1", value: '"new"', stages }))],
    ["the next step of the rollout", () => advance(0)],
    ["the last step of the rollout", () => advance(1)],
    ["a rollback", () => writing.must("rollback", change_id)],
    ["another flag", () => apply({ target: "ui.b", tenant_id: "t1", value: "true" })],
  ];
  let before: unknown[] = [];
  for (const [name, write] of writes) {
    await write();
    const uncached = await evaluateAll(writing.deps, withoutCache);
    expect(uncached, name).not.toEqual(before);
    for (const { deps } of [writing, other]) expect(await evaluateAll(deps), name).toEqual(uncached);
    before = uncached;
  }
});

test("until the log grows an evaluation reads the head only", async () => {
  const [{ bring, deps }] = await startTwoProcesses();
  for (const tenant_id of ["*", "t1"]) await bring("applied", { target: "ui.a", tenant_id, value: "1" });
  const first = await evaluateAll(deps);
  const reads = [vi.spyOn(deps.store, "getMany"), vi.spyOn(deps.store, "list"), vi.spyOn(deps.store, "texts")];
  const get = vi.spyOn(deps.store, "get");
  expect(await evaluateAll(deps)).toEqual(first);
  expect(new Set(get.mock.calls.map((call) => call.join("/")))).toEqual(new Set(["meta/chain"]));
  for (const { mock } of reads) expect(mock.calls).toEqual([]);
});

test("an edited record changes no cached result; a broken log is evaluated again", async () => {
  const [{ bring, deps }] = await startTwoProcesses();
  const id = await bring("applied", { target: "ui.a", tenant_id: "t1", value: '"own"' });
  const first = await evaluateAll(deps);
  const edit = (value: unknown) =>
    deps.store.transact(async (tx) => {
      const record = (await tx.get("changes", id))!.value;
      tx.put("changes", id, { ...record, change: { ...record.change, value } });
    });
  await edit("forged");
  expect(await evaluateAll(deps)).toEqual(first);
  const uncached = withoutCache(deps);
  expect((await evaluateAll(uncached))[0]).toContain("withheld");
  await edit("own");
  expect(await evaluateAll(uncached)).toEqual(first);
  deps.integrity.breach = { first_invalid: 1, reason: "edited" };
  for (const text of await evaluateAll(deps)) expect(text).not.toContain("own");
});

/** What a model can find out by its tools: what can be asked of the records, and nothing else. */
import { expect, test } from "vitest";
import { toolbox } from "../../../lib/chat/tools.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { chatService } from "./fixture.ts";

/** A product with a past, and the tools over it. */
async function product() {
  const service = await chatService({ adapter: scriptedAdapter() });
  const { clock, store } = service.deps;
  const day = () => clock.advance(86_400_000);
  const applied = await service.bring("applied", {
    tenant_id: "t1",
    target: "limits.seats",
    risk: "high",
    kpi: "csat",
  });
  day();
  const denied = await service.bring("denied", { tenant_id: "t2", target: "limits.users", proposer: "dana" });
  day();
  const pending = await service.bring("pending_consent", { tenant_id: "t1", target: "ui.theme", proposer: "dana" });
  const tools = toolbox({
    deps: service.deps,
    asked: { model: "m1", by: null, known: false, message_id: "msg_1" },
    conversation: "main",
    mayWrite: false,
    memory: true,
    drafted: [],
    recalled: [],
  });
  const use = async (name: string, input: object = {}) => {
    const told = await tools.use({ id: "1", name, input });
    return told.startsWith("{") ? JSON.parse(told).data : told;
  };
  return { ...service, store, tools, use, ids: { applied, denied, pending } };
}

const idsOf = ({ changes }: { changes: { change_id: string }[] }) => changes.map(({ change_id }) => change_id);

test("changes are found by whom, where, when and how they stand", async () => {
  const { use, ids } = await product();
  const { applied, denied, pending } = ids;
  for (const [filter, found] of [
    [{}, [pending, denied, applied]],
    [{ order: "oldest" }, [applied, denied, pending]],
    [{ tenant_id: "t1" }, [pending, applied]],
    [{ status: "denied" }, [denied]],
    [{ person: "Dana", role: "proposer" }, [pending, denied]],
    [{ person: "ana", role: "approver" }, [applied]],
    [{ person: "ana" }, [denied, applied]],
    [{ target: "limits.*" }, [denied, applied]],
    [{ risk: "high" }, [applied]],
    [{ kpi: "csat" }, [applied]],
    [{ kind: "experiment" }, []],
    [{ event: "applied" }, [applied]],
    [{ event: "denied", from: "2026-01-03T00:00:00Z", to: "2026-01-04T00:00:00Z" }, [denied]],
    [{ from: "2026-01-04T00:00:00Z" }, [pending]],
    [{ drifted: true }, []],
  ] as const) {
    const answer = await use("list_changes", filter);
    expect([filter, idsOf(answer)]).toEqual([filter, found]);
    expect(answer).toMatchObject({ total: found.length, next: null, looked: 3, complete: true });
  }
});

test("changes are told a page at a time", async () => {
  const { use, ids } = await product();
  const first = await use("list_changes", { limit: 2 });
  expect([idsOf(first), first.total, first.next]).toEqual([[ids.pending, ids.denied], 3, ids.denied]);
  expect(idsOf(await use("list_changes", { limit: 2, after: first.next }))).toEqual([ids.applied]);
});

test("a page that has no room for all its changes leads on to the first that it left out", async () => {
  const { use, propose } = await product();
  for (let made = 0; made < 40; made++)
    await propose({ target: `ui.t${made}`, summary: "s".repeat(400), rationale: "r".repeat(1500) });
  for (const [tool, rows] of [
    ["list_changes", "changes"],
    ["list_outcomes", "outcomes"],
  ] as const) {
    const event = tool === "list_outcomes" ? { event: "proposed" } : {};
    const seen: string[] = [];
    let after: string | null = null;
    do {
      const page: Record<string, { change_id: string }[]> & { next: string | null } = await use(tool, {
        ...event,
        limit: 20,
        ...(after !== null && { after }),
      });
      seen.push(...page[rows]!.map(({ change_id }) => change_id));
      after = page.next;
    } while (after !== null);
    expect(new Set(seen).size, tool).toBe(43);
    expect(seen, tool).toHaveLength(43);
  }
});

test("changes are counted by what they have in common", async () => {
  const { use } = await product();
  const counted = async (input: object) =>
    (await use("count_changes", input)).groups.map(({ key, count }: { key: string; count: number }) => [key, count]);
  expect(await counted({ group: "tenant_id" })).toEqual([
    ["t1", 2],
    ["t2", 1],
  ]);
  expect(await counted({ group: "day", event: "denied" })).toEqual([["2026-01-03", 1]]);
  expect(await counted({ group: "denier" })).toEqual([["ana", 1]]);
  expect(await use("count_changes")).toBe("refused: group is required");
});

test("outcomes are told of what was applied, with what was promised", async () => {
  const { use, ids } = await product();
  const { outcomes } = await use("list_outcomes");
  expect(outcomes).toMatchObject([{ change_id: ids.applied, target: "limits.seats", outcome: { kpi: "csat" } }]);
});

test("what waits is told for a person, with what is missing", async () => {
  const { use, ids } = await product();
  const inbox = await use("list_pending", { person: "ana" });
  expect(inbox.waiting_for_you.items).toMatchObject([{ change_id: ids.pending, missing: [{ count: 1 }] }]);
  expect(inbox.totals).toMatchObject({ pending: 1, approved: 0 });
});

test("what happened is told by change, tenant, person, type and time, without hashes", async () => {
  const { use, ids } = await product();
  const told = async (input: object) =>
    (await use("get_audit", input)).entries.map(({ event_type, tenant_id }: Record<string, string>) => [
      event_type,
      tenant_id,
    ]);
  expect(await told({ change_id: ids.denied })).toEqual([
    ["change_proposed", "t2"],
    ["consent_decision", "t2"],
  ]);
  expect(await told({ tenant_id: "t1", person: "ana" })).toEqual([["consent_decision", "t1"]]);
  expect(await told({ type: "change_applied" })).toEqual([["change_applied", "t1"]]);
  expect(await told({ from: "2026-01-04T00:00:00Z" })).toEqual([["change_proposed", "t1"]]);
  expect(JSON.stringify(await use("get_audit"))).not.toMatch(/current_hash|previous_hash/);
});

test("failures are told with what the host said, and what drifts now", async () => {
  const service = await product();
  const { use, deps, ids } = service;
  expect(await use("list_failures")).toMatchObject({ failures: [], drift: [], total: 0 });
  await service.store.transact(async (tx) => {
    const since = deps.clock.iso();
    tx.put("drift", ids.applied, { change_id: ids.applied, state: "drifted", since } as never);
  });
  expect((await use("list_failures")).drift).toMatchObject([{ change_id: ids.applied, state: "drifted" }]);
  expect((await use("list_failures", { tenant_id: "t2" })).drift).toEqual([]);
  expect((await use("list_changes", { drifted: true })).changes).toMatchObject([{ drift: { state: "drifted" } }]);
});

test.each([
  ["list_changes", { limit: 21 }],
  ["list_changes", { status: "open" }],
  ["list_changes", { from: "yesterday" }],
  ["list_changes", { where: "1=1" }],
  ["count_changes", { group: "value" }],
  ["list_outcomes", { verdict: "fine" }],
  ["list_pending", { status: "approved" }],
  ["get_audit", { type: "secret" }],
  ["list_failures", { limit: 0 }],
])("what the records cannot be asked is refused: %s %j", async (name, input) => {
  const { use } = await product();
  expect(await use(name, input)).toMatch(/^refused: /);
});

test("no refusal is long, whatever it is about", async () => {
  const { use } = await product();
  const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`field_${at}`, 1]));
  expect((await use("list_changes", fields)).length).toBeLessThan(1100);
});

test("no tool that reads writes, whatever it is asked", async () => {
  const { use, tools, store, ids } = await product();
  const kept = async () =>
    JSON.stringify([await store.list("audit", { limit: 1000 }), await store.list("changes", { limit: 1000 })]);
  const before = await kept();
  for (const { name } of tools.specs.filter((spec) => !/^(?:draft|suggest)_/.test(spec.name)))
    for (const input of [{}, { change_id: ids.pending }, { group: "status" }, { query: "x" }]) await use(name, input);
  expect(await kept()).toBe(before);
});

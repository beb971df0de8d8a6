/** The model's tools answer from the records, reject invalid input, and read tools write nothing. */
import { expect, test } from "vitest";
import { createToolbox } from "../../../lib/chat/tools.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { chatService } from "./chat_service.ts";

/** Opens a product with an applied, a denied and a pending change, and the model's tools on it. */
async function openProduct() {
  const service = await chatService({ adapter: scriptedAdapter() });
  const { clock, store } = service.deps;
  const waitADay = () => clock.advance(86_400_000);
  const applied = await service.bring("applied", {
    tenant_id: "t1",
    target: "limits.seats",
    risk: "high",
    kpi: "csat",
  });
  waitADay();
  const denied = await service.bring("denied", { tenant_id: "t2", target: "limits.users", proposer: "dana" });
  waitADay();
  const pending = await service.bring("pending_consent", { tenant_id: "t1", target: "ui.theme", proposer: "dana" });
  const tools = createToolbox({
    deps: service.deps,
    caller: null,
    queries: new Set(),
    conversation: "main",
    mayWrite: false,
    memory: true,
    drafted: [],
    recalled: [],
  });
  const use = async (name: string, input: object = {}) => {
    const result = await tools.use({ id: "1", name, input });
    return result.startsWith("{") ? JSON.parse(result).data : result;
  };
  return { ...service, store, tools, use, ids: { applied, denied, pending } };
}

test("find answers with exact totals, pages, groups and the outcome of each row", async () => {
  const { use, ids } = await openProduct();
  const first = await use("find", { query: "", limit: 2 });
  expect(first).toMatchObject({
    total: 3,
    next: ids.denied,
    rows: [{ change_id: ids.pending }, { change_id: ids.denied }],
  });
  const next = await use("find", { query: "", limit: 2, after: first.next });
  expect(next).toMatchObject({ next: null, rows: [{ change_id: ids.applied, verdict: "inconclusive" }] });
  expect((await use("find", { query: "group:tenant" })).groups).toEqual([
    { key: "t1", count: 2 },
    { key: "t2", count: 1 },
  ]);
  expect((await use("find", { query: "denied-by:ana" })).rows).toMatchObject([{ change_id: ids.denied }]);
});

test("a page that cannot hold all its rows continues with the first omitted row", async () => {
  const { use, propose } = await openProduct();
  for (let count = 0; count < 40; count++) await propose({ target: `ui.t${count}`, summary: "s".repeat(490) });
  const ids: string[] = [];
  let after: string | null = null;
  do {
    const page: { rows: { change_id: string }[]; next: string | null } = await use("find", {
      query: "",
      limit: 20,
      ...(after !== null && { after }),
    });
    ids.push(...page.rows.map(({ change_id }) => change_id));
    after = page.next;
  } while (after !== null);
  // The 40 changes, and the three of the product.
  expect(new Set(ids).size).toBe(43);
  expect(ids).toHaveLength(43);
});

test("events are found by change, tenant, person, type and time, without hashes", async () => {
  const { use, ids } = await openProduct();
  const listEvents = async (input: object) =>
    (await use("get_audit", input)).entries.map(({ event_type, tenant_id }: Record<string, string>) => [
      event_type,
      tenant_id,
    ]);
  expect(await listEvents({ change_id: ids.denied })).toEqual([
    ["change_proposed", "t2"],
    ["consent_decision", "t2"],
  ]);
  expect(await listEvents({ tenant_id: "t1", person: "ana" })).toEqual([["consent_decision", "t1"]]);
  expect(await listEvents({ type: "change_applied" })).toEqual([["change_applied", "t1"]]);
  // The third change was proposed on 4 January, two days after the first.
  expect(await listEvents({ from: "2026-01-04T00:00:00Z" })).toEqual([["change_proposed", "t1"]]);
  expect(JSON.stringify(await use("get_audit"))).not.toMatch(/current_hash|previous_hash/);
});

test.each([
  ["an unknown status", "find", { query: "is:open" }],
  ["an unknown field", "find", { query: "colour:red" }],
  ["too many rows", "find", { query: "", limit: 21 }],
  ["an unknown parameter", "find", { query: "", where: "1=1" }],
  ["no query", "find", {}],
  ["an unknown event type", "get_audit", { type: "secret" }],
  ["words for a time", "get_audit", { from: "yesterday" }],
])("a call with %s is rejected: %s %j", async (_, name, input) => {
  const { use } = await openProduct();
  expect(await use(name, input)).toMatch(/^refused: /);
});

test("every error is short, whatever its input", async () => {
  const { use } = await openProduct();
  const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`field_${at}`, 1]));
  expect((await use("find", fields)).length).toBeLessThan(1100);
});

test("no read tool writes, whatever its input", async () => {
  const { use, tools, store, ids } = await openProduct();
  const readStored = async () =>
    JSON.stringify([await store.list("audit", { limit: 1000 }), await store.list("changes", { limit: 1000 })]);
  const before = await readStored();
  for (const { name } of tools.specs.filter((spec) => !/^(?:draft|suggest)_/.test(spec.name)))
    for (const input of [{}, { change_id: ids.pending }, { query: "group:status" }, { query: "x" }])
      await use(name, input);
  expect(await readStored()).toBe(before);
});

/** Memories of the log: the text that is remembered of each kind of entry, of verdicts and of KPI feeds. */
import { expect, test } from "vitest";
import { memories } from "../../../lib/projections/memory.ts";
import type { Memory } from "../../../lib/projections/memory.ts";
import { outcomes } from "../../../lib/projections/outcomes.ts";
import { readProjection } from "../../../lib/projections/snapshot.ts";
import { createVerifiedChangeFinder, addProposalTexts } from "../../../lib/memory/proposal_texts.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { DAY, HOUR } from "../../support/clock.ts";
import { contents, failingStore } from "../../support/failing_store.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import type { TestService } from "../../support/service.ts";
import { chatService } from "../chat/chat_service.ts";

/** Reads the memories of entries and of outcomes. */
async function readMemories({ deps }: TestService): Promise<Memory[]> {
  const fromEntries = await readProjection(deps, memories);
  const fromOutcomes = await readProjection(deps, outcomes);
  const all = [
    ...(await fromEntries.list("proposal_memories", { limit: 100 })),
    ...(await fromEntries.list("record_memories", { limit: 100 })),
    ...(await fromOutcomes.list("outcome_memories", { limit: 100 })),
  ];
  const withTexts = await addProposalTexts(
    all.map(({ value }) => value),
    createVerifiedChangeFinder(deps),
  );
  return withTexts.flatMap((memory) => memory ?? []);
}

test("a proposal and its decisions become memories with person, action and reason", async () => {
  const service = await chatService({ intent: { policy: { required_approvers: { standard: 2 } } } });
  const { change_id } = await service.propose({ proposer: "pat", rationale: "customers ask for it" });
  await service.post("approve", { change_id, approver: "ana", note: "the pilot went well" });
  await service.post("deny", { change_id, approver: "bo" });
  expect(await readMemories(service)).toEqual([
    {
      kind: "proposal",
      author: "pat",
      text: "“Show the banner” (ui.banner for tenant t1): proposed by pat as a standard change; rationale: “customers ask for it”",
      at: service.deps.clock.iso(),
      ref: change_id,
    },
    {
      kind: "decision",
      author: "ana",
      text: "“Show the banner” (ui.banner for tenant t1): approved by ana, 1 of 2 consents: “the pilot went well”",
      at: service.deps.clock.iso(),
      ref: change_id,
    },
    {
      kind: "decision",
      author: "bo",
      text: "“Show the banner” (ui.banner for tenant t1): denied by bo",
      at: service.deps.clock.iso(),
      ref: change_id,
    },
  ]);
});

test("a late note is remembered and found until its change is erased", async () => {
  const service = await chatService();
  const { change_id } = await service.propose({ rationale: "" });
  await service.post("deny", { change_id, approver: "ana" });
  await service.post("note", { change_id, actor: "bo", item: "rationale", note: "Support asked for a zebra crossing" });
  const text =
    "“Show the banner” (ui.banner for tenant t1): rationale added late by bo: “Support asked for a zebra crossing”";
  expect((await readMemories(service)).at(-1)).toEqual({
    kind: "decision",
    author: "bo",
    text,
    at: service.deps.clock.iso(),
    ref: change_id,
  });
  const first = async (query: string) => {
    const { body } = await service.get(`/api/memory/search?q=${encodeURIComponent(query)}`);
    return body.results[0]?.text;
  };
  for (const query of ["zebra crossing", "late rationale", "why did support ask"])
    expect(await first(query), query).toBe(text);
  await service.post("erase", { change_id, actor: "dpo" });
  expect(await first("zebra crossing")).toBeUndefined();
});

test("applies and rollbacks are remembered, failed ones with their cause", async () => {
  const adapter = scriptedAdapter();
  const service = await chatService({ adapter });
  const change_id = await service.bring("approved");
  adapter.on("apply", fails("disk is full"), 1);
  await service.act("apply", change_id);
  await service.must("apply", change_id);
  adapter.on("rollback", fails("file is locked"), 1);
  await service.act("rollback", change_id);
  await service.must("rollback", change_id);
  const memories = await readMemories(service);
  expect(
    memories.map(({ kind, text }) => [kind, text.replace("“Show the banner” (ui.banner for tenant t1): ", "")]),
  ).toEqual([
    ["proposal", "proposed as a standard change"],
    ["decision", "approved by ana, 1 of 1 consent"],
    ["outcome", "apply failed in apply: “disk is full”"],
    ["outcome", "applied"],
    ["rollback", "rollback failed in rollback: “file is locked”"],
    ["rollback", "rolled back"],
  ]);
});

test("a verdict is remembered once, when its outcome ends", async () => {
  const service = await chatService();
  await service.post("kpi", { csat: 4 });
  const change_id = await service.bring("applied", { kpi: "csat", expected_delta_k: 0.5 });
  const verdicts = async () => (await readMemories(service)).filter(({ kind }) => kind === "verdict");
  const at = new Date(service.deps.clock.now() + 7 * DAY).toISOString();
  await service.post("kpi", { csat: 3.5 });
  expect(await verdicts()).toEqual([]);
  service.deps.clock.advance(8 * DAY);
  // The verdict compares 3.5 with 4: a feed after the horizon of 7 days does not change it.
  await service.post("kpi", { csat: 4.25 });
  const verdict: Memory = {
    kind: "verdict",
    author: null,
    text: "“Show the banner” (ui.banner for tenant t1): regressed, its KPI got worse, the final verdict; csat: expected to rise by 0.5, it fell by 0.5 (worse), a KPI of the whole product.",
    at,
    ref: change_id,
  };
  expect(await verdicts()).toEqual([verdict]);
  const found = (await service.search("banner verdict")).body.results;
  expect(found[0]).toMatchObject({ kind: "verdict", text: verdict.text });
  await service.post("kpi", { csat: 4.6 });
  await service.must("rollback", change_id);
  expect(await verdicts()).toEqual([verdict]);
});

test("KPI feeds become one memory a day with the latest values of that day", async () => {
  const service = await chatService();
  await service.post("kpi", { csat: 4 });
  service.deps.clock.advance(HOUR);
  await service.post("kpi", { incident_rate: 0.5 });
  service.deps.clock.advance(DAY);
  await service.post("kpi", { csat: 4.5 });
  const memories = await readMemories(service);
  // E is 0.5 while each KPI has its first value, which is its baseline.
  expect(memories.map(({ kind, text, ref }) => [kind, text, ref])).toEqual([
    ["kpi", "KPIs of 2026-01-02: csat 4, incident_rate 0.5; E 0.5", "2026-01-02"],
    ["kpi", expect.stringMatching(/^KPIs of 2026-01-03: csat 4.5; E 0\.\d+$/), "2026-01-03"],
  ]);
});

test("an entry that could not be written is not remembered", async () => {
  const store = failingStore(memoryStore());
  const service = await chatService({ store });
  const { change_id } = await service.propose();
  const before = await contents(store);
  store.fail();
  expect((await service.act("approve", change_id)).status).toBe(503);
  expect((await service.post("kpi", { csat: 4 })).status).toBe(503);
  store.recover();
  expect((await readMemories(service)).map(({ kind }) => kind)).toEqual(["proposal"]);
  expect(await contents(store)).toEqual(before);
});

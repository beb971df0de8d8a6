import { expect, test } from "vitest";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { type ChatService, chatService } from "./fixture.ts";

const INTENT = {
  kpis: { csat: { baseline: 4, target: 5 } },
  policy: { required_approvers: { standard: 2 } },
};

/** A product with one change of each kind of fate. */
async function lived(): Promise<ChatService & { ids: Record<"pending" | "applied" | "failed", string> }> {
  const adapter = scriptedAdapter();
  const service = await chatService({ intent: INTENT, adapter });
  await service.post("kpi", { csat: 4.5 });
  const approved = async (target: string) => {
    const { change_id } = await service.propose({ target, rationale: `${target} is asked for`, proposer: "pat" });
    await service.post("approve", { change_id, approver: "ana", note: "agreed with support" });
    await service.post("approve", { change_id, approver: "bo" });
    return change_id as string;
  };
  const applied = await approved("ui.theme");
  await service.must("apply", applied);
  const failed = await approved("limits.users");
  adapter.on("apply", fails("disk is full"), 1);
  await service.act("apply", failed);
  const { change_id: pending } = await service.propose({
    target: "crm.followup",
    rationale: "customers wait too long",
  });
  return { ...service, ids: { pending, applied, failed } };
}

const reply = async (service: ChatService, message: string) => (await service.say(message)).body.reply;
const ids = (citations: { kind: string; id: string }[], kind: string) =>
  citations.filter((citation) => citation.kind === kind).map(({ id }) => id);

test("status tells the counts, the state and the chain, in both languages", async () => {
  const service = await lived();
  const english = await reply(service, "What is the status?");
  expect(english.mode).toBe("rules");
  expect(english.text).toContain("acme-crm 2026.11: changes 1 waiting for consent, 1 approved, 1 applied.");
  expect(english.text).toContain("E 0.75");
  expect(english.text).toMatch(/The audit log has \d+ entries/);
  const chinese = await reply(service, "现在状态怎么样？");
  expect(chinese.text).toContain("变更 待审批 1，已批准 1，已应用 1");
  expect(ids(english.citations, "audit")).toEqual(ids(chinese.citations, "audit"));
  expect(ids(english.citations, "intent")).toEqual([service.deps.product!.manifest_hash]);
});

test.each(["What is pending?", "which changes wait for approval", "有哪些待审批的变更？"])("%s", async (question) => {
  const service = await lived();
  const { text, citations } = await reply(service, question);
  expect(text).toContain(service.ids.pending);
  expect(text).toMatch(/0 (of|\/) 2/);
  expect(ids(citations, "change")).toEqual([service.ids.pending]);
  expect(text).toMatch(/1 approved change waits|1 个已批准的变更/);
});

test.each(["why was ui.theme changed?", "为什么改 ui.theme？", "tell me about ui.theme"])("%s", async (question) => {
  const service = await lived();
  const { text, citations } = await reply(service, question);
  for (const part of [service.ids.applied, "ui.theme is asked for", "pat", "bo"]) expect(text).toContain(part);
  expect(ids(citations, "change")).toEqual([service.ids.applied]);
  const { audit_entries } = await service.change(service.ids.applied);
  expect(ids(citations, "audit")).toEqual(audit_entries.map(({ id }: { id: number }) => String(id)));
});

test("a change is explained by its id, with what blocks it", async () => {
  const service = await lived();
  const { text } = await reply(service, `explain ${service.ids.pending}`);
  expect(text).toContain("customers wait too long");
  expect(text).toContain("0 of 2 consents");
});

test("why without a change asks which, and names the newest", async () => {
  const service = await lived();
  const { text, citations } = await reply(service, "why?");
  expect(text).toMatch(/^Which change\?/);
  expect(ids(citations, "change")).toHaveLength(3);
  const unknown = await reply(service, "why chg_00000000-0000-7000-8000-ffffffffffff");
  expect(unknown.text).toMatch(/^No change on record has the id chg_0{8}-/);
});

test.each(["How are our KPIs?", "what about csat", "指标如何？"])("%s", async (question) => {
  const service = await lived();
  const { text, citations } = await reply(service, question);
  expect(text).toContain("csat 4.5");
  expect(text).toContain("0.75");
  expect(ids(citations, "kpi")).toEqual(["csat"]);
});

test.each(["What failed?", "were there errors", "哪些失败了？"])("%s", async (question) => {
  const service = await lived();
  const { text, citations } = await reply(service, question);
  expect(text).toContain("disk is full");
  expect(ids(citations, "change")).toEqual([service.ids.failed]);
  const failure = (await service.audit()).find(({ event_type }) => event_type === "change_apply_failed");
  expect(ids(citations, "audit")).toEqual([String(failure!.id)]);
});

test("drift under way is told among the failures", async () => {
  const service = await lived();
  await service.deps.store.transact((tx) =>
    tx.put("drift", service.ids.applied, {
      change_id: service.ids.applied,
      target: "ui.theme",
      tenant_id: "t1",
      state: "missing",
      host: "absent",
      since: "2026-01-02T00:00:00.000Z",
    }),
  );
  expect((await reply(service, "what failed?")).text).toContain("ui.theme (t1): missing on the host since 2026-01-02");
});

test.each([
  ["help", "Ask me about"],
  ["What can you do?", "Ask me about"],
  ["帮助", "可以问我"],
])("%s", async (question, answer) => {
  const service = await lived();
  const { text, citations } = await reply(service, question);
  expect(text).toContain(answer);
  expect(citations).toEqual([]);
});

test("what has no rule is looked up in memory, and cited", async () => {
  const service = await lived();
  const { body } = await service.say("who agreed with support?");
  expect(body.reply.text).toContain("From memory:");
  expect(body.reply.text).toContain("agreed with support");
  expect(body.injected).toBe(true);
  expect(ids(body.reply.citations, "memory")).toEqual(body.memories.map(({ id }: { id: string }) => id));
});

test("what is nowhere is said to be nowhere, and nothing is made up", async () => {
  const service = await lived();
  const { body } = await service.say("xylophone quartet");
  expect(body.reply.text).toMatch(/^I do not understand this question\.\nI do not understand “xylophone”, “quartet”\./);
  expect(body).toMatchObject({ injected: false, memories: [], reply: { citations: [] } });
});

test("the same question on the same records has the same answer", async () => {
  const service = await lived();
  const answers = [];
  for (let i = 0; i < 3; i++)
    answers.push((await service.say("what failed and what is pending?", { memory: "off" })).body.reply.text);
  expect(new Set(answers).size).toBe(1);
});

test("an empty product says so", async () => {
  const service = await chatService();
  expect((await reply(service, "status")).text).toContain("no changes yet");
  expect((await reply(service, "status")).text).toContain("M no data");
  expect((await reply(service, "pending")).text).toBe("Nothing waits for consent.");
  expect((await reply(service, "kpis")).text).toBe("No KPI has been fed yet.");
  expect((await reply(service, "failures")).text).toContain("Failures and drift: none.");
  expect((await reply(service, "why")).text).toBe("There is no change yet.");
});

test("without an intent chat works and says what is off", async () => {
  const service = await chatService({ intent: null });
  for (const question of ["status", "pending", "what failed", "why", "kpis"]) {
    const { status, body } = await service.say(question);
    expect(status).toBe(200);
    expect(body.reply.text).toContain("--product-intent PATH");
  }
  expect((await reply(service, "help")).text).toContain("Ask me about");
  expect((await reply(service, "有哪些待审批？")).text).toContain("产品运行时未启用");
});

test.each([
  ["why", "Rationale: none was given; said late by bo on 2026-01-02 03:04: “Support asked”."],
  ["为什么", "理由：未给出；bo 事后于 2026-01-02 03:04 补充：“Support asked”。"],
])("%s: what was said late of a change is told as that", async (asked, told) => {
  const service = await chatService();
  const { change_id } = await service.propose({ rationale: "" });
  await service.post("deny", { change_id, approver: "ana", note: "no" });
  await service.post("note", { change_id, actor: "bo", item: "rationale", note: "Support asked" });
  expect((await reply(service, `${asked} ${change_id}`)).text).toContain(told);
});

test.each(["x@y.example", "a+b", "c++", "#42", "50%", "~x", "a/b"])(
  "a name that is on no record may be %s",
  async (name) => {
    const service = await lived();
    for (const message of [
      `what was approved by ${name}?`,
      `changes of tenant ${name}`,
      `which changes have ${name} in them`,
    ])
      expect((await service.say(message)).status).toBe(200);
  },
);

test("of words that mean nothing else twelve are looked for, all in one change; the others are named", async () => {
  const service = await chatService();
  const words = Array.from({ length: 14 }, (_, index) => `zebra${"abcdefghijklmn"[index]}`);
  const { change_id } = await service.propose({ summary: words.join(" ") });
  await service.propose({ summary: words.slice(0, 6).join(" "), target: "ui.other" });
  const { text } = await reply(service, `Which changes are about ${words.join(" ")}?`);
  expect(text).toContain("“zebram”, “zebran”");
  expect(text).not.toContain("“zebral”");
  expect(text).toContain(change_id);
  expect(text.split("From memory:")[0]).not.toContain("ui.other");
});

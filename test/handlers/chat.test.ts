/** Tests POST /api/chat: its fields, its cycle, memories in replies, authors, media types, and failures of the store. */
import { expect, test } from "vitest";
import { chatAnswer } from "../../lib/chat/reply.ts";
import type { Log } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { chatService, readMemories } from "../lib/chat/chat_service.ts";
import { failingStore } from "../support/failing_store.ts";
import { unsureStore } from "../support/unsure_store.ts";

const provenance = async (service: Awaited<ReturnType<typeof chatService>>) =>
  (await service.get("/api/state")).body.provenance.chat;

test("the response to a message has exactly the declared fields", async () => {
  const service = await chatService();
  const { status, body, headers } = await service.say("status", { author: "ana", conversation_id: "c1" });
  expect(status).toBe(200);
  expect(chatAnswer.strict().parse(body)).toEqual(body);
  expect(body).toMatchObject({
    message_id: "msg_0000000000000001",
    reply: { id: "msg_0000000000000002", mode: "rules", at: service.deps.clock.iso() },
    injected: false,
    memories: [],
    drafts: [],
    tick: 1,
  });
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("vary")).toBe("accept");
});

test.each(["message", "text", "content"])("the message may be called %s, in a form and in JSON", async (name) => {
  const service = await chatService();
  const form = await service.post("/api/chat", { [name]: "help" });
  const json = await service.json("/api/chat", { [name]: "help" });
  expect([form.status, json.status]).toEqual([200, 200]);
  expect(form.body.reply.text).toBe(json.body.reply.text);
});

test("an unknown field is 400, and the error names it", async () => {
  const service = await chatService();
  expect(await service.say("help", { mood: "fine" })).toMatchObject({
    status: 400,
    body: { fields: [{ field: "mood" }] },
  });
});

test.each([
  [{}, "message"],
  [{ message: "" }, "message"],
  [{ message: " \n " }, "message"],
  [{ message: "a".repeat(8001) }, "message"],
  [{ text: "" }, "text"],
  [{ message: "hi", author: "llm:gpt" }, "author"],
  [{ message: "hi", author: "policy:minor" }, "author"],
  [{ message: "hi", conversation_id: "a\nb" }, "conversation_id"],
  [{ message: "hi", memory: "maybe" }, "memory"],
])("%o is rejected with an error for %s, and not stored", async (fields, field) => {
  const service = await chatService();
  const { status, body } = await service.post("/api/chat", fields as Record<string, string>);
  expect([status, body.code]).toEqual([400, "invalid_field"]);
  expect(body.fields.map((error: { field: string }) => error.field)).toContain(field);
  expect(await service.deps.store.list("chat", { limit: 10 })).toEqual([]);
});

test("a message of 8000 characters is accepted", async () => {
  const service = await chatService();
  expect((await service.say("a".repeat(8000))).status).toBe(200);
});

test("each message triggers a cycle, and the response has its tick", async () => {
  const service = await chatService();
  const ticks = [];
  for (let i = 0; i < 3; i++) ticks.push((await service.say("help")).body.tick);
  expect(ticks).toEqual([1, 2, 3]);
  expect((await service.get("/api/state")).body.tick).toBe(3);
});

test("a cycle that never ends does not delay the reply", async () => {
  const service = await chatService();
  void service.deps.mutex("cycle", () => new Promise(() => {}));
  const { status, body } = await service.say("help");
  expect([status, body.tick]).toEqual([200, 0]);
});

test("a statement is remembered, and a later question about it is answered from memory", async () => {
  const service = await chatService();
  await service.say("The launch of project Zebra is on Friday", { author: "ana" });
  const { body } = await service.say("when is Zebra launched?", { author: "ana" });
  expect(body.injected).toBe(true);
  expect(body.memories).toEqual([
    expect.objectContaining({
      kind: "chat",
      basis: "said",
      author: "ana",
      text: "said by ana, unverified: “The launch of project Zebra is on Friday”",
      ref: "msg_0000000000000001",
    }),
  ]);
  expect(body.reply.text).toContain("project Zebra is on Friday");
  expect(await provenance(service)).toEqual({
    injected: true,
    reply_id: body.reply.id,
    memory_ids: [body.memories[0].id],
    mode: "rules",
    at: body.reply.at,
  });
});

/** Returns the part of an answer that comes from memory. */
const fromMemory = (text: string): string => /(?:From memory:|记忆中：)[^]*/.exec(text)?.[0] ?? text;

test("a repeated question has the same answer, and is not stored as a memory itself", async () => {
  const service = await chatService();
  await service.say("The launch of project Zebra is on Friday", { author: "ana" });
  const answers = new Set<string>();
  for (let round = 0; round < 8; round++)
    for (const question of ["when is the launch?", "When is the LAUNCH"])
      answers.add(fromMemory((await service.say(question, { author: "ana" })).body.reply.text));
  expect([...answers]).toEqual([
    "From memory:\n- 2026-01-02, said by ana, unverified: “The launch of project Zebra is on Friday”",
  ]);
  expect(await readMemories(service.deps.store)).toHaveLength(1);
});

test("a repeated Chinese question has the same answer", async () => {
  const service = await chatService();
  await service.say("斑马项目周五上线", { author: "ana" });
  const answers = new Set<string>();
  for (let round = 0; round < 8; round++)
    answers.add(fromMemory((await service.say("斑马项目什么时候上线？", { author: "ana" })).body.reply.text));
  expect([...answers]).toEqual(["From memory:\n- 2026-01-02, said by ana, unverified: “斑马项目周五上线”"]);
});

test("the same statement by two authors is recalled twice", async () => {
  const service = await chatService();
  for (const author of ["ana", "bo"]) await service.say("Zebra is late", { author, conversation_id: "zoo" });
  const { memories } = (await service.say("is Zebra on time?", { conversation_id: "zoo" })).body;
  expect(memories.map(({ text }: { text: string }) => text)).toEqual([
    "said by bo, unverified: “Zebra is late”",
    "said by ana, unverified: “Zebra is late”",
  ]);
});

test("memory=off neither reads nor stores memories, as provenance shows", async () => {
  const service = await chatService();
  await service.say("The launch of project Zebra is on Friday");
  const { body } = await service.say("when is Zebra launched?", { memory: "off" });
  expect(body).toMatchObject({ injected: false, memories: [] });
  expect(body.reply.text).not.toContain("Friday");
  expect(await provenance(service)).toMatchObject({ injected: false, memory_ids: [], reply_id: body.reply.id });
  expect(await readMemories(service.deps.store)).toHaveLength(1);
});

test("behind a trusted proxy the author can only be the person that it names", async () => {
  const service = await chatService({ identityHeader: "x-user" });
  const other = await service.say("help", { author: "bo" }, { "x-user": "ana" });
  expect([other.status, other.body.code]).toEqual([403, "identity_mismatch"]);
  await service.say("help", {}, { "x-user": "ana" });
  await service.say("help", { author: "ANA" }, { "x-user": "ana" });
  const { text } = await service.get("/api/chat/history", { "x-user": "Ana" });
  expect([...text.matchAll(/<span>(.*?)<\/span>/g)].map(([, author]) => author)).toEqual(["ana", "ANA"]);
});

test("a chat message from a page of another site is rejected", async () => {
  const service = await chatService();
  const { status, body } = await service.say("help", {}, { "sec-fetch-site": "cross-site" });
  expect([status, body.code]).toEqual([403, "cross_site"]);
});

test("chat needs the admin token only if everything is protected", async () => {
  const open = await chatService({ adminToken: "hunter2hunter2" });
  expect((await open.say("help")).status).toBe(200);
  const guarded = await chatService({ adminToken: "hunter2hunter2", protectAll: true });
  expect((await guarded.say("help")).status).toBe(401);
  expect((await guarded.say("", {}, { "x-svc-admin-token": "wrong" })).status).toBe(401);
  expect((await guarded.say("help", {}, { "x-svc-admin-token": "hunter2hunter2" })).status).toBe(200);
});

test("with Accept: text/html the response is the message and its reply as list items", async () => {
  const service = await chatService();
  const { status, text, headers } = await service.say("<b>status</b>", {}, { accept: "text/html" });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("vary")).toBe("accept");
  expect([...text.matchAll(/<li id="(msg_\d+)" data-role="(\w+)"/g)].map(([, id, role]) => [id, role])).toEqual([
    ["msg_0000000000000001", "user"],
    ["msg_0000000000000002", "assistant"],
  ]);
  expect(text).toContain("&lt;b&gt;status&lt;/b&gt;");
  const both = await service.say("status", {}, { accept: "application/json, text/html" });
  expect(both.headers.get("content-type")).toBe("application/json");
});

test("with a failing store a message is not acknowledged, and not stored", async () => {
  const store = failingStore(memoryStore());
  const service = await chatService({ store });
  store.fail();
  const { status, body } = await service.say("help");
  expect([status, body.code]).toEqual([503, "store_unavailable"]);
  store.recover();
  expect(await store.list("chat", { limit: 10 })).toEqual([]);
});

test.each([
  ["was stored", 1],
  ["was not stored", 0],
])(
  "a message that %s by a commit without an answer is not stored again, and the next works",
  async (_, storedCount) => {
    const store = unsureStore(memoryStore());
    const service = await chatService({ store });
    store.loseAnswer(storedCount === 1);
    expect((await service.say("help", { author: "ana" })).status).toBe(500);
    expect(await store.list("chat", { limit: 10 })).toHaveLength(storedCount);
    expect((await service.say("help", { author: "ana" })).status).toBe(200);
  },
);

test("chat replies with a broken audit chain, and says from which entry", async () => {
  const service = await chatService();
  service.deps.integrity.breach = { first_invalid: 3, reason: "edited" };
  const { status, body } = await service.say("status");
  expect(status).toBe(200);
  expect(body.reply.text).toContain("The audit log does not verify from entry 3 on");
});

test("the service's log has no text of messages, also after a failure", async () => {
  const lines: unknown[] = [];
  const record = (...line: unknown[]) => void lines.push(line);
  const log: Log = { info: record, warn: record, error: record };
  const store = failingStore(memoryStore());
  const service = await chatService({ store, log });
  await service.say("the secret is swordfish", { author: "ana" });
  store.fail(() => new Error("disk"));
  expect((await service.say("the secret is swordfish")).status).toBe(500);
  expect(JSON.stringify(lines)).not.toContain("swordfish");
  expect(lines.length).toBeGreaterThan(0);
});

/** Tests GET /api/chat/history: its markup, its pages, its conversations, and what people behind a proxy can read. */
import { expect, test } from "vitest";
import { addTurn, MAX_TURNS } from "../../lib/memory/history.ts";
import { chatService, type ChatService } from "../lib/chat/chat_service.ts";
import { writeInBatches } from "../support/write_in_batches.ts";
import { START } from "../support/clock.ts";

const readHistory = async (service: ChatService, query = "") => {
  const { text } = await service.get(`/api/chat/history${query}`);
  return {
    ids: [...text.matchAll(/<li id="(msg_\d+)"/g)].map(([, id]) => Number(id!.slice(4))),
    next: /data-next="(.*?)"/.exec(text)?.[1] ?? null,
    text,
  };
};

test("the history is an HTML fragment without scripts", async () => {
  const service = await chatService();
  await service.say("status", { author: "ana" });
  const { status, text, headers } = await service.get("/api/chat/history?author=ana");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(text).toMatch(/^<ol role="log"><li .*<\/li><\/ol>$/s);
  expect(text).toContain(
    `<li id="msg_0000000000000001" data-role="user"><header><span>ana</span> <time datetime="${START}">${START}</time></header><p>status</p></li>`,
  );
  expect(text).toContain('data-role="assistant" data-mode="rules"');
  expect(text).toContain('<cite data-kind="state">1</cite>');
});

test("a reply worded by a language model is marked as such", async () => {
  const llm = { model: "m", complete: async () => ({ text: "<b>Fine</b>", toolCalls: [] }) };
  const service = await chatService({ intent: null, llm });
  await service.say("status");
  const { text } = await readHistory(service);
  expect(text).toMatch(
    /data-role="assistant" data-mode="llm"><header><em>Worded by a language model, unverified<\/em> <time [^>]*>[^<]*<\/time><\/header><p>&lt;b&gt;Fine/,
  );
});

test("the history before the first message is an empty list", async () => {
  const service = await chatService({ intent: null });
  expect((await readHistory(service)).text).toBe('<ol role="log"></ol>');
});

test.each([
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "</p></li></ol><h1>",
  "'onmouseover='alert(1)",
  "<!-- ",
  "&lt;script&gt;",
  "\u0000\u001b[31m",
])("%o is escaped as message, author and conversation", async (markup) => {
  const service = await chatService();
  // An author or conversation with control characters is rejected, so those are sent in the message only.
  const printable = !/\p{Cc}/u.test(markup);
  await service.say(markup, printable ? { author: markup, conversation_id: markup } : {});
  const { text } = await readHistory(service, printable ? `?conversation_id=${encodeURIComponent(markup)}` : "");
  const tags = [...text.matchAll(/<\/?([a-z!][a-z0-9-]*)/gi)].map(([, tag]) => tag);
  // No tag is in the fragment except those that the service itself writes.
  expect(new Set(tags)).toEqual(
    new Set(["ol", "li", "header", "span", "time", "p"].filter((tag) => tags.includes(tag))),
  );
  expect(text).not.toMatch(/<[^>]*\son\w+=/i);
  expect(text).not.toContain("\u0000");
  if (markup.startsWith("&")) expect(text).toContain("&amp;lt;script&amp;gt;");
});

test("pages go back from the newest message, each in chronological order", async () => {
  const service = await chatService();
  // Each message has a reply, so there are eight ids.
  for (let i = 0; i < 4; i++) await service.say(`message ${i}`);
  const last = await readHistory(service, "?limit=3");
  expect(last.ids).toEqual([6, 7, 8]);
  const middle = await readHistory(service, `?limit=3&before=${last.next}`);
  expect(middle.ids).toEqual([3, 4, 5]);
  const first = await readHistory(service, `?limit=3&before=${middle.next}`);
  expect(first).toMatchObject({ ids: [1, 2], next: null });
});

test("a conversation has only its own messages, also if another id begins with its id", async () => {
  const service = await chatService();
  for (const conversation_id of ["a", "ab", "a", "b", "a"]) await service.say("help", { conversation_id });
  // Each message has a reply: the ids of `a` are 1, 2, 5, 6, 9 and 10.
  const newest = await readHistory(service, "?conversation_id=a&limit=4");
  expect(newest.ids).toEqual([5, 6, 9, 10]);
  expect(await readHistory(service, `?conversation_id=a&limit=4&before=${newest.next}`)).toMatchObject({
    ids: [1, 2],
    next: null,
  });
  expect((await readHistory(service, "?conversation_id=c")).ids).toEqual([]);
});

test("a message without author and conversation is in the conversation `main`", async () => {
  const service = await chatService();
  await service.say("help");
  expect((await readHistory(service, "?conversation_id=main")).ids).toEqual([1, 2]);
  expect((await readHistory(service)).ids).toEqual([1, 2]);
});

test("a named author has a conversation of their own, in any spelling of the name", async () => {
  const service = await chatService();
  await service.say("help", { author: "ana" });
  await service.say("help", { author: "bo" });
  await service.say("help", { author: "ＡＮＡ" });
  await service.say("help");
  await service.say("help", { author: "ana", conversation_id: "team" });
  expect((await readHistory(service, "?author=Ana")).ids).toEqual([1, 2, 5, 6]);
  expect((await readHistory(service, "?author=bo")).ids).toEqual([3, 4]);
  expect((await readHistory(service, "?author=cy")).ids).toEqual([]);
  expect((await readHistory(service, "?conversation_id=main")).ids).toEqual([7, 8]);
  expect((await readHistory(service)).ids, "without a proxy a name hides nothing").toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
  ]);
  expect((await readHistory(service, "?author=ana&conversation_id=team")).ids).toEqual([9, 10]);
});

test("behind a proxy people can read and write only their own private conversation", async () => {
  const service = await chatService({ identityHeader: "x-user" });
  const as = (name: string) => ({ "x-user": name });
  await service.say("the budget is cut", {}, as("ana"));
  await service.say("hello", {}, as("bo"));
  const readAs = async (name: string, query = "") => service.get(`/api/chat/history${query}`, as(name));
  expect((await readAs("ana")).text).toContain("the budget is cut");
  expect((await readAs("bo")).text).not.toContain("the budget is cut");
  const other = await readAs("bo", "?author=ana");
  expect([other.status, other.body.code]).toEqual([403, "identity_mismatch"]);
  const { conversation_id } = (await service.deps.store.list("chat", { limit: 1 }))[0]!.value;
  const byName = await readAs("bo", `?conversation_id=${conversation_id}`);
  expect([byName.status, byName.body.code]).toEqual([400, "invalid_field"]);
  const written = await service.say("as ana", { conversation_id }, as("bo"));
  expect([written.status, written.body.code]).toEqual([400, "invalid_field"]);
});

test("an author with a name of the maximum length has a conversation", async () => {
  const service = await chatService();
  const author = "ж".repeat(200);
  expect((await service.say("help", { author })).status).toBe(200);
  expect((await readHistory(service, `?author=${encodeURIComponent(author)}`)).ids).toEqual([1, 2]);
});

test.each(["limit=0", "limit=501", "limit=x", "before=chg_1", "before=msg_1", "conversation_id=", "author="])(
  "%s is rejected",
  async (query) => {
    const service = await chatService();
    const { status, body } = await service.get(`/api/chat/history?${query}`);
    expect([status, body.code]).toEqual([400, "invalid_field"]);
  },
);

test("beyond MAX_TURNS the oldest message is deleted, from its conversation too", async () => {
  const service = await chatService();
  const turn = { role: "user" as const, author: null, text: "x", at: START };
  const conversation = (index: number): string => (index === 0 ? "old" : "main");
  await writeInBatches(service.deps.store, MAX_TURNS, (tx, index) =>
    addTurn(tx, { ...turn, conversation_id: conversation(index) }),
  );
  expect((await readHistory(service, "?conversation_id=old")).ids).toEqual([1]);
  await service.deps.store.transact((tx) => addTurn(tx, { ...turn, conversation_id: "main" }));
  expect((await readHistory(service, "?conversation_id=old")).ids).toEqual([]);
  expect(await service.deps.store.list("chat", { limit: 100_000 })).toHaveLength(MAX_TURNS);
  expect(await service.deps.store.list("chat_places", { limit: 100_000 })).toHaveLength(MAX_TURNS);
});

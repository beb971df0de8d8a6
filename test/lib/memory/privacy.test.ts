/** A conversation is private: its messages are found only from within it. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { remember } from "../../../lib/projections/memory.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { START } from "../../support/clock.ts";
import { asAgent, mcpClient, withAgents } from "../../support/mcp.ts";
import { chatService, readMemories } from "../chat/chat_service.ts";
import { using, withModel } from "../chat/with_model.ts";

const SECRET = "The zebra contract is worth ninety";
const texts = (results: { text: string }[]): string[] => results.map(({ text }) => text);

test("memory search finds messages of the caller's own conversation only", async () => {
  const service = await chatService();
  await service.say(SECRET, { author: "ana" });
  const search = async (author?: string) => texts((await service.search("zebra contract", 10, author)).body.results);
  expect(await search("Ana")).toEqual([`said by ana, unverified: “${SECRET}”`]);
  expect(await search("bo")).toEqual([]);
  expect(await search()).toEqual([]);
});

test("behind a proxy a person cannot search another person's conversation", async () => {
  const service = await chatService({ identityHeader: "x-user" });
  await service.say(SECRET, {}, { "x-user": "ana" });
  const search = (query: string, person: string) =>
    service.get(`/api/memory/search?q=zebra${query}`, { "x-user": person });
  expect((await search("", "ana")).body.results).toHaveLength(1);
  expect((await search("", "bo")).body.results).toEqual([]);
  expect((await search("", "")).body.results).toEqual([]);
  const other = await search("&author=ana", "bo");
  expect([other.status, other.body.code]).toEqual([403, "identity_mismatch"]);
  expect((await search("&conversation_id=person:ana", "bo")).status).toBe(400);
});

test("a named conversation is searched by its name, and a personal one is not searched with it", async () => {
  const service = await chatService();
  await service.say(SECRET, { author: "ana", conversation_id: "board" });
  await service.say("The zebra is mine", { author: "ana" });
  const { results } = (await service.get("/api/memory/search?q=zebra&author=ana&conversation_id=board")).body;
  expect(texts(results)).toEqual([`said by ana, unverified: “${SECRET}”`]);
});

test("a reply uses messages of its own conversation only", async () => {
  const service = await chatService();
  await service.say(SECRET, { author: "ana" });
  const ask = async (fields: Record<string, string>) =>
    (await service.say("what is the zebra contract worth?", fields)).body;
  for (const fields of [{ author: "bo" }, { author: "ana", conversation_id: "board" }, {}]) {
    const { memories, reply } = await ask(fields as Record<string, string>);
    expect(memories).toEqual([]);
    expect(reply.text).not.toContain("ninety");
  }
  expect((await ask({ author: "ana" })).reply.text).toContain("ninety");
});

test("the model finds messages of the current conversation only", async () => {
  const search = using({ name: "search_memory", input: { query: "zebra contract" } });
  // The first request to the model is the message with the secret, which needs no search.
  const service = await withModel((received, round) => (round === 0 ? { text: "noted" } : search(received, round)));
  await service.say(SECRET, { author: "ana" });
  const { body } = await service.say("help me", { author: "bo" });
  expect(body.memories).toEqual([]);
  expect(JSON.stringify(service.received.slice(1))).not.toContain("ninety");
  expect((await service.say("help me", { author: "ana" })).body.reply.text).toContain("ninety");
});

test("an agent finds no message of a conversation", async () => {
  const service = await chatService({ intent: withAgents() });
  await service.say(SECRET);
  await service.say(SECRET, { author: "ana" });
  const agent = mcpClient(checkedFetch(app(service.deps)), asAgent);
  expect(await agent.tool("search_memory", { query: "zebra" })).toMatchObject({ results: [] });
});

test("questions are not remembered", async () => {
  const service = await chatService();
  await service.say("When is the zebra launched?");
  await service.say("斑马项目什么时候上线？");
  await service.say("The zebra is launched on Friday. Is that right?");
  expect((await readMemories(service.deps.store)).map(({ text }) => text)).toEqual([
    "The zebra is launched on Friday. Is that right?",
  ]);
});

test("a stored message without a conversation is never found", async () => {
  const service = await chatService();
  await service.deps.store.transact((tx) =>
    remember(tx, { kind: "chat", text: SECRET, author: "ana", at: START, ref: null }),
  );
  expect((await service.search("zebra", 10, "ana")).body.results).toEqual([]);
  expect((await service.search("zebra")).body.results).toEqual([]);
});

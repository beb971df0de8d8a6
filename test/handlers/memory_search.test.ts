/** Tests GET /api/memory/search: its results, their order and number, and its parameters. */
import { expect, test } from "vitest";
import { foundMemorySchema } from "../../lib/memory/recall.ts";
import { DAY } from "../support/clock.ts";
import { chatService } from "../lib/chat/chat_service.ts";

test("a search returns matching memories, the best first", async () => {
  const service = await chatService();
  const change_id = await service.bring("applied", { summary: "Raise the price of the premium plan" });
  await service.bring("approved", { target: "ui.theme", summary: "A darker theme" });
  const { status, body } = await service.search("premium price");
  expect(status).toBe(200);
  expect(body.query).toBe("premium price");
  expect(body.results.map(({ kind, ref }: { kind: string; ref: string }) => [kind, ref])).toEqual([
    ["outcome", change_id],
    ["proposal", change_id],
    ["decision", change_id],
  ]);
  for (const result of body.results)
    expect(result).toEqual({
      id: expect.stringMatching(/^mem_\d{16}$/),
      kind: expect.any(String),
      basis: "record",
      author: result.kind === "decision" ? "ana" : null,
      text: expect.stringContaining("premium plan"),
      at: service.deps.clock.iso(),
      score: expect.any(Number),
      ref: change_id,
    });
});

test("the API description shows a memory id as the service makes it", () => {
  expect(foundMemorySchema.shape.id.meta()?.["examples"]).toEqual([expect.stringMatching(/^mem_\d{16}$/)]);
});

test("of memories with the same text the newer comes first", async () => {
  const service = await chatService();
  await service.say("the banner is blue");
  service.deps.clock.advance(60 * DAY);
  await service.say("the banner is blue");
  const { results } = (await service.search("banner blue")).body;
  // The ids between are those of the replies.
  expect(results.map(({ ref }: { ref: string }) => ref)).toEqual(["msg_0000000000000003", "msg_0000000000000001"]);
  expect(results[0].score).toBeGreaterThan(results[1].score);
});

test("a search returns ten results unless the limit is another", async () => {
  const service = await chatService();
  for (let i = 0; i < 12; i++) await service.say(`the banner is blue ${i}`);
  expect((await service.get("/api/memory/search?q=banner")).body.results).toHaveLength(10);
  expect((await service.search("banner", 3)).body.results).toHaveLength(3);
  expect((await service.search("banner", 100)).body.results).toHaveLength(12);
});

test("a search works without an intent", async () => {
  const service = await chatService({ intent: null });
  await service.say("今天调整了会员价格");
  const { results } = (await service.search("会员价格")).body;
  expect(results[0]).toMatchObject({
    kind: "chat",
    author: null,
    text: "said by somebody, unverified: “今天调整了会员价格”",
  });
  expect((await service.search("天气")).body.results).toEqual([]);
});

test.each(["", "q=", "q=%20", "q=a&limit=0", "q=a&limit=101", "q=a&limit=ten", "q=a&q=b", `q=${"a".repeat(1001)}`])(
  "the query %j is rejected",
  async (query) => {
    const service = await chatService();
    const { status, body } = await service.get(`/api/memory/search?${query}`);
    expect([status, body.code]).toEqual([400, "invalid_field"]);
  },
);

/** The input of the model and its requests are limited, whatever the records and the model contain. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { inLong } from "../../support/run_length.ts";
import { form } from "../../support/requests.ts";
import type { Received } from "./model_server.ts";
import { listResults, using, withModel } from "./with_model.ts";

/** Returns the snapshot of the product in the prompt; requires that it is within its limit. */
function parseSnapshot({ body }: Received) {
  const line = (body.messages.at(-1).content as string).split("\n").find((text) => text.startsWith("{"))!;
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(24_000);
  return JSON.parse(line);
}

test("a page of rows ends within the tool's limit, and `next` continues there", async () => {
  const service = await withModel(using({ name: "find", input: { query: "", limit: 20 } }));
  const ids: string[] = [];
  for (let at = 0; at < 20; at++)
    ids.push((await service.propose({ target: `limits.n${at}`, summary: "more seats ".repeat(40) })).change_id);
  await service.say("what was proposed?");
  const [result] = listResults(service.received) as [string];
  expect(Buffer.byteLength(result)).toBeLessThanOrEqual(16_000);
  const { rows, next } = JSON.parse(result).data;
  const listedIds = rows.map(({ change_id }: { change_id: string }) => change_id);
  expect(listedIds).toEqual(ids.toReversed().slice(0, listedIds.length));
  expect(next).toBe(listedIds.at(-1));
  expect(listedIds.length).toBeLessThan(20);
});

test("a change that is longer than the tool's limit is shortened, and stays JSON", async () => {
  let change_id = "";
  const service = await withModel((...args) => using({ name: "get_change", input: { change_id } })(...args));
  const longText = "because ".repeat(490);
  ({ change_id } = await service.propose({ rationale: longText, value: JSON.stringify({ text: longText.repeat(3) }) }));
  await service.say("what is it about?");
  const [result] = listResults(service.received) as [string];
  expect(Buffer.byteLength(result)).toBeLessThanOrEqual(16_000);
  expect(JSON.parse(result).data).toMatchObject({ change_id });
});

test("ten long notes leave pending changes, KPIs and failures in the snapshot", async () => {
  const service = await withModel(() => ({ text: "ok" }), {
    intent: { policy: { required_approvers: { standard: 2 } } },
  });
  await service.post("kpi", { csat: 4 });
  const ids: string[] = [];
  for (let at = 0; at < 10; at++) {
    const { change_id } = await service.propose({ target: `limits.n${at}`, rationale: "because ".repeat(490) });
    await service.post("approve", { change_id, approver: "ana", note: "a long note ".repeat(330) });
    ids.push(change_id);
  }
  await service.say("how do we stand?");
  const { waiting, kpis, failures } = parseSnapshot(service.received[0]!);
  expect(waiting.pending.map(({ change_id }: { change_id: string }) => change_id)).toEqual(ids);
  expect(kpis.parts[0]).toMatchObject({ kpi: "csat", value: 4 });
  expect(failures).toEqual({ failures: [], is_drift_known: false, drift: [] });
});

inLong(test)(
  "200 concurrent chats all get a reply, and at most four of them call the model at a time",
  async () => {
    let [runningCalls, maxRunningCalls, answeredChats] = [0, 0, 0];
    const delayedAnswers: (() => void)[] = [];
    // The model answers after four calls are running and one chat was answered without the model, since it is busy.
    const sendAnswers = (): void => {
      if (answeredChats >= 1 && maxRunningCalls >= 4) for (const answer of delayedAnswers.splice(0)) answer();
    };
    const service = await withModel(() => (response) => {
      maxRunningCalls = Math.max(maxRunningCalls, ++runningCalls);
      response.on("close", () => runningCalls--);
      delayedAnswers.push(() => response.end(JSON.stringify({ choices: [{ message: { content: "by the model" } }] })));
      sendAnswers();
    });
    const chats = Array.from({ length: 200 }, async (_, at) => {
      const { status, body } = await service.say("what is pending?", { conversation_id: `c${at}` });
      answeredChats++;
      sendAnswers();
      return { status, ...body.reply };
    });
    const replies = await Promise.all(chats);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(200);
    expect(maxRunningCalls).toBe(4);
    const modelReplies = replies.filter(({ mode }) => mode === "llm");
    expect(modelReplies.length).toBeGreaterThanOrEqual(4);
    for (const { mode, text } of replies)
      expect(text).toMatch(
        mode === "llm" ? /^by the model$/ : /did not answer \(too many ask it at once\).*\nQuery: /s,
      );
    const metrics = (await service.get("/api/metrics")).text;
    expect(metrics).toContain(`countersign_llm_calls_total ${modelReplies.length}`);
    expect(metrics).toContain(`countersign_llm_calls_refused_total{bound="busy"} ${200 - modelReplies.length}`);
  },
  120_000,
);

test("after the hourly limit of calls the rules answer, and the capability says until when", async () => {
  const service = await withModel(() => ({ text: "by the model" }), { llmCallsPerHour: 2 });
  const replies = [await service.say("status?"), await service.say("status?"), await service.say("status?")];
  expect(replies.map(({ body }) => body.reply.mode)).toEqual(["llm", "llm", "rules"]);
  const nextCallAt = new Date(service.deps.clock.now() + 3_600_000).toISOString();
  expect(replies[2]!.body.reply.text).toContain(
    `its calls of an hour (2) are used up; it is asked again from ${nextCallAt}`,
  );
  const readLlmCapability = async () =>
    (await service.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "llm");
  expect(await readLlmCapability()).toMatchObject({ status: "degraded", reason: expect.stringContaining(nextCallAt) });
  service.deps.clock.advance(3_600_000);
  expect(await readLlmCapability()).toBeUndefined();
  expect((await service.say("status?")).body.reply.mode).toBe("llm");
});

test("a chat whose client has disconnected makes no more calls to the model", async () => {
  const disconnect = new AbortController();
  const service = await withModel(() => () => disconnect.abort());
  await app(service.deps)(new Request(form("/api/chat", { message: "status?" }), { signal: disconnect.signal }));
  await service.received[0]!.closed;
  expect(service.deps.llm!.usage!()).toMatchObject({ calls: 1, under_way: 0 });
});

/** Retries of contended or throttled work end within five seconds. */
import { expect, test } from "vitest";
import { dynamoDbClient } from "../../../../lib/store/dynamodb/client.ts";
import { Contended } from "../../../../lib/store/engine/attempt.ts";
import { type Pacing, retryContended } from "../../../../lib/store/engine/pacing.ts";
import { StoreBusy } from "../../../../lib/store/store.ts";

/** A pacing whose clock advances by each sleep, and by `requestMs` with every request. */
function movingPacing(requestMs: number): Pacing & { elapsedMs: () => number; countRequest: () => void } {
  let now = 0;
  return {
    random: () => 0.99,
    clock: { now: () => now, sleep: async (ms) => void (now += ms) },
    elapsedMs: () => now,
    countRequest: () => void (now += requestMs),
  };
}

test("contended work fails within 5 s, even if tries are left", async () => {
  const pacing = movingPacing(400);
  const contended = async (): Promise<never> => {
    pacing.countRequest();
    throw new Contended("another was faster");
  };
  await expect(retryContended(contended, pacing, 1000)).rejects.toThrow(StoreBusy);
  expect(pacing.elapsedMs()).toBeGreaterThan(3_000);
  expect(pacing.elapsedMs()).toBeLessThanOrEqual(5_000);
});

test("a write to a DynamoDB table that keeps throttling fails as busy within 5 s", async () => {
  const pacing = movingPacing(10);
  const fetch = async (): Promise<Response> => {
    pacing.countRequest();
    return new Response('{"__type":"x#ThrottlingException","message":"slow down"}', { status: 400 });
  };
  const access = { table: "t", region: "eu-central-1", credentials: { accessKeyId: "a", secretAccessKey: "b" }, fetch };
  const client = dynamoDbClient(access, { answer: 5_000, patience: 5_000, findOut: 30_000 }, pacing);
  await expect(client.call("TransactWriteItems", {}, 30_000)).rejects.toThrow(StoreBusy);
  expect(pacing.elapsedMs()).toBeGreaterThan(3_000);
  expect(pacing.elapsedMs()).toBeLessThanOrEqual(5_000);
});

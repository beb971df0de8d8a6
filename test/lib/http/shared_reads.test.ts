/** Concurrent equal reads share one computation, which starts after the calls, so that no caller gets older data. */
import { expect, test } from "vitest";
import { createSharedReads } from "../../../lib/http/shared_reads.ts";
import { openDeps } from "../../support/deps.ts";
import { makeService } from "../../support/service.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";

/** Creates turns of the event loop that begin when the test calls `begin`. */
function createTurns() {
  const waiting: (() => void)[] = [];
  return {
    nextTurn: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    async begin() {
      for (const resume of waiting.splice(0)) resume();
      await Promise.resolve();
    },
  };
}

test("callers in one turn of the event loop share one read, which starts after their calls", async () => {
  const { nextTurn, begin } = createTurns();
  const read = createSharedReads<number>(nextTurn);
  let now = 1;
  let computations = 0;
  const compute = async () => (computations++, now);
  const first = read("a", compute);
  now = 2;
  const second = read("a", compute);
  const other = read("b", compute);
  await begin();
  expect(await Promise.all([first, second, other])).toEqual([2, 2, 2]);
  expect(computations).toBe(2);
});

test("a caller during a read gets a read of its own", async () => {
  const { nextTurn, begin } = createTurns();
  const read = createSharedReads<number>(nextTurn);
  let now = 1;
  let end = () => {};
  const slow = () => {
    const valueAtStart = now;
    return new Promise<number>((resolve) => (end = () => resolve(valueAtStart)));
  };
  const first = read("a", slow);
  await begin();
  now = 2;
  const second = read("a", async () => now);
  await begin();
  end();
  expect(await Promise.all([first, second])).toEqual([1, 2]);
});

test("an error goes to all callers of a read, and the next call reads again", async () => {
  const { nextTurn, begin } = createTurns();
  const read = createSharedReads<number>(nextTurn);
  const failing = [read("a", () => Promise.reject(new Error("no"))), read("a", async () => 1)];
  const outcomes = Promise.allSettled(failing);
  await begin();
  expect((await outcomes).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const later = read("a", async () => 2);
  await begin();
  expect(await later).toBe(2);
});

/** Opens a service whose reads are shared; `reads` counts the computations of its state. */
async function openSharingService() {
  const memory = memoryStore();
  let reads = 0;
  const get: Store["get"] = (collection, id) => {
    // Only the state reads this record.
    if (id === "chat_provenance") reads++;
    return memory.get(collection, id);
  };
  const { nextTurn, begin } = createTurns();
  const deps = await openDeps({ store: { ...memory, get }, waitForNextTurn: nextTurn });
  return { service: makeService(deps), begin, reads: () => reads };
}

test("equal concurrent requests share one computation, with their own ids; others do not", async () => {
  const { service, begin, reads } = await openSharingService();
  const proposed = await service.propose();
  const otherProposed = await service.propose();
  const states = [1, 2, 3].map(() => service.get("/api/state"));
  const pages = [proposed, otherProposed].map(({ change_id }) => service.get(`/api/product/changes/${change_id}`));
  const audits = [1, 2].map((limit) => service.get(`/api/product/audit?limit=${limit}`));
  // Lets the requests reach their shared reads.
  await new Promise((resolve) => setImmediate(resolve));
  await begin();
  const answers = await Promise.all([...states, ...pages, ...audits]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(reads()).toBe(1);
  const ids = answers.map(({ headers }) => headers.get("x-request-id"));
  expect(new Set(ids).size).toBe(answers.length);
  const changeIds = (await Promise.all(pages)).map(({ body }) => body.change_id);
  expect(changeIds).toEqual([proposed.change_id, otherProposed.change_id]);
  expect((await Promise.all(audits)).map(({ body }) => body.entries.length)).toEqual([1, 2]);
});

test("a long response is complete for every caller, whether shared or not", async () => {
  const { service, begin } = await openSharingService();
  const value = `${"plain ".repeat(3000)}naïve 改变 🙂`;
  const { change_id } = await service.propose({ value: JSON.stringify(value) });
  const path = `/api/product/changes/${change_id}`;
  const requests = [1, 2, 3].map(() => service.get(path));
  // Lets the requests reach their shared reads.
  await new Promise((resolve) => setImmediate(resolve));
  await begin();
  const answers = await Promise.all(requests);
  for (const { body, headers } of answers)
    expect([body.value, headers.get("content-type")]).toEqual([value, "application/json"]);
  const { waitForNextTurn: _, ...deps } = service.deps;
  const unshared = await makeService(deps as typeof service.deps).get(path);
  expect(answers.map(({ text }) => text)).toEqual([unshared.text, unshared.text, unshared.text]);
});

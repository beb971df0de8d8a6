/** Reads that ask at once are answered by one; none is answered by what was looked at before it asked. */
import { expect, test } from "vitest";
import { createSharedReads } from "../../../lib/http/shared_reads.ts";
import { openDeps } from "../../support/deps.ts";
import { makeService } from "../../support/service.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";

/** Turns that come when they are asked to. */
function turns() {
  const waiting: (() => void)[] = [];
  return {
    nextTurn: () => new Promise<void>((resolve) => void waiting.push(resolve)),
    async come() {
      for (const go of waiting.splice(0)) go();
      await Promise.resolve();
    },
  };
}

test("callers in one turn of the event loop share one read, which starts after their calls", async () => {
  const { nextTurn, come } = turns();
  const read = createSharedReads<number>(nextTurn);
  let now = 1;
  let looks = 0;
  const look = async () => (looks++, now);
  const first = read("a", look);
  now = 2;
  const second = read("a", look);
  const other = read("b", look);
  await come();
  expect(await Promise.all([first, second, other])).toEqual([2, 2, 2]);
  expect(looks).toBe(2);
});

test("a caller during a read gets a read of its own", async () => {
  const { nextTurn, come } = turns();
  const read = createSharedReads<number>(nextTurn);
  let now = 1;
  let end = () => {};
  const slow = () => {
    const seen = now;
    return new Promise<number>((resolve) => (end = () => resolve(seen)));
  };
  const first = read("a", slow);
  await come();
  now = 2;
  const second = read("a", async () => now);
  await come();
  end();
  expect(await Promise.all([first, second])).toEqual([1, 2]);
});

test("an error goes to all callers of a read, and the next call reads again", async () => {
  const { nextTurn, come } = turns();
  const read = createSharedReads<number>(nextTurn);
  const failing = [read("a", () => Promise.reject(new Error("no"))), read("a", async () => 1)];
  const reported = Promise.allSettled(failing);
  await come();
  expect((await reported).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const later = read("a", async () => 2);
  await come();
  expect(await later).toBe(2);
});

/** A service whose reads are shared, and how often its state was read from the store. */
async function sharing() {
  const kept = memoryStore();
  let reads = 0;
  const get: Store["get"] = (collection, id) => {
    if (id === "chat_provenance") reads++;
    return kept.get(collection, id);
  };
  const { nextTurn, come } = turns();
  const deps = await openDeps({ store: { ...kept, get }, waitForNextTurn: nextTurn });
  return { service: makeService(deps), come, reads: () => reads };
}

test("equal concurrent requests are computed once, each with its own id; other pages are not", async () => {
  const { service, come, reads } = await sharing();
  const proposed = await service.propose();
  const another = await service.propose();
  const states = [1, 2, 3].map(() => service.get("/api/state"));
  const pages = [proposed, another].map(({ change_id }) => service.get(`/api/product/changes/${change_id}`));
  const audits = [1, 2].map((limit) => service.get(`/api/product/audit?limit=${limit}`));
  // A request is on its way for some turns of its own.
  await new Promise((resolve) => setImmediate(resolve));
  await come();
  const answers = await Promise.all([...states, ...pages, ...audits]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(reads()).toBe(1);
  const ids = answers.map(({ headers }) => headers.get("x-request-id"));
  expect(new Set(ids).size).toBe(answers.length);
  const shown = (await Promise.all(pages)).map(({ body }) => body.change_id);
  expect(shown).toEqual([proposed.change_id, another.change_id]);
  expect((await Promise.all(audits)).map(({ body }) => body.entries.length)).toEqual([1, 2]);
});

test("a long response is complete for every reader, whether shared or not", async () => {
  const { service, come } = await sharing();
  const value = `${"plain ".repeat(3000)}naïve 改变 🙂`;
  const { change_id } = await service.propose({ value: JSON.stringify(value) });
  const path = `/api/product/changes/${change_id}`;
  const asked = [1, 2, 3].map(() => service.get(path));
  // A request is on its way for some turns of its own.
  await new Promise((resolve) => setImmediate(resolve));
  await come();
  const answers = await Promise.all(asked);
  for (const { body, headers } of answers)
    expect([body.value, headers.get("content-type")]).toEqual([value, "application/json"]);
  const { waitForNextTurn: _, ...deps } = service.deps;
  const alone = await makeService(deps as typeof service.deps).get(path);
  expect(answers.map(({ text }) => text)).toEqual([alone.text, alone.text, alone.text]);
});

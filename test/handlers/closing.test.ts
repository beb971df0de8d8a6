/** Tests that closing a service waits for its work before it closes the store. */
import { expect, test } from "vitest";
import { countersign } from "../../handlers/index.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { PROPOSAL } from "../support/client.ts";
import { manifest } from "../support/intents.ts";
import { form } from "../support/requests.ts";

test("closing waits for open requests, and then closes the store", async () => {
  const base = memoryStore();
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let paused = false;
  const events: string[] = [];
  const store: Store = {
    ...base,
    async transact(decide) {
      if (paused) await released;
      return base.transact(decide);
    },
    async close() {
      events.push("closed");
      await base.close();
    },
  };
  const service = await countersign({ store, intent: manifest({}) });
  paused = true;
  const answer = service.fetch(form("/api/product/propose", PROPOSAL)).then(({ status }) => {
    events.push(`answered ${status}`);
  });
  const closing = service.close();
  release();
  await Promise.all([answer, closing]);
  expect(events).toEqual(["answered 201", "closed"]);
});

test("closing waits for a running cycle and for requests that arrive meanwhile", async () => {
  const base = memoryStore();
  const events: string[] = [];
  const store: Store = {
    ...base,
    async close() {
      events.push("closed");
      await base.close();
    },
  };
  const service = await countersign({ store, intent: manifest({}) });
  const cycle = service.cycle().then(() => events.push("cycle"));
  const closing = service.close();
  const late = service.fetch(form("/api/product/propose", PROPOSAL)).then(({ status }) => events.push(`${status}`));
  await Promise.all([cycle, closing, late]);
  // The cycle and the request may end in either order.
  expect([events.slice(0, 2).toSorted(), events[2]]).toEqual([["201", "cycle"], "closed"]);
});

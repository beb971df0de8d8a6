import { expect, test } from "vitest";
import { countersign } from "../../handlers/index.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { PROPOSAL } from "../support/client.ts";
import { manifest } from "../support/intents.ts";
import { form } from "../support/requests.ts";

test("closing waits for what is being answered, and closes the store after it", async () => {
  const base = memoryStore();
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  let holds = false;
  const happened: string[] = [];
  const store: Store = {
    ...base,
    async transact(decide) {
      if (holds) await held;
      return base.transact(decide);
    },
    async close() {
      happened.push("closed");
      await base.close();
    },
  };
  const service = await countersign({ store, intent: manifest({}) });
  holds = true;
  const answer = service.fetch(form("/api/product/propose", PROPOSAL)).then(({ status }) => {
    happened.push(`answered ${status}`);
  });
  const closing = service.close();
  release();
  await Promise.all([answer, closing]);
  expect(happened).toEqual(["answered 201", "closed"]);
});

test("closing waits for a cycle, too, and for what came while it waited", async () => {
  const base = memoryStore();
  const happened: string[] = [];
  const store: Store = {
    ...base,
    async close() {
      happened.push("closed");
      await base.close();
    },
  };
  const service = await countersign({ store, intent: manifest({}) });
  const cycle = service.cycle().then(() => happened.push("cycle"));
  const closing = service.close();
  const late = service.fetch(form("/api/product/propose", PROPOSAL)).then(({ status }) => happened.push(`${status}`));
  await Promise.all([cycle, closing, late]);
  expect(happened.at(-1)).toBe("closed");
  expect(happened).toHaveLength(3);
});

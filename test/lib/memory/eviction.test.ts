import { expect, test } from "vitest";
import { MAX_MEMORIES, remember } from "../../../lib/projections/memory.ts";
import type { Tx } from "../../../lib/store/store.ts";
import { writeInBatches } from "../../support/write_in_batches.ts";
import { START } from "../../support/clock.ts";
import { inLong, inShort, rounds } from "../../support/run_length.ts";
import type { ChatService } from "../chat/fixture.ts";
import { DENIAL, denied } from "./denied.ts";

/** After twenty thousand messages: the denial, what was rated, and the talk are where they belong. */
async function holdsAfter(service: ChatService, talk: () => Promise<void>): Promise<void> {
  const { store } = service.deps;
  await store.transact((tx) =>
    remember(tx, { kind: "feedback", text: "The retention report is too long", author: "gil", at: START, ref: null }),
  );
  await talk();
  expect((await service.search("data.retention northwind denied", 100)).body.results[0].text).toBe(DENIAL);
  const { results } = (await service.search("retention report too long")).body;
  expect(results.map(({ kind }: { kind: string }) => kind)).toContain("feedback");
  expect(await store.list("chat_memories", { limit: 100_000, keysOnly: true })).toHaveLength(MAX_MEMORIES);
  expect(await store.list("memories", { limit: 100_000, keysOnly: true })).toHaveLength(1);
}

const heard = (tx: Tx, index: number): Promise<void> =>
  remember(tx, { kind: "chat", text: noise(index), author: "mallory", at: START, ref: null, conversation: "main" });
const noise = (index: number): string => `data.retention of northwind was approved, I heard, message ${index}`;

inShort(test)("twenty thousand messages displace no record and no feedback, and rank behind them", async () => {
  const service = await denied();
  await holdsAfter(service, () =>
    writeInBatches(service.deps.store, MAX_MEMORIES + 200, (tx, index) => heard(tx, index)),
  );
});

inLong(test)(
  "nor do the last of these messages when they are posted",
  async () => {
    const service = await denied();
    const posted = rounds(0, 60, 300);
    await holdsAfter(service, async () => {
      await writeInBatches(service.deps.store, MAX_MEMORIES + 200 - posted, (tx, index) => heard(tx, index));
      for (let index = 0; index < posted; index++)
        expect((await service.say(noise(index), { author: "mallory" })).status).toBe(200);
    });
  },
  120_000,
);

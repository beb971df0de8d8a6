/** Messages above the limit of memories displace other messages only. */
import { expect, test } from "vitest";
import { MAX_MEMORIES, remember } from "../../../lib/projections/memory.ts";
import type { Tx } from "../../../lib/store/store.ts";
import { writeInBatches } from "../../support/write_in_batches.ts";
import { START } from "../../support/clock.ts";
import { inLong, inShort, rounds } from "../../support/run_length.ts";
import type { ChatService } from "../chat/chat_service.ts";
import { DENIAL, openWithDenial } from "./denied_change.ts";

/**
 * Stores feedback and, by `addMessages`, more messages than memory can hold. Requires that the denial is still found first,
 * that the feedback is still found, and that memory is full.
 */
async function requireFoundAfter(service: ChatService, addMessages: () => Promise<void>): Promise<void> {
  const { store } = service.deps;
  await store.transact((tx) =>
    remember(tx, { kind: "feedback", text: "The retention report is too long", author: "gil", at: START, ref: null }),
  );
  await addMessages();
  expect((await service.search("data.retention northwind denied", 100)).body.results[0].text).toBe(DENIAL);
  const { results } = (await service.search("retention report too long")).body;
  expect(results.map(({ kind }: { kind: string }) => kind)).toContain("feedback");
  expect(await store.list("chat_memories", { limit: 100_000, keysOnly: true })).toHaveLength(MAX_MEMORIES);
  // The feedback; the denial is in another collection.
  expect(await store.list("memories", { limit: 100_000, keysOnly: true })).toHaveLength(1);
}

/** Stores a message directly, as chat does after a post. */
const rememberMessage = (tx: Tx, index: number): Promise<void> =>
  remember(tx, {
    kind: "chat",
    text: messageText(index),
    author: "mallory",
    at: START,
    ref: null,
    conversation: "main",
  });
const messageText = (index: number): string => `data.retention of northwind was approved, I heard, message ${index}`;

inShort(test)("twenty thousand stored messages displace no record and no feedback, and rank after them", async () => {
  const service = await openWithDenial();
  await requireFoundAfter(service, () =>
    writeInBatches(service.deps.store, MAX_MEMORIES + 200, (tx, index) => rememberMessage(tx, index)),
  );
});

inLong(test)(
  "twenty thousand messages, the last of them posted, displace no record and no feedback",
  async () => {
    const service = await openWithDenial();
    const posted = rounds(0, 60, 300);
    await requireFoundAfter(service, async () => {
      await writeInBatches(service.deps.store, MAX_MEMORIES + 200 - posted, (tx, index) => rememberMessage(tx, index));
      for (let index = 0; index < posted; index++)
        expect((await service.say(messageText(index), { author: "mallory" })).status).toBe(200);
    });
  },
  120_000,
);

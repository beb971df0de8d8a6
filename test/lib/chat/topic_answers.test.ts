/** The chat's answer to the question whether the log is intact. */
import { expect, test } from "vitest";
import { countEntries } from "../../../lib/chat/topic_answers.ts";
import { verifyChain } from "../../../lib/audit/verify.ts";
import { MINUTE } from "../../support/clock.ts";
import { chatService } from "./chat_service.ts";

test("one entry of the log is counted in the singular", () => {
  expect([0, 1, 2].map(countEntries)).toEqual(["0 entries", "1 entry", "2 entries"]);
});

test("the verified part of the log includes the entries that cycles verified", async () => {
  const service = await chatService();
  await verifyChain(service.deps);
  for (let round = 0; round < 2; round++) {
    await service.bring("approved", { target: `ui.${round}` });
    service.deps.clock.advance(MINUTE);
    await service.post("/api/action/run-now");
  }
  const { length } = (await service.get("/api/product/audit?limit=1")).body;
  expect((await service.say("Is the log intact?")).body.reply.text).toContain(`verified: entries 1 to ${length}.`);
});

/** The built-in responder's answer to a question about the reason of a rollback. */
import { expect, test } from "vitest";
import { chatService } from "./chat_service.ts";

test("why a guardrail rolled a change back is answered with a change that was rolled back", async () => {
  const guardrails = [{ kpi: "csat", max_regression: 0.1, action: "rollback" }];
  const service = await chatService({ intent: { policy: { guardrails } } });
  await service.post("/api/product/kpi", { csat: 4 });
  const rolledBack = await service.bring("applied", {
    target: "checkout.retries",
    summary: "Retry a payment five times",
    rationale: "Payments that fail once mostly succeed later, so customers of every plan need not start again.",
    kpi: "csat",
  });
  // Its text matches the question better, but it was not rolled back.
  const pending = await service.bring("pending_consent", {
    target: "checkout.guardrail",
    summary: "Roll back checkout retries by a guardrail",
    rationale: "The guardrail of checkout would roll back retries of checkout.",
  });
  // A fall of more than 0.1: the guardrail rolls back in the next cycle.
  await service.post("/api/product/kpi", { csat: 1 });
  await service.post("/api/action/run-now");
  const { reply } = (await service.say("Why did the guardrail roll back the checkout retries?")).body;
  const cited = reply.citations.flatMap(({ kind, id }: { kind: string; id: string }) => (kind === "change" ? id : []));
  expect(cited).toEqual([rolledBack, pending]);
  expect(reply.text).toContain("The first of them:\n“Retry a payment five times”");
});

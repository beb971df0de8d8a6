/** Calls of the client that are tested on every platform. */
import { CountersignError, createClient } from "../../../lib/client/client.ts";

/** Proposes a change, applies it too early, approves it, and waits for the decision; returns the results. */
export async function makeCalls(baseUrl: string): Promise<string[]> {
  const client = createClient({ baseUrl });
  const { change_id, status } = await client.post("/api/product/propose", {
    body: { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Schönes 中文", value: { on: true } },
  });
  const early = await client.post("/api/product/apply", { body: { change_id } }).catch((error: unknown) => error);
  const code = early instanceof CountersignError ? early.code : String(early);
  await client.post("/api/product/approve", { body: { change_id, approver: "ana" } });
  const decided = await client.waitForDecision(change_id, { signal: AbortSignal.timeout(10_000) });
  return [status, code, decided.status, decided.summary];
}

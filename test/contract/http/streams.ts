/** Streamed responses: a host passes on each chunk immediately. */
import { expect, onTestFinished, test } from "vitest";
import { readEvents } from "../../support/worker/event_reader.ts";
import type { Open } from "../http_contract.ts";

export function streamRules(open: Open): void {
  test("events arrive while the stream is open, and a client can resume from the last id", async () => {
    const api = await open();
    const listen = async (headers?: Record<string, string>) => {
      const reader = await readEvents(`${api.origin}/api/events`, headers);
      onTestFinished(reader.stop);
      return reader;
    };
    const first = await listen();
    const change_id = await api.bring("pending_consent");
    expect((await first.next("audit")).data).toMatchObject({ event_type: "intent_in_force" });
    const proposed = await first.next("audit");
    expect(proposed.data).toMatchObject({ event_type: "change_proposed", change_id });
    first.stop();
    await api.must("approve", change_id);
    const second = await listen({ "last-event-id": proposed.id });
    expect((await second.next("audit")).data).toMatchObject({ event_type: "consent_decision", change_id });
  });
}

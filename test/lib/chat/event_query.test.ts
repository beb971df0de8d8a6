/** Queries of log entries by time, event type and person. */
import { expect, test } from "vitest";
import { queryEvents } from "../../../lib/chat/event_query.ts";
import { DAY } from "../../support/clock.ts";
import { countKeys, randomLog } from "../find/random_log.ts";

test("entries are found by time and by person, and counted by type", async () => {
  // Thirty changes of the seed 6.
  const product = await randomLog(6, 30);
  const entries = await product.audit("?limit=1000");
  const from = entries[20].timestamp;
  const to = new Date(Date.parse(from) + 5 * DAY).toISOString();
  const expected = entries.filter(({ timestamp, tenant }) => timestamp >= from && timestamp < to && tenant === "t1");
  expect(expected.length).toBeGreaterThan(2);
  const answer = await queryEvents(product.deps.store, { from, to, tenant_id: "t1", limit: 2 });
  expect(answer.total).toBe(expected.length);
  expect(answer.entries.map(({ id }) => id)).toEqual(expected.slice(-2).map(({ id }) => id));
  expect(answer.counts).toEqual(countKeys(expected.map(({ event_type }) => event_type)));
  expect(answer.complete).toBe(true);
  const byDana = await queryEvents(product.deps.store, { person: "DANA", limit: 1000 });
  const expectedByDana = entries.filter(({ detail, event_type }) => {
    const { proposer, approver, actor } = JSON.parse(detail);
    if (event_type === "change_proposed") return proposer === "dana";
    return (event_type === "consent_decision" ? approver : actor) === "dana";
  });
  expect(expectedByDana.length).toBeGreaterThan(0);
  expect(byDana.entries.map(({ id }) => id)).toEqual(expectedByDana.map(({ id }) => id));
});

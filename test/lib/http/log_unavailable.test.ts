/** Lines in the log of the process (not the audit log) while the store accepts no writes. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { PROPOSAL } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import { failingStore } from "../../support/failing_store.ts";
import { service } from "../../support/service.ts";

test("rejected requests are logged at most once a second, with their number since the last line", async () => {
  const lines: Record<string, unknown>[] = [];
  const addLine = (message: string, fields?: object) => {
    if (message === "request refused") lines.push({ ...fields });
  };
  const store = failingStore(memoryStore());
  const api = await service({ store, log: { info: () => {}, warn: addLine, error: addLine } });
  const sendRejected = async (times: number) => {
    for (let count = 0; count < times; count++) expect((await api.post("propose", PROPOSAL)).status).toBe(503);
  };
  store.fail();
  await sendRejected(50);
  expect(lines).toMatchObject([{ path: "/api/product/propose", requests: 1 }]);
  expect(lines[0]!["error"]).toContain("no space left on device");
  api.deps.clock.advance(SECOND - 1);
  await sendRejected(1);
  expect(lines).toHaveLength(1);
  api.deps.clock.advance(1);
  await sendRejected(3);
  // The second line counts 51: the other 49 of the first 50 requests, the one a millisecond too early, and the one that logs it.
  expect(lines.map(({ requests }) => requests)).toEqual([1, 51]);
});

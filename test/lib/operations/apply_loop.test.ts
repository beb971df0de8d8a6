/** Automatic applies: by a timer in a long-lived process, by cycles on other hosts. */
import { expect, test } from "vitest";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import { HOUR, MINUTE, testClock } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import type { TestDeps } from "../../support/deps.ts";
import { openOperations } from "./operations_service.ts";

const intent = { policy: { apply_when: ["manual", "approved", "scheduled"] } };

const status = async ({ store }: TestDeps, id: string) => (await readRecord(store, id))!.change.status;

test("a long-lived process applies after the last consent without a cycle", async () => {
  const api = await core({ intent, longLived: true });
  const change_id = await api.bring("approved", { apply_when: "approved", value: "1" });
  const commits = api.deps.commits!;
  for (let count = commits.count; (await status(api.deps, change_id)) !== "applied"; count = commits.count)
    await commits.wait(count, 5000);
  expect((await api.audit()).map(({ event_type }) => event_type).at(-1)).toBe("change_applied");
  commits.close();
});

test("without a long-lived process a consent requests a cycle, which applies", async () => {
  let wakeCount = 0;
  const { deps, bring } = await openOperations({ intent, wake: () => void wakeCount++ });
  const change_id = await bring("approved", { apply_when: "approved", value: "1" });
  expect(wakeCount).toBe(1);
  // Without `apply_when` somebody applies the change, so no cycle is requested.
  await bring("approved", { target: "ui.b", value: "1" });
  expect(wakeCount).toBe(1);
  await runCycle(deps);
  expect(await status(deps, change_id)).toBe("applied");
});

test("without a monotonic clock a time takes effect in the second scheduled cycle after it", async () => {
  // Without one, two samples of the clock at least ten minutes apart must confirm that a time has passed. A cycle takes one sample.
  const { monotonic: _, ...clock } = testClock();
  const { deps, bring } = await openOperations({ intent, clock: clock as never });
  const apply_when = new Date(deps.clock.now() + HOUR).toISOString();
  const change_id = await bring("approved", { apply_when, value: "1" });
  deps.clock.advance(HOUR);
  await runCycle(deps);
  expect(await status(deps, change_id)).toBe("approved");
  deps.clock.advance(10 * MINUTE);
  await runCycle(deps);
  expect(await status(deps, change_id)).toBe("applied");
});

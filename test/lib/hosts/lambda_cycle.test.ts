/** A scheduled run of the function `cycle`: its result, and the failures that it reports to Lambda. */
import { expect, test } from "vitest";
import { readLastCheckpoint } from "../../../lib/audit/checkpoint.ts";
import { runSchedule } from "../../../lib/hosts/lambda/scheduled_run.ts";
import { computeTick } from "../../../lib/operations/state.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { makeLink, openOperations } from "../operations/operations_service.ts";

const INTENT = { policy: { consent_ttl_hours: 1 } };
const unreachablePeers = makeLink(() => Promise.reject(new Error("no network")));

test("a successful run returns its results and stores a checkpoint", async () => {
  const { deps, bring } = await openOperations({ intent: INTENT });
  await bring("pending_consent");
  await pass(deps, 2 * HOUR);
  expect(await runSchedule(deps)).toMatchObject({ tick: 1, expired: 1, failed_steps: [], complete: true });
  // The intent, the proposal and its expiry.
  expect((await readLastCheckpoint(deps))?.length).toBe(3);
});

test("a failed step fails the run with its name after all other steps", async () => {
  const { deps, bring, change } = await openOperations({ intent: INTENT, link: unreachablePeers });
  const pending = await bring("pending_consent");
  await pass(deps, 2 * HOUR);
  await expect(runSchedule(deps)).rejects.toThrow(
    "the cycle did not do all of its work: these steps failed, for the reasons in the log: peers",
  );
  expect((await change(pending)).resolution).toBe("expired");
  expect(await computeTick(deps)).toBe(1);
  expect((await readLastCheckpoint(deps))?.length).toBe(3);
});

test("a run on a broken log records no expiry, fails and reports the reason", async () => {
  const { deps, bring } = await openOperations({ intent: INTENT });
  const pending = await bring("pending_consent");
  await deps.store.transact((tx) =>
    tx.put("meta", "breach", { first_invalid: 2, reason: "it was edited", known: null }),
  );
  await pass(deps, 2 * HOUR);
  await expect(runSchedule(deps)).rejects.toThrow(
    "the audit chain does not hold at entry 2 (it was edited), so nothing expires and no guardrail acts until it is restored",
  );
  expect((await deps.store.get("changes", pending))?.value.change.status).toBe("pending_consent");
  expect(await computeTick(deps)).toBe(1);
});

test("without a product a run stores no checkpoint and succeeds", async () => {
  const { deps } = await openOperations({ intent: null });
  expect(await runSchedule(deps)).toMatchObject({ tick: 1, failed_steps: [] });
});

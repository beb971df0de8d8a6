/** Actions that are run on request: their results, records, conflicts and failures. */
import { expect, test } from "vitest";
import { entryKey } from "../../../lib/audit/chain.ts";
import { ACTIONS, MAX_STORED_ACTIONS, actionSchema } from "../../../lib/operations/action_log.ts";
import { runAction } from "../../../lib/operations/actions.ts";
import type { SyncReport } from "../../../lib/link/port.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { filesInMemory, makeLink, openOperations } from "./operations_service.ts";

const SYNCED: SyncReport = { shared: 1, peers: [] };

const run = (
  service: Awaited<ReturnType<typeof openOperations>>,
  action?: string,
  headers: Record<string, string> = {},
) => service.post("/api/action/run-now", action === undefined ? {} : { action }, headers);

test("each action runs, returns its result and is recorded", async () => {
  const service = await openOperations({
    evolved: filesInMemory(),
    link: makeLink(async () => SYNCED),
    checkpoint: { make: async () => ({ length: 3 }) },
  });
  await service.bring("applied");
  await service.post("/api/tasks", { title: "t" });
  const results: Record<string, unknown> = {
    cycle: { tick: 1, failed_steps: [] },
    verify_audit: { valid: true, tallies_match: true },
    check_drift: { result: "in_sync" },
    evaluate_outcomes: { closed: 0, new_verdicts: 0 },
    sync_peers: SYNCED,
    // The cycle before it has run the only task.
    run_next_task: { task_id: null },
    write_report: { files: ["report-2026-W01.md"] },
    checkpoint: { length: 3 },
    // Entries of the log: the intent, the proposal, the consent and the apply.
    rebuild: { followed: { waiting: 4, tally: 4, growth: 4, memories: 4, outcomes: 4 } },
  };
  for (const action of ACTIONS) {
    const { status, body } = await run(service, action);
    expect(status).toBe(200);
    expect(actionSchema.parse(body)).toEqual(body);
    expect(body).toMatchObject({ action, status: "completed", result: results[action], duration_ms: 0 });
  }
  const { actions, available } = (await service.get("/api/action/list")).body;
  expect(actions.map(({ action }: { action: string }) => action)).toEqual([...ACTIONS].reverse());
  expect(available).toEqual(ACTIONS);
  expect((await run(service)).body.action).toBe("cycle");
});

test("an action whose feature is not configured answers that it is disabled", async () => {
  const service = await openOperations({ intent: null });
  const statuses = await Promise.all(ACTIONS.map(async (action) => [action, (await run(service, action)).body.status]));
  expect(Object.fromEntries(statuses)).toEqual({
    cycle: "completed",
    verify_audit: "disabled",
    check_drift: "disabled",
    evaluate_outcomes: "disabled",
    sync_peers: "disabled",
    run_next_task: "completed",
    write_report: "disabled",
    checkpoint: "disabled",
    rebuild: "disabled",
  });
});

test("an unknown action is rejected with the known names", async () => {
  const { status, body } = await run(await openOperations(), "apply");
  expect([status, body.code]).toEqual([400, "invalid_field"]);
  for (const action of ACTIONS) expect(body.error).toContain(action);
});

test("the same action twice concurrently is 409; another action runs", async () => {
  const started = makeBarrier();
  const barrier = makeBarrier();
  const service = await openOperations({ link: makeLink(() => (started.open(), barrier.opened.then(() => SYNCED))) });
  const first = run(service, "sync_peers");
  await started.opened;
  const second = await run(service, "sync_peers");
  expect([second.status, second.body.code]).toEqual([409, "operation_in_progress"]);
  expect((await service.get("/api/action/list")).body.actions).toMatchObject([
    { status: "running", duration_ms: null },
  ]);
  expect((await run(service, "check_drift")).status).toBe(200);
  barrier.open();
  expect((await first).body.status).toBe("completed");
  expect((await run(service, "sync_peers")).status).toBe(200);
});

test("an action whose process died is interrupted after a minute and can run again", async () => {
  const started = makeBarrier();
  const service = await openOperations({ link: makeLink(() => (started.open(), new Promise<never>(() => {}))) });
  void run(service, "sync_peers");
  await started.opened;
  service.deps.clock.advance(59_999);
  expect((await run(service, "sync_peers")).status).toBe(409);
  service.deps.clock.advance(1);
  expect((await service.get("/api/action/list")).body.actions).toMatchObject([{ status: "interrupted" }]);
  service.deps.link = makeLink(async () => SYNCED);
  expect((await run(service, "sync_peers")).body.status).toBe("completed");
});

test("a failure is recorded without internal details", async () => {
  const service = await openOperations({
    checkpoint: { make: () => Promise.reject(new Error("/etc/key is unreadable")) },
  });
  const { status, body } = await run(service, "checkpoint");
  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: "failed",
    result: { error: "internal error; the service's log has the cause" },
  });
  expect((await service.get("/api/action/list")).body.actions).toEqual([body]);
});

test("the newest 500 runs are stored, without long results", async () => {
  const service = await openOperations({ checkpoint: { make: async () => "x".repeat(20_000) } });
  for (let count = 0; count < MAX_STORED_ACTIONS + 3; count++) await runAction(service.deps, "run_next_task");
  expect((await run(service, "checkpoint")).body.result).toHaveLength(20_000);
  const { actions } = (await service.get("/api/action/list?limit=500")).body;
  expect(actions).toHaveLength(MAX_STORED_ACTIONS);
  // 20,000 characters and the two quotes of JSON.
  expect(actions[0].result).toEqual({ omitted: "a result of 20002 characters is not kept" });
  expect(await service.deps.store.list("actions", { limit: 1000 })).toHaveLength(MAX_STORED_ACTIONS);
});

test("with a token configured, running an action needs it, and reading the list does not", async () => {
  const service = await openOperations({ adminToken: "sesame-open-now" });
  expect((await run(service, "cycle")).status).toBe(401);
  expect((await run(service, "cycle", { "x-svc-admin-token": "sesame-open-now" })).status).toBe(200);
  expect((await service.get("/api/action/list")).status).toBe(200);
});

test("verify_audit reports the first entry that does not match the chain", async () => {
  const service = await openOperations();
  await service.bring("applied");
  const { store } = service.deps;
  const key = entryKey(2);
  const entry = (await store.get("audit", key))!.value;
  await store.transact((tx) => tx.put("audit", key, { ...entry, detail: "no JSON" }));
  const { body } = await run(service, "verify_audit");
  expect(body).toMatchObject({ status: "completed", result: { valid: false, first_invalid: 2 } });
});

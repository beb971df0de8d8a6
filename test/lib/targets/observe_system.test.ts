/** Calls of target systems are reported, and a log line is written when a system stops answering. */
import { expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { TargetCall } from "../../../lib/targets/observe_system.ts";
import { type TargetSystem, TargetRejected } from "../../../lib/targets/port.ts";
import { webhookAdapter } from "../../../lib/targets/webhook.ts";
import { memoryTarget } from "../../support/memory_target.ts";

const neverAborted = new AbortController().signal;
const change = { change_id: "chg_a", tenant_id: "t1", kind: "config", target: "seats", value: 5 } as Change;

function recordReports() {
  const calls: string[] = [];
  const lines: unknown[] = [];
  return {
    calls,
    lines,
    observer: {
      called: ({ system, operation, outcome, seconds }: TargetCall) => {
        expect(seconds).toBeGreaterThanOrEqual(0);
        calls.push(`${system} ${operation} ${outcome}`);
      },
      retried: (system: string) => void calls.push(`${system} again`),
    },
    log: {
      info: (message: string, fields?: object) => void lines.push([message, fields]),
      warn: (message: string, fields?: object) => void lines.push([message, fields]),
    },
  };
}

function openAdapter(methods: Partial<TargetSystem> = {}) {
  const target = memoryTarget();
  const reports = recordReports();
  const adapter = targetAdapter({ ...target.system, name: "flags", ...methods }, { store: memoryStore(), ...reports });
  return { ...target, ...reports, adapter };
}

test("each call is recorded with operation and outcome, also conflicts and unanswered writes", async () => {
  const { adapter, calls, edits, faults, overwrite } = openAdapter();
  // Another program sets the target between the read and the write, so the adapter does both again.
  edits.push(() => overwrite(change, "1"));
  await adapter.apply(change, neverAborted);
  expect(calls.splice(0)).toEqual(["flags read done", "flags write conflict", "flags read done", "flags write done"]);
  // The next write is rejected; the answer to the one after it is lost.
  faults.push("rejected");
  await expect(adapter.rollback({ ...change, status: "applied" }, neverAborted)).rejects.toThrow("rejects this value");
  expect(calls.splice(0)).toEqual(["flags read done", "flags write rejected"]);
  faults.push("lost answer");
  await expect(adapter.rollback({ ...change, status: "applied" }, neverAborted)).rejects.toThrow("the answer was lost");
  expect(calls).toEqual(["flags read done", "flags write unanswered"]);
});

test("a system that stops responding is logged once, and once when it responds again", async () => {
  let reason: Error | undefined = new Error("connection refused");
  const ping = async () => {
    if (reason) throw reason;
  };
  const { adapter, calls, lines } = openAdapter({ ping });
  for (let times = 0; times < 3; times++) await adapter.ping!(neverAborted);
  reason = new TargetRejected("the token is of another type");
  await adapter.ping!(neverAborted);
  expect(await adapter.findProblem!()).toBe("the token is of another type");
  reason = undefined;
  for (let times = 0; times < 2; times++) await adapter.ping!(neverAborted);
  expect(lines).toEqual([
    ["a target system cannot be used", { system: "flags", error: "connection refused" }],
    ["a target system can be used again", { system: "flags" }],
  ]);
  expect(calls).toEqual([
    ...Array.from({ length: 3 }, () => "flags ping failed"),
    "flags ping rejected",
    ...Array.from({ length: 2 }, () => "flags ping done"),
  ]);
});

test("a probe and a read that both fail are logged once, and once when both succeed again", async () => {
  let isDown = true;
  const probe = async () => {
    if (isDown) throw new Error("disk full");
  };
  const { adapter, faults, lines } = openAdapter({ probe });
  for (let times = 0; times < 2; times++) expect(await adapter.findProblem!()).toBe("disk full");
  faults.push("lost request");
  await adapter.held!(change, neverAborted).catch(() => undefined);
  await adapter.held!(change, neverAborted);
  isDown = false;
  expect(await adapter.findProblem!()).toBeNull();
  expect(lines).toEqual([
    ["a target system cannot be used", { system: "flags", error: "disk full" }],
    ["a target system can be used again", { system: "flags" }],
  ]);
});

test("a webhook reports each try, and that it is retried", async () => {
  const { calls, observer } = recordReports();
  let requests = 0;
  const adapter = webhookAdapter({
    name: "crm",
    url: "https://crm.acme.example/hook",
    secret: "a-secret-of-the-test",
    product_id: "acme-crm",
    instance_id: "acme-crm@local",
    clock: { now: () => 0 },
    observer,
    sleep: async () => undefined,
    fetch: async () => (++requests === 1 ? new Response(null, { status: 503 }) : Response.json({ result: "applied" })),
  });
  await adapter.apply(change, neverAborted);
  expect(calls).toEqual(["crm write unanswered", "crm again", "crm write done"]);
});

/** Tests the program with a shifted clock: starts with it 400 days ahead and then right, and the report of an expiring change. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished } from "vitest";
import { test, WITH_INTENT, writeIntent } from "./in_folder.ts";
import { type Server, serve } from "./server.ts";

const ARGS = [...WITH_INTENT, "--state=state.json"];
const HOUR_MS = 3600 * 1000;
/**
 * Loads a module that shifts the clock by CLOCK_OFFSET_MS. SIGUSR2 advances it by CLOCK_STEP_MS, at most to the present, and with
 * CLOCK_ELAPSES also the monotonic one.
 */
const SHIFTED = { NODE_OPTIONS: `--import ${new URL("../ui/shifted_clock.mjs", import.meta.url)}` };
const AHEAD = {
  ...SHIFTED,
  CLOCK_OFFSET_MS: String(400 * 24 * 3600 * 1000),
};

const request = async ({ url }: Server, path: string, fields?: Record<string, string>) => {
  const response = await fetch(url + path, fields && { method: "POST", body: new URLSearchParams(fields) });
  return { status: response.status, body: await response.json() };
};
const post = (server: Server, path: string, fields: Record<string, string> = {}) =>
  request(server, `/api/product/${path}`, fields);
const stop = async ({ child, ended }: Server): Promise<void> => {
  child.kill("SIGTERM");
  await ended;
};

/** Makes a pending and an approved change, and then starts the program with the clock ahead. */
async function startAhead(cwd: string) {
  await writeIntent(cwd, "intent.json", { policy: { consent_ttl_hours: 72, approval_ttl_hours: 72 } });
  const first = await serve(cwd, ARGS);
  const propose = async (target: string): Promise<string> =>
    (await post(first, "propose", { tenant_id: "t1", kind: "config", target, summary: "s" })).body.change_id;
  const [pending, approved] = [await propose("ui.a"), await propose("ui.b")];
  await post(first, "approve", { change_id: approved, approver: "ana" });
  await stop(first);
  return { ahead: await serve(cwd, ARGS, AHEAD), pending, approved };
}

describe("a start with the clock 400 days ahead", () => {
  test("expires no change", { timeout: 60_000 }, async ({ cwd }) => {
    const { ahead, pending, approved } = await startAhead(cwd);
    for (let cycle = 0; cycle < 3; cycle++)
      expect((await request(ahead, "/api/action/run-now", {})).body).toMatchObject({ status: "completed" });
    // By this clock both have expired, but no entry records it.
    expect((await post(ahead, "approve", { change_id: pending, approver: "ana" })).status).toBe(400);
    expect((await post(ahead, "apply", { change_id: approved })).status).toBe(400);
    const { body } = await request(ahead, "/api/product/approvals");
    expect([body.pending.length, body.approved.length]).toEqual([1, 1]);
    await stop(ahead);
    const right = await serve(cwd, ARGS);
    expect((await request(right, "/readyz")).status).toBe(200);
    for (const [path, fields] of [
      ["approve", { change_id: pending, approver: "ana" }],
      ["apply", { change_id: pending }],
      ["apply", { change_id: approved }],
    ] as const)
      expect((await post(right, path, fields)).status, path).toBe(200);
    await stop(right);
  });

  test("can be corrected with accept-clock after it wrote entries", { timeout: 60_000 }, async ({ cwd }) => {
    const { ahead, pending, approved } = await startAhead(cwd);
    expect((await post(ahead, "kpi", { csat: "4" })).status).toBe(200);
    await stop(ahead);
    const right = await serve(cwd, ARGS);
    expect(await post(right, "apply", { change_id: approved })).toMatchObject({
      status: 503,
      body: { code: "clock_behind" },
    });
    expect(await request(right, "/readyz")).toMatchObject({ status: 503, body: { checks: { clock: { ok: false } } } });
    expect((await post(right, "audit/accept-clock", { actor: "ops", note: "it ran ahead" })).status).toBe(200);
    expect((await request(right, "/readyz")).status).toBe(200);
    for (const [path, fields] of [
      ["approve", { change_id: pending, approver: "ana" }],
      ["apply", { change_id: approved }],
      ["rollback", { change_id: approved }],
    ] as const)
      expect((await post(right, path, fields)).status, path).toBe(200);
    expect((await request(right, "/api/product/audit/verify")).body).toMatchObject({ valid: true });
    await stop(right);
    const again = await serve(cwd, ARGS);
    expect((await request(again, "/api/product/audit/verify")).body).toMatchObject({ valid: true });
    await stop(again);
  });
});

test(
  "an expiring change is reported to a receiver once, also after a restart",
  { timeout: 60_000 },
  async ({ cwd }) => {
    await writeIntent(cwd, "intent.json", { policy: { consent_ttl_hours: 72 } });
    const reported: string[] = [];
    const receiver = createServer(async (incoming, response) => {
      reported.push(JSON.parse(await text(incoming)).text);
      response.end();
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    onTestFinished(() => void receiver.close());
    const { port } = receiver.address() as AddressInfo;
    const args = [...ARGS, "--cycle-interval=0", "--notify-format=slack"];
    const env = { ...SHIFTED, SVC_NOTIFY_URL: `http://127.0.0.1:${port}/`, CLOCK_ELAPSES: "1" };
    const steps = { CLOCK_OFFSET_MS: String(-60 * HOUR_MS), CLOCK_STEP_MS: String(27.5 * HOUR_MS) };
    const server = await serve(cwd, args, { ...env, ...steps });
    const propose = async (target: string): Promise<number> =>
      Date.parse(
        (await post(server, "propose", { tenant_id: "t1", kind: "config", target, summary: "s" })).body.created_at,
      );
    const proposedAt = await propose("ui.a");
    // The clock starts 60 hours ago, and the third step ends at the present.
    for (const hours of [27.5, 55, 60]) {
      server.child.kill("SIGUSR2");
      await expect.poll(() => propose(`later.${hours}`)).toBeGreaterThanOrEqual(proposedAt + hours * HOUR_MS);
      await request(server, "/api/action/run-now", {});
    }
    const expiring = () => reported.filter((message) => message.startsWith("Time runs out"));
    await expect.poll(expiring).toHaveLength(1);
    expect(expiring()[0]).toContain("“s” (ui.a for tenant t1)");
    await stop(server);
    const again = await serve(cwd, args, env);
    await request(again, "/api/action/run-now", {});
    await post(again, "propose", { tenant_id: "t1", kind: "config", target: "ui.last", summary: "s" });
    await expect.poll(() => reported.at(-1)).toContain("ui.last");
    expect(expiring()).toHaveLength(1);
    await stop(again);
  },
);

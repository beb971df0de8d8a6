/** Verifies that two processes on one state file, after the removal of its lock, lose no data that either acknowledged. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { test, WITH_INTENT } from "./in_folder.ts";
import { type Server, serve } from "./server.ts";

const ARGS = [...WITH_INTENT, "--state=state.json", "--cycle-interval=1"];
const CONCURRENT_PROPOSALS = 20;

/** Sends concurrent proposals; returns the entries of the acknowledged ones, and the responses to the others. */
async function propose({ url }: Server, name: string) {
  const requests = Array.from({ length: CONCURRENT_PROPOSALS }, async (_, index) => {
    const body = new URLSearchParams({ tenant_id: "t1", kind: "config", target: `${name}.${index}`, summary: "s" });
    const response = await fetch(`${url}/api/product/propose`, { method: "POST", body });
    return { status: response.status, body: await response.json() };
  });
  const replies = await Promise.all(requests);
  return {
    acknowledged: replies.filter(({ status }) => status === 201).map(({ body }) => body.audit_entry as AuditEntry),
    rejected: replies.filter(({ status }) => status !== 201),
  };
}

const json = async (url: string) => {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
};

describe("after the removal of a running service's lock no data is lost if", () => {
  test.for(["the first stops first", "the second stops first", "both are killed"] as const)(
    "%s",
    { timeout: 120_000 },
    async (ending, { cwd }) => {
      const first = await serve(cwd, ARGS);
      const acknowledged = [...(await propose(first, "a")).acknowledged];
      await rm(join(cwd, "state.json.lock"), { recursive: true });
      // Requests to the first process go on while the second one starts.
      let starting = true;
      const busy = (async () => {
        for (let round = 0; starting; round++)
          acknowledged.push(...(await propose(first, `busy${round}`)).acknowledged);
      })();
      const second = await serve(cwd, ARGS).finally(() => (starting = false));
      await busy;
      const [fromFirst, fromSecond] = await Promise.all([propose(first, "b"), propose(second, "c")]);
      acknowledged.push(...fromFirst.acknowledged, ...fromSecond.acknowledged);
      expect(fromFirst.acknowledged).toEqual([]);
      for (const { status, body } of fromFirst.rejected)
        expect([status, body.code, body.error]).toEqual([
          503,
          "store_unavailable",
          expect.stringContaining("another process writes to it"),
        ]);
      expect(fromSecond.rejected).toEqual([]);
      const ready = await json(`${first.url}/readyz`);
      expect([ready.status, ready.body.checks.store]).toEqual([
        503,
        { ok: false, reason: expect.stringContaining("another process writes to it") },
      ]);
      expect((await json(`${second.url}/readyz`)).status).toBe(200);
      const order = ending === "the second stops first" ? [second, first] : [first, second];
      for (const { child, ended } of order) {
        child.kill(ending === "both are killed" ? "SIGKILL" : "SIGTERM");
        await ended;
        if (child === first.child && ending !== "the second stops first")
          acknowledged.push(...(await propose(second, "d")).acknowledged);
      }
      const third = await serve(cwd, ARGS);
      expect((await json(`${third.url}/api/product/audit/verify`)).body).toMatchObject({ valid: true });
      for (const { id, current_hash } of acknowledged) {
        const { body } = await json(`${third.url}/api/product/audit?after=${id - 1}&limit=1`);
        expect(body.entries[0], `entry ${id}`).toMatchObject({ id, current_hash });
      }
    },
  );
});

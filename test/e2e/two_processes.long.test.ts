/** Two processes on one state file, as when its lock was removed under the first: nothing that either acknowledged is lost. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { AuditEntry } from "../../lib/audit/entry.ts";
import { test, WITH_INTENT } from "./in_folder.ts";
import { type Server, serve } from "./server.ts";

const ARGS = [...WITH_INTENT, "--state=state.json", "--cycle-interval=1"];
const TOGETHER = 20;

/** Proposes at once; the entries of those that were acknowledged, and the answers to the others. */
async function propose({ url }: Server, name: string) {
  const asked = Array.from({ length: TOGETHER }, async (_, one) => {
    const body = new URLSearchParams({ tenant_id: "t1", kind: "config", target: `${name}.${one}`, summary: "s" });
    const response = await fetch(`${url}/api/product/propose`, { method: "POST", body });
    return { status: response.status, body: await response.json() };
  });
  const replies = await Promise.all(asked);
  return {
    told: replies.filter(({ status }) => status === 201).map(({ body }) => body.audit_entry as AuditEntry),
    refused: replies.filter(({ status }) => status !== 201),
  };
}

const json = async (url: string) => {
  const response = await fetch(url);
  return { status: response.status, body: await response.json() };
};

describe("a lock that is removed under a running service", () => {
  test.for(["the first stops first", "the second stops first", "both are killed"] as const)(
    "%s",
    { timeout: 120_000 },
    async (how, { cwd }) => {
      const first = await serve(cwd, ARGS);
      const reported = [...(await propose(first, "a")).told];
      await rm(join(cwd, "state.json.lock"), { recursive: true });
      // Requests go on while the other one starts.
      let starting = true;
      const busy = (async () => {
        for (let round = 0; starting; round++) reported.push(...(await propose(first, `busy${round}`)).told);
      })();
      const second = await serve(cwd, ARGS).finally(() => (starting = false));
      await busy;
      const [late, early] = await Promise.all([propose(first, "b"), propose(second, "c")]);
      reported.push(...late.told, ...early.told);
      expect(late.told).toEqual([]);
      for (const { status, body } of late.refused)
        expect([status, body.code, body.error]).toEqual([
          503,
          "store_unavailable",
          expect.stringContaining("another process writes to it"),
        ]);
      expect(early.refused).toEqual([]);
      const ready = await json(`${first.url}/readyz`);
      expect([ready.status, ready.body.checks.store]).toEqual([
        503,
        { ok: false, reason: expect.stringContaining("another process writes to it") },
      ]);
      expect((await json(`${second.url}/readyz`)).status).toBe(200);
      const order = how === "the second stops first" ? [second, first] : [first, second];
      for (const { child, ended } of order) {
        child.kill(how === "both are killed" ? "SIGKILL" : "SIGTERM");
        await ended;
        if (child === first.child && how !== "the second stops first")
          reported.push(...(await propose(second, "d")).told);
      }
      const third = await serve(cwd, ARGS);
      expect((await json(`${third.url}/api/product/audit/verify`)).body).toMatchObject({ valid: true });
      for (const { id, current_hash } of reported) {
        const { body } = await json(`${third.url}/api/product/audit?after=${id - 1}&limit=1`);
        expect(body.entries[0], `entry ${id}`).toMatchObject({ id, current_hash });
      }
    },
  );
});

/** Verifies that a check of the log finds edits of a running service's files, whatever the process has in memory. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFileStore } from "../../local/store/file_store.ts";
import { service } from "../support/service.ts";
import { readableLog } from "./store/open_test_store.ts";

async function startService() {
  const folder = await mkdtemp(join(tmpdir(), "tampered-"));
  const path = join(folder, "state.json");
  const store = await openFileStore({ path, log: readableLog() });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  const api = await service({ store });
  const propose = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "original", proposer: "ana" };
  for (let count = 0; count < 3; count++) expect((await api.post("/api/product/propose", propose)).status).toBe(201);
  return {
    verifyLog: async () => (await api.get("/api/product/audit/verify")).body,
    /** Overwrites text of the journal in place. */
    async tamper(from: string, to: string): Promise<void> {
      const journal = await readFile(`${path}.journal.jsonl`, "latin1");
      expect(journal).toContain(from);
      await writeFile(`${path}.journal.jsonl`, journal.replace(from, to), "latin1");
    },
  };
}

test("an edited entry is found", async () => {
  const { verifyLog, tamper } = await startService();
  await tamper("change_proposed", "change_proposeX");
  expect(await verifyLog()).toMatchObject({ valid: false, first_invalid: 2 });
});

test("an edited record of a change is found", async () => {
  const { verifyLog, tamper } = await startService();
  await tamper('"summary":"original"', '"summary":"tampered"');
  expect(await verifyLog()).toMatchObject({
    valid: false,
    state: { mismatched: 1, mismatches: [{ fields: ["content"] }] },
  });
});

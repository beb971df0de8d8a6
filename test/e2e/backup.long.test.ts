/** Takes a backup of a running service under load, then restores and verifies it, as the operator's manual describes. */
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { backupScript } from "../support/backup_script.ts";
import { test, WITH_INTENT } from "./in_folder.ts";
import { program, serve } from "./server.ts";

const run = promisify(execFile);

interface Receipt {
  id: number;
  current_hash: string;
}

test("every receipt from before the backup is valid for the restored log", async ({ cwd }) => {
  await run("openssl", ["genpkey", "-algorithm", "ed25519", "-out", "audit.pem"], { cwd });
  await run("openssl", ["pkey", "-in", "audit.pem", "-pubout", "-out", "audit.pub.pem"], { cwd });
  const service = await serve(cwd, [...WITH_INTENT, "--state=live/state.json", "--audit-key=audit.pem"]);
  const receipts: Receipt[] = [];
  let notifyEnough: () => void;
  const enoughReceipts = new Promise<void>((resolve) => (notifyEnough = resolve));
  const propose = async (number: number): Promise<void> => {
    const value = JSON.stringify("x".repeat(2_000));
    const body = new URLSearchParams({ tenant_id: "t1", kind: "config", target: `a.${number}`, summary: "a", value });
    const answer = await fetch(`${service.url}/api/product/propose`, { method: "POST", body });
    receipts.push(((await answer.json()) as { audit_entry: Receipt }).audit_entry);
    if (receipts.length === 200) notifyEnough();
  };
  let isStopped = false;
  let number = 0;
  const callers = Array.from({ length: 8 }, async () => {
    while (!isStopped) await propose(++number);
  });
  const load = Promise.all(callers);
  // The load ends before that only with an error.
  await Promise.race([enoughReceipts, load]);
  const checkpoint = await fetch(`${service.url}/api/product/audit/checkpoint`, { headers: { accept: "text/plain" } });
  writeFileSync(join(cwd, "checkpoint.note"), await checkpoint.text());
  const before = [...receipts];
  await backupScript(cwd)(join(cwd, "live/state.json"), join(cwd, "backup"));
  const countAfterBackup = receipts.length;
  isStopped = true;
  await load;
  expect(countAfterBackup).toBeGreaterThan(before.length);

  mkdirSync(join(cwd, "restored"));
  await run("bash", ["-c", "cp -R backup/. restored/"], { cwd });
  const restored = await serve(cwd, [...WITH_INTENT, "--state=restored/state.json", "--cycle-interval=0"]);
  const newest = before.toSorted((a, b) => b.id - a.id)[0]!;
  const expected = `expected_length=${newest.id}&expected_head=${newest.current_hash}`;
  const verified = await (await fetch(`${restored.url}/api/product/audit/verify?${expected}`)).json();
  expect(verified).toMatchObject({ valid: true, state: { mismatched: 0 } });
  const log = await (await fetch(`${restored.url}/api/product/audit?format=jsonl`)).text();
  const hashes = new Map(
    log
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Receipt)
      .map(({ id, current_hash }) => [id, current_hash]),
  );
  expect(before.filter(({ id, current_hash }) => hashes.get(id) !== current_hash)).toEqual([]);
  const end = JSON.parse(await readFile(join(cwd, "backup/backup.json"), "utf8")) as { length: number; head: string };
  expect(end).toEqual({ length: hashes.size, head: hashes.get(hashes.size) });
  writeFileSync(join(cwd, "restored.jsonl"), log);
  const verifier = join(dirname(await program()), "verify/main.js");
  await run(
    process.execPath,
    [verifier, "restored.jsonl", "--checkpoint", "checkpoint.note", "--key", "audit.pub.pem"],
    {
      cwd,
    },
  );
  expect(await readFile(join(cwd, "restored/state.json.journal.jsonl"), "utf8")).toContain(
    '"format":"countersign-journal',
  );
});

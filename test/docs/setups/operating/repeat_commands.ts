/** Runs commands of the operator's manual for a second time, as operators repeat them: shipping the log, and backups. */
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Block, documents } from "../../markdown.ts";
import type { DocumentRun } from "../../document_run.ts";
import type { Machine } from "./machine.ts";

/** Returns the blocks of the manual from the first that contains `first` to the next that contains `last`. */
function findBlocks(first: string, last: string): Block[] {
  const all = documents().find(({ path }) => path === "docs/operating.md")!.blocks;
  const from = all.findIndex(({ text }) => text.includes(first));
  const to = all.findIndex(({ text }, at) => at >= from && text.includes(last));
  if (from < 0 || to < 0) throw new Error(`the manual has no block with ${first}, or no later one with ${last}`);
  return all.slice(from, to + 1);
}

/** Ships the log again after the end of the shipped file was cut: once 20 bytes of the last line, once only its line break. */
export async function shipAfterCut({ folder, runBlock }: DocumentRun): Promise<void> {
  const [ship] = findBlocks("node ship_audit.mjs", "node ship_audit.mjs");
  const file = join(folder, "shipped.jsonl");
  for (const cutBytes of [20, 1]) {
    truncateSync(file, statSync(file).size - cutBytes);
    await runBlock(ship!);
  }
}

/** Creates a second backup, which contains reports, starts a service that requires a token on it, and restores it. */
export async function backUpAgain(documentRun: DocumentRun, machine: Machine): Promise<void> {
  const evolved = machine.path("var/lib/countersign/evolved");
  mkdirSync(evolved, { recursive: true });
  writeFileSync(join(evolved, "report-2020-W01.md"), "# A report");
  const backups = machine.path("var/backups/countersign");
  const before = readdirSync(backups);
  // The last step restores the backup.
  const steps = findBlocks("to=/var/backups/", "chown -R --reference");
  for (const block of steps.slice(0, -1)) await documentRun.runBlock(block);
  const created = readdirSync(backups).filter((name) => !before.includes(name));
  expect(created).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d{6}Z$/), `${created[0]}.note`]);
  expect(readFileSync(join(backups, "latest/evolved/report-2020-W01.md"), "utf8")).toBe("# A report");

  const trialUrl = documentRun.url(8430);
  const requests = [
    ["GET", "api/product/audit"],
    ["POST", "api/product/propose"],
    ["POST", "api/chat"],
  ] as const;
  for (const [method, path] of requests)
    expect([path, (await fetch(`${trialUrl}/${path}`, { method })).status]).toEqual([path, 401]);

  writeFileSync(join(evolved, "report-2020-W02.md"), "# From after the backup");
  await documentRun.runBlock(steps.at(-1)!);
  expect(readdirSync(evolved)).toContain("report-2020-W01.md");
  expect(readdirSync(evolved)).not.toContain("report-2020-W02.md");
  // One folder of replaced data by the manual's own restore, and one by this restore.
  const folders = readdirSync(machine.path("var/lib/countersign"));
  expect(folders.filter((name) => name.startsWith("replaced-"))).toHaveLength(2);
}

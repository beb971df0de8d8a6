/** Runs commands of the operator's manual a second time, where they must be repeatable. */
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type Block, documents } from "../../markdown.ts";
import type { Story } from "../../story.ts";
import type { Machine } from "./machine.ts";

/** Returns the blocks of the manual from the first that contains `first` to the next that contains `last`. */
function blocks(first: string, last: string): Block[] {
  const all = documents().find(({ path }) => path === "docs/operating.md")!.blocks;
  const from = all.findIndex(({ text }) => text.includes(first));
  const to = all.findIndex(({ text }, at) => at >= from && text.includes(last));
  if (from < 0 || to < 0) throw new Error(`the manual has no block with ${first}, or none with ${last} behind it`);
  return all.slice(from, to + 1);
}

/** Ships the log again after the last shipped line was cut, once within the line and once only its end. */
export async function shipAfterCut({ folder, run }: Story): Promise<void> {
  const [ship] = blocks("node ship_audit.mjs", "node ship_audit.mjs");
  const file = join(folder, "shipped.jsonl");
  for (const cut of [20, 1]) {
    truncateSync(file, statSync(file).size - cut);
    await run(ship!);
  }
}

/** Takes a second backup with reports, tries it behind a token, and restores it. */
export async function backUpAgain(story: Story, machine: Machine): Promise<void> {
  const evolved = machine.path("var/lib/countersign/evolved");
  mkdirSync(evolved, { recursive: true });
  writeFileSync(join(evolved, "report-2020-W01.md"), "# A report");
  const backups = machine.path("var/backups/countersign");
  const before = readdirSync(backups);
  const steps = blocks("to=/var/backups/", "chown -R --reference");
  for (const block of steps.slice(0, -1)) await story.run(block);
  const taken = readdirSync(backups).filter((name) => !before.includes(name));
  expect(taken).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d{6}Z$/), `${taken[0]}.note`]);
  expect(readFileSync(join(backups, "latest/evolved/report-2020-W01.md"), "utf8")).toBe("# A report");

  const drill = story.url(8430);
  const requests = [
    ["GET", "api/product/audit"],
    ["POST", "api/product/propose"],
    ["POST", "api/chat"],
  ] as const;
  for (const [method, path] of requests)
    expect([path, (await fetch(`${drill}/${path}`, { method })).status]).toEqual([path, 401]);

  writeFileSync(join(evolved, "report-2020-W02.md"), "# From after the backup");
  await story.run(steps.at(-1)!);
  expect(readdirSync(evolved)).toContain("report-2020-W01.md");
  expect(readdirSync(evolved)).not.toContain("report-2020-W02.md");
  const folders = readdirSync(machine.path("var/lib/countersign"));
  expect(folders.filter((name) => name.startsWith("replaced-"))).toHaveLength(2);
}

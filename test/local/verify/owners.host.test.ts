/** Both verifiers report a restore of a change that is not the applied owner of its target. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { verifyExport } from "../../../local/verify/verify.ts";

const GOLDEN = readFileSync("test/golden/files/log.jsonl", "utf8");
const NOT_OWNER = "it restores a change that is not the applied owner of its target";

type Line = { event_type: string; change_id: string };

/** The golden log with the apply of the restored change as an entry of another type. */
function withoutApply(): string {
  const lines = GOLDEN.trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Line);
  const { change_id } = entries.find(({ event_type }) => event_type === "value_restored")!;
  const isApply = (entry: Line): boolean => entry.event_type === "change_applied" && entry.change_id === change_id;
  return `${lines.map((line, at) => (isApply(entries[at]!) ? line.replace("change_applied", "change_drifted") : line)).join("\n")}\n`;
}

async function judge(text: string): Promise<[typescript: string[], python: string[]]> {
  const folder = mkdtempSync(join(tmpdir(), "owners-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "log.jsonl");
  writeFileSync(path, text);
  const pieces = (async function* () {
    yield Buffer.from(text);
  })();
  const report = await verifyExport(pieces, { kept: [], findings: [], remarks: [] });
  const python = spawnSync("python3", ["-B", "docs/verify_audit.py", path, "--json"], { encoding: "utf8" });
  const findings = (JSON.parse(python.stdout) as { findings: { message: string }[] }).findings;
  return [report.findings.map(({ message }) => message), findings.map(({ message }) => message)];
}

test("a restore of the applied owner is valid, and of another change a failure", async () => {
  expect(await judge(GOLDEN)).toEqual([[], []]);
  const [typescript, python] = await judge(withoutApply());
  expect(typescript).toContain(NOT_OWNER);
  expect(python).toContain(NOT_OWNER);
});

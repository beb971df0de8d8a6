/** The watchdog of a test run: it ends a run of vitest that hangs, and reports what each file waits for. */
import { execFile } from "node:child_process";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../e2e/server.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Files for which vitest waits forever. The first starts a process that would outlive vitest. The others end a test after
 * 400 ms: vitest can delay the last report of a worker until the next report (`throttle` of @vitest/runner 4.1). The 0 of a
 * `beforeAll` switches its time limit off.
 */
const HANGING = {
  "imports.test.ts": `
    import { spawn } from "node:child_process";
    import { writeFileSync } from "node:fs";
    import { test } from "vitest";
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    writeFileSync("pid", String(child.pid));
    await new Promise(() => {});
    test("is never reached", () => {});`,
  "loops.test.ts": `
    import { test } from "vitest";
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    test.concurrent("is quick", () => sleep(400));
    test.concurrent("loops", async () => { await sleep(800); for (;;); });`,
  "waits.test.ts": `
    import { beforeAll, describe, test } from "vitest";
    test.concurrent("is quick", () => new Promise((resolve) => setTimeout(resolve, 400)));
    describe.concurrent("a part", () => {
      beforeAll(() => new Promise(() => {}), 0);
      test("is never reached", () => {});
    });`,
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("a hanging run is ended, its files and what they wait for are printed, no process is left", async () => {
  const folder = temporaryFolder();
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const [name, text] of Object.entries(HANGING)) await writeFile(join(folder, name), text);
  const watchdog = JSON.stringify(join(ROOT, "test/support/watchdog.ts"));
  await writeFile(
    join(folder, "vitest.config.ts"),
    `import { Watchdog } from ${watchdog};
    export default { test: { maxWorkers: 3, reporters: ["dot", new Watchdog(8000)] } };`,
  );
  const args = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--root", folder];
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile(process.execPath, args, { cwd: folder, env: { PATH: process.env["PATH"] } }, (error, _, stderr) =>
      resolve({ code: error?.code, stderr }),
    ),
  );
  expect(code).toBe(1);
  const report = stderr.slice(stderr.indexOf("the run hangs and is ended"));
  expect(report).toMatch(/^ {2}imports\.test\.ts: silent for \d s since it began to load$/m);
  expect(report).toMatch(/^ {2}loops\.test\.ts: silent for \d s since "is quick" ended; waits for the test "loops"$/m);
  expect(report).toMatch(
    /^ {2}waits\.test\.ts: silent for \d s since "is quick" ended; waits for beforeAll of "a part"$/m,
  );
  const pid = Number(await readFile(join(folder, "pid"), "utf8"));
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
});

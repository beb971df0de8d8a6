/** A test run prints nothing: printing tests fail the run, and services under test do not log. */
import { expect, test } from "vitest";
import type { Vitest } from "vitest/node";
import { openDeps } from "./deps.ts";
import { QuietRun } from "./quiet_run.ts";
import { silentLog } from "./silent_log.ts";

const line = { content: "x", type: "stderr", time: 0, size: 1 } as const;
const vitest = {
  config: { root: "/project" },
  state: { idMap: new Map([["1_0", { file: { filepath: "/project/test/loud.test.ts" } }]]) },
} as unknown as Vitest;

test("a run fails if a test prints to the console, and the message names the file", () => {
  const failures: string[] = [];
  const run = new QuietRun((message) => failures.push(message));
  run.onInit(vitest);
  run.onTestRunEnd();
  expect(failures).toEqual([]);
  run.onUserConsoleLog({ ...line, taskId: "1_0" });
  run.onUserConsoleLog({ ...line, taskId: "1_0" });
  run.onTestRunEnd();
  expect(failures).toEqual([expect.stringMatching(/pass silentLog.*\n {2}test\/loud\.test\.ts: 2\n$/)]);
});

test("a service under test logs nothing unless the test passes a log", async () => {
  expect((await openDeps()).log).toBe(silentLog);
});

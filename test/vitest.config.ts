import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { makeRunFolder } from "./support/folders.ts";
import { ProjectTimes } from "./support/project_times.ts";
import { Watchdog } from "./support/watchdog.ts";

const IN_A_BROWSER = "test/ui/{audit,decisions,mistakes,pages}.test.ts";
/** Every page for everybody, slow lines and lost connections, `npm run dev`: `npm run test:console`, not `npm test`. */
const LONG_IN_A_BROWSER = "test/ui/{away,dev,everybody,load}.test.ts";

const reporters = [new Watchdog(), new ProjectTimes()];
/** As a plugin, so that a reporter named on the command line does not replace them. */
const always: Plugin = {
  name: "reporters that are always there",
  configureVitest({ vitest: { config } }) {
    for (const reporter of reporters) if (!config.reporters.includes(reporter)) config.reporters.push(reporter);
  },
};

/** What tests write goes where temporary files go for them, and with the run. */
const env = { TMPDIR: makeRunFolder() };
const root = join(import.meta.dirname, "..");
const project = (name: string, include: string[], exclude: string[] = []) => ({
  root,
  plugins: [always],
  test: {
    name,
    include,
    exclude,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: Math.max(2, availableParallelism() - 1),
    env,
    // Files share their worker's modules: loading the same ones for each file took longer than most files' tests.
    isolate: false,
  },
});

export default defineConfig({
  root,
  test: {
    projects: [
      project("console", [IN_A_BROWSER]),
      project("console-long", [LONG_IN_A_BROWSER]),
      project("service", ["test/**/*.test.ts"], [IN_A_BROWSER, LONG_IN_A_BROWSER]),
    ],
  },
});

/** Configures vitest: the projects of tests by their kind and length, and the reporters. */
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { makeRunFolder } from "./support/folders.ts";
import { QuietRun } from "./support/quiet_run.ts";
import { ProjectTimes } from "./support/project_times.ts";
import { Watchdog } from "./support/watchdog.ts";

/** In a browser, in a short form: `npm test`, and in the long one: `npm run test:console`. */
const BROWSER = "test/**/*.browser.test.ts";
/** Every page, mistakes of users, slow and lost connections, and `npm run dev`: `npm run test:console`. */
const BROWSER_LONG = "test/**/*.browser.long.test.ts";
/** Has no short form: `npm run test:long`. */
const LONG_ALONE = ["test/**/!(*.browser).long.test.ts"];
/** Starts a host or a store of another kind, and has one form: `npm run test:long`. */
const HOSTS = ["test/**/*.host.test.ts"];

/** Test files with cases of both lengths: those that import `run_length.ts`. */
const OF_BOTH_LENGTHS = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".test.ts") && !/\.(?:browser|host)\./.test(file))
  .filter((file) => readFileSync(join(import.meta.dirname, file), "utf8").includes('/support/run_length.ts"'))
  .map((file) => join("test", file));

const reporters = [new Watchdog(), new ProjectTimes(), new QuietRun()];
/** As a plugin, so that a reporter named on the command line does not replace them. */
const always: Plugin = {
  name: "reporters that are always there",
  configureVitest({ vitest: { config } }) {
    for (const reporter of reporters) if (!config.reporters.includes(reporter)) config.reporters.push(reporter);
  },
};

/** Tests write to a temporary folder, which is removed after the run. */
const env = { TMPDIR: makeRunFolder(), TEST_LENGTH: "short" };
/** Time limit of long tests, for which a slow machine needs three times as long. */
const PATIENT_MS = 180_000;
const LONG = { ...env, TEST_LENGTH: "long" };
/** A browser on a busy machine loses a race now and then: in CI its test gets a second try, which the report names. */
const SECOND_TRY = process.env["CI"] ? 1 : 0;
const root = join(import.meta.dirname, "..");
const project = (
  name: string,
  include: string[],
  over: { exclude?: string[]; env?: Record<string, string>; testTimeout?: number; retry?: number } = {},
) => ({
  root,
  plugins: [always],
  test: {
    name,
    include,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: Math.max(2, availableParallelism() - 1),
    env,
    // Examples import the package by its name.
    alias: [{ find: /^countersign$/, replacement: join(root, "handlers/index.ts") }],
    // Files share their worker's modules: loading the same ones for each file took longer than most files' tests.
    isolate: false,
    ...over,
  },
});

export default defineConfig({
  root,
  test: {
    // Compiled modules are found again by their content: CI starts vitest a dozen times.
    experimental: { fsModuleCache: true },
    projects: [
      project("console", [BROWSER], { retry: SECOND_TRY }),
      project("console-long", [BROWSER_LONG, BROWSER], { env: LONG, testTimeout: PATIENT_MS, retry: SECOND_TRY }),
      project("service", ["test/**/*.test.ts"], { exclude: [BROWSER, BROWSER_LONG, ...LONG_ALONE, ...HOSTS] }),
      project("hosts", HOSTS, { env: LONG, testTimeout: PATIENT_MS }),
      project("long", [...OF_BOTH_LENGTHS, ...LONG_ALONE], { env: LONG, testTimeout: PATIENT_MS }),
    ],
  },
});

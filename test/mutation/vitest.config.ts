/** Tests that mutation testing runs, for the group of sources that MUTATION_GROUP names. */
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { makeRunFolder } from "../support/folders.ts";
// @ts-expect-error -- a script without types
import { GROUPS } from "./groups.mjs";
import { endThread, lastingPool } from "./pool.ts";

const groups = GROUPS as Record<string, { tests: string[]; last: string; env?: Record<string, string> }>;
const group = groups[process.env["MUTATION_GROUP"] ?? ""];
if (!group) throw new Error(`Set MUTATION_GROUP to one of: ${Object.keys(groups).join(", ")}.`);

/** Sets the pool in a plugin, because Stryker sets another pool on the command line. */
const lasting: Plugin = {
  name: "one thread for all runs",
  configureVitest({ vitest, project }) {
    Object.assign(project.config, { pool: lastingPool.name, poolRunner: lastingPool });
    vitest.onClose(endThread);
  },
};

/** Runs quick tests first, since a mutant that one of them detects needs no other test. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      moduleId.includes(group!.last) ? 2 : Number(/\.(?:host|long)\./.test(moduleId));
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  root: join(import.meta.dirname, "../.."),
  plugins: [lasting],
  // Replaces lib/kit/once.ts: values are computed again for each test or for each file (see setup.ts), so that tests run their code.
  resolve: { alias: [{ find: /^.*\/once\.ts$/, replacement: join(import.meta.dirname, "once.ts") }] },
  test: {
    include: group.tests,
    setupFiles: [join(import.meta.dirname, "setup.ts")],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    isolate: false,
    sequence: { sequencer: QuickFirst },
    env: { TMPDIR: makeRunFolder(), TEST_LENGTH: "short", ...group.env },
  },
});

/** Builds programs with one protection removed, to show that the harness notices. The source files are not changed. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as esbuild from "esbuild";

const root = join(import.meta.dirname, "../..");
const pauseCode = (ms) => `await new Promise((resolve) => globalThis.setTimeout(resolve, ${ms}));`;

/** Name, the faults that the harness may report, source file, and pairs of a text and its replacement (`$&`: the text). */
export const VARIANTS = [
  [
    "nothing removed",
    "",
    "local/open_store.ts",
    "  const lock = await acquireLock(state, undefined, ownerCommands.accept)",
    "$&",
  ],
  [
    "answers before it writes",
    "lost duplicated mismatch answer",
    "local/store/journal.ts",
    "        located = await write(writing);",
    `        for (const waiter of writing.waiters.splice(0)) waiter.durable(); ${pauseCode(5)} located = await write(writing);`,
  ],
  [
    "never writes one commit in fifty",
    "lost duplicated mismatch start answer",
    "local/store/journal.ts",
    "      nextBatch.add(writes);",
    "      if ((globalThis.commits = (globalThis.commits ?? 0) + 1) % 50 === 0) return Promise.resolve();\n$&",
  ],
  ["appends after a torn line", "start", "local/store/recover.ts", "    segment.bytes = end;", ""],
  [
    "recovers no lease at the start",
    "answer mismatch",
    "lib/changes/open_product.ts",
    "recoverAbandoned(deps, exclusive);",
    "Promise.resolve();",
  ],
  [
    "empties the product's file, then writes it",
    "mismatch answer",
    "local/targets/atomic_file.ts",
    "    await files.rename(temporary, path);",
    `await files.rm(temporary); await files.writeFile(path, ""); ${pauseCode(2)} await files.writeFile(path, text);`,
  ],
  [
    "forgets idempotency keys",
    "duplicated",
    "lib/changes/transaction.ts",
    "const reply = await replies?.find(tx, now);",
    "const reply = undefined;",
  ],
  [
    "starts in three seconds",
    "slow",
    "local/open_store.ts",
    "  const lock = await acquireLock(state, undefined, ownerCommands.accept)",
    `${pauseCode(3000)}\n$&`,
  ],
];

/** A program that stores the orders of steps only in memory, so that after a kill neither log nor order explains a share. */
export const UNORDERED = [
  "orders steps in memory only",
  "",
  "lib/changes/operations/lease.ts",
  '  tx.put("leases", key, lease as Lease);',
  '  if (lease.operation !== "stage") tx.put("leases", key, lease as Lease);',
  "  if (!isSameLease(await",
  '  if (lease.operation !== "stage" && !isSameLease(await',
];

/** Builds a variant and returns the path of its program. Throws if a text to replace does not occur exactly once. */
export async function buildVariant([name, , file, ...edits], folder) {
  const outfile = join(folder, "dist/local/ui_server.js");
  let replaced = 0;
  const setup = (build) =>
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path !== join(root, file)) return undefined;
      let contents = await readFile(path, "utf8");
      for (let index = 0; index < edits.length; index += 2) {
        const [text, replacement] = edits.slice(index, index + 2);
        const parts = contents.split(text);
        // A text that occurs once splits the source into two parts. `edits` has two members for each replacement.
        replaced += parts.length === 2 ? 2 : 0;
        contents = parts.join(replacement.replace("$&", () => text));
      }
      return { contents, loader: "ts" };
    });
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: ["local/ui_server.ts"],
    outfile,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "error",
    plugins: [{ name: "variant", setup }],
  });
  if (replaced !== edits.length) throw new Error(`"${name}": a text to replace does not occur exactly once in ${file}`);
  return outfile;
}

/** Measures the size of every bundle that a host loads, and compares it with its budget. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/**
 * Maximum gzipped sizes of bundles, in bytes. Shares of the Worker: 15 kB for the descriptions of fields in the API's document,
 * which the bundles of single handlers do not have; 8 kB for MCP; 58 kB for the phrases and rules of chat in two languages;
 * 10 kB for clients of models, notifications and evolved files; 4 kB for deployments on GitHub. Shares of each bundle: 2 kB for
 * copies and fences of a store; 2 kB for places and seen values; 3 kB for restores, permissions and metrics of target systems;
 * 12 kB for validated values and automatic applies; 5 kB for rollouts and their rule; 9 kB for advances on target systems,
 * promotions and release gates; 3 kB for telemetry and attestations; 5 kB for plans; 7 kB for mandates. Each function of Lambda
 * also has 9 kB for the verification of proxies' tokens, and an apply 4 kB for the signatures of a rollout's steps.
 */
export const BUDGETS = [
  { pattern: /^edge\/worker\.js$/, bytes: 371_000 },
  // It includes the queries of Find, which list changes, and the verification of mandates by the log.
  { pattern: /^edge\/product\/runtime\b/, bytes: 84_000 },
  // It includes the rules of every action, which decide what the caller may do with the change.
  { pattern: /^edge\/product\/change\b/, bytes: 112_500 },
  { pattern: /^edge\/product\/(?!runtime\b|change\b)/, bytes: 112_800 },
  { pattern: /^lambda\/product\/runtime\b/, bytes: 169_000 },
  { pattern: /^lambda\/product\/change\b/, bytes: 171_500 },
  { pattern: /^lambda\/product\/(?!runtime\b|change\b)/, bytes: 161_500 },
];

/** Lists the bundles in a folder, largest first, and those over their budget. */
export async function measureBundles(outdir) {
  const files = (await readdir(outdir, { recursive: true })).filter((file) => /^(?:edge|lambda)\b.*\.m?js$/.test(file));
  const measured = await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(join(outdir, file));
      return { file: file.replaceAll("\\", "/"), bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
    }),
  );
  const rows = measured.sort((a, b) => b.gzip - a.gzip);
  const overBudget = rows.filter(({ file, gzip }) =>
    BUDGETS.some(({ pattern, bytes }) => pattern.test(file) && gzip > bytes),
  );
  return { rows, overBudget };
}

/** Writes the sizes to `sizes.txt` in the folder. Errors: where a bundle is over its budget. */
export async function checkBundleSizes(outdir) {
  const { rows, overBudget } = await measureBundles(outdir);
  const line = ({ file, bytes, gzip }) => `${String(gzip).padStart(8)} ${String(bytes).padStart(8)}  ${file}\n`;
  await writeFile(join(outdir, "sizes.txt"), `    gzip    bytes  file\n${rows.map(line).join("")}`);
  if (overBudget.length > 0) throw new Error(`over its budget:\n${overBudget.map(line).join("")}`);
}

/** How much each host loads: every bundle's size, held to its budget. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/**
 * The largest gzipped size of what a host loads, in bytes. The Worker serves the document of the API, so the
 * descriptions of its fields are in it, some 15 kB; they are taken out of the bundles of single handlers. MCP, with
 * what it explains and describes, is 8 kB of it; with the official SDK it would be 58. What chat can be asked in two
 * languages, and what a model is held to, is some 58; the clients of models, notifications with their sentences and
 * evolved files are 10. That a store can be copied and fenced is some 2 kB of each; the places of changes, and what
 * consents saw there, another 2; restores, permissions and the calls of target systems that are counted, 3; the
 * validator of values with its rules, and automatic applies, 12; rollouts with the rule that decides them, which also
 * measures what one change shows, 5. The tokens of proxies are verified in each function of Lambda, which is 9 kB;
 * advances on target systems under a lease, promotions with the verdicts that they go by, and releases that others ask
 * for, are 9, telemetry and attestations 3, deployments on GitHub 4 of the Worker; plans, whose operations take back
 * what was set, and which drift and leases name one by one, are 5; mandates with their bounds and signatures 7. Signed
 * acts of a rollout are verified at each of its steps, and hosts without a check of their own are asked before a
 * rollback: 4 of an apply.
 */
export const BUDGETS = [
  { of: /^edge\/worker\.js$/, bytes: 371_000 },
  // Its list of changes is a query, as Find runs it; consents of mandates are judged by the log.
  { of: /^edge\/product\/runtime\b/, bytes: 84_000 },
  // It judges each act for its reader, by the rules of the act.
  { of: /^edge\/product\/change\b/, bytes: 112_500 },
  { of: /^edge\/product\/(?!runtime\b|change\b)/, bytes: 112_500 },
  { of: /^lambda\/product\/runtime\b/, bytes: 168_000 },
  { of: /^lambda\/product\/change\b/, bytes: 171_500 },
  { of: /^lambda\/product\/(?!runtime\b|change\b)/, bytes: 160_500 },
];

/** The bundles in a folder, largest first, and which are over their budget. */
export async function sizes(outdir) {
  const files = (await readdir(outdir, { recursive: true })).filter((file) => /^(?:edge|lambda)\b.*\.m?js$/.test(file));
  const measured = await Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(join(outdir, file));
      return { file: file.replaceAll("\\", "/"), bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length };
    }),
  );
  const rows = measured.sort((a, b) => b.gzip - a.gzip);
  const over = rows.filter(({ file, gzip }) => BUDGETS.some(({ of, bytes }) => of.test(file) && gzip > bytes));
  return { rows, over };
}

/** Writes the sizes to `sizes.txt` in the folder; rejects when one is over its budget. */
export async function holdBundles(outdir) {
  const { rows, over } = await sizes(outdir);
  const line = ({ file, bytes, gzip }) => `${String(gzip).padStart(8)} ${String(bytes).padStart(8)}  ${file}\n`;
  await writeFile(join(outdir, "sizes.txt"), `    gzip    bytes  file\n${rows.map(line).join("")}`);
  if (over.length > 0) throw new Error(`over its budget:\n${over.map(line).join("")}`);
}

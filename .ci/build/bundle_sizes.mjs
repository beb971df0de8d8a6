/** How much each host loads: every bundle's size, held to its budget. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** The handlers that show figures can fold what the log says beyond them, which is some 6 kB of their bundles; the pack makes a page. */
const FOLDING = "(?:approvals|change|co_evolution|intent|outcomes|pack|runtime)\\b";

/** The largest gzipped size of what a host loads, in bytes. */
export const BUDGETS = [
  { of: /^edge\/worker\.js$/, bytes: 163_000 },
  { of: new RegExp(`^edge/product/(?!${FOLDING})`), bytes: 60_500 },
  { of: /^edge\/product\//, bytes: 66_500 },
  { of: new RegExp(`^lambda/product/(?!${FOLDING})`), bytes: 96_500 },
  { of: /^lambda\/product\//, bytes: 101_000 },
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

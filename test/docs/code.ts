/** The TypeScript of the documents, as files that a compiler is run over. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Block, documents, ROOT } from "./markdown.ts";

/** The file that a block of code says it is, in its first line: `// hono.ts`. */
export const fileName = ({ text }: Block): string | undefined => /^\/\/ (\S+\.\w+)\n/.exec(text)?.[1];

/**
 * Writes every block into a folder; gives the paths. Its lines stand where they stand in its document. A block that is a
 * file has that name, so that others import it; any other is a module by itself.
 */
export function writeCode(folder: string): string[] {
  const written = new Map<string, string>();
  for (const { path, blocks } of documents()) {
    const at = join(folder, dirname(path));
    for (const block of blocks) {
      if (block.language !== "ts") continue;
      const name = fileName(block) ?? `${basename(path)}_${block.line}.ts`;
      const file = join(at, name);
      const other = written.get(file);
      if (other !== undefined) throw new Error(`${path}:${block.line}: ${other} has a file ${name} too`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${"\n".repeat(block.line - 1)}${block.text}\nexport {};\n`);
      written.set(file, `${path}:${block.line}`);
    }
    mkdirSync(at, { recursive: true });
    copyFileSync(join(ROOT, "local/example/product_intent.json"), join(at, "product_intent.json"));
  }
  return [...written.keys()];
}

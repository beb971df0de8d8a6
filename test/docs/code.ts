/** Writes the TypeScript blocks of the documents as files for a compiler. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Block, documents, ROOT } from "./markdown.ts";

/** Returns the file name in the first line of a block, such as `// hono.ts`. */
export const fileName = ({ text }: Block): string | undefined => /^\/\/ (\S+\.\w+)\n/.exec(text)?.[1];

/**
 * Writes every TypeScript block into a folder and returns the paths of the files. Empty lines before the code give it the line
 * numbers of the document. A block with a file name gets that name, so that other blocks can import the file.
 */
export function writeCode(folder: string): string[] {
  const written = new Map<string, string>();
  for (const { path, blocks } of documents()) {
    const target = join(folder, dirname(path));
    for (const block of blocks) {
      if (block.language !== "ts") continue;
      const name = fileName(block) ?? `${basename(path)}_${block.line}.ts`;
      const file = join(target, name);
      const earlierBlock = written.get(file);
      if (earlierBlock !== undefined) throw new Error(`${path}:${block.line}: ${earlierBlock} has a file ${name} too`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${"\n".repeat(block.line - 1)}${block.text}\nexport {};\n`);
      written.set(file, `${path}:${block.line}`);
    }
    mkdirSync(target, { recursive: true });
    // Blocks import this file from their own folder.
    copyFileSync(join(ROOT, "local/example/product_intent.json"), join(target, "product_intent.json"));
  }
  return [...written.keys()];
}

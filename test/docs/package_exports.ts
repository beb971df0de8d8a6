/** Lists the exports of the package with their sources. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "./markdown.ts";

/** Exported names, which may contain a `*`, with the paths of their sources. */
export const EXPORTED: [name: string, source: string][] = Object.entries(packageJson.exports).flatMap(
  ([name, target]) => {
    // JSON files, such as package.json, have no types.
    if (typeof target === "string") return [];
    const source = join(ROOT, target.types.replace("./dist/", "").replace(".d.ts", ".ts"));
    return [[name.replace(".", packageJson.name), source] satisfies [string, string]];
  },
);

/** Returns whether an application can import a name, such as `countersign/client`. */
export function isExported(name: string): boolean {
  return EXPORTED.some(([exported, source]) => {
    const [start, end] = exported.split("*") as [string, string | undefined];
    if (end === undefined) return name === exported;
    return name.startsWith(start) && name.endsWith(end) && existsSync(source.replace("*", name.slice(start.length)));
  });
}

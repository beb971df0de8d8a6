/** Exports of the package, with the source of each. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { ROOT } from "./markdown.ts";

/** Each exported name, which may contain a `*`, with the path of its source. */
export const EXPORTED: [name: string, source: string][] = Object.entries(packageJson.exports).flatMap(
  ([name, target]): [string, string][] =>
    typeof target === "string"
      ? []
      : [
          [
            name.replace(".", packageJson.name),
            join(ROOT, target.types.replace("./dist/", "").replace(".d.ts", ".ts")),
          ],
        ],
);

/** Returns whether an application can import this name. */
export function isExported(name: string): boolean {
  return EXPORTED.some(([exported, source]) => {
    const [start, end] = exported.split("*") as [string, string | undefined];
    if (end === undefined) return name === exported;
    return name.startsWith(start) && name.endsWith(end) && existsSync(source.replace("*", name.slice(start.length)));
  });
}

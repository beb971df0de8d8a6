/** The sorted map behind pages in memory, and the package that it uses, under Node's loader and in a bundle. */
import { execFileSync } from "node:child_process";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { sortedMap } from "../../../../lib/store/engine/sorted_map.ts";

/** Prints the keys and values of the last two entries. */
const PROGRAM = `
  import { sortedMap } from "./lib/store/engine/sorted_map.ts";
  const map = sortedMap();
  for (const key of ["b", "a", "c"]) map.set(key, key);
  console.log(map.page({ limit: 2, reverse: true }).join());
`;

/** Runs the program under Node, with its packages bundled or left to Node's loader, and returns its output. */
async function runProgram(packages: "bundle" | "external"): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: process.cwd() },
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    packages,
    write: false,
  });
  const program = outputFiles[0]!.text;
  return execFileSync(process.execPath, ["--input-type=module"], { input: program, encoding: "utf8" }).trim();
}

describe("a sorted map", () => {
  test("works under Node's loader, which nests the package's default export", async () => {
    expect(await runProgram("external")).toBe("c,c,b,b");
  });

  test("works in a bundle for a neutral platform", async () => {
    expect(await runProgram("bundle")).toBe("c,c,b,b");
  });

  test("returns pages from either end, without deleted entries", () => {
    const map = sortedMap<number>();
    for (let number = 0; number < 500; number++) map.set(String(number).padStart(3, "0"), number);
    map.delete("251");
    expect(map.size).toBe(499);
    expect(map.get("250")).toBe(250);
    expect(map.page({ after: "250", limit: 2 })).toEqual([
      ["252", 252],
      ["253", 253],
    ]);
    expect(map.page({ after: "252", limit: 2, reverse: true })).toEqual([
      ["250", 250],
      ["249", 249],
    ]);
    expect(map.page({ limit: 0 })).toEqual([]);
  });
});

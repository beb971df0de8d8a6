/** `npm run crash:prove` takes protections out of the sources: each must still stand where it is looked for. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error -- a script without types
import { VARIANTS } from "./variants.mjs";

test.each(VARIANTS as [string, string, string, string][])("%s", (_name, _faults, file, text) => {
  const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
  expect(source.split(text)).toHaveLength(2);
});

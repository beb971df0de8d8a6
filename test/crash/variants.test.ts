/** `npm run crash:prove` and `crash:rollouts -- --prove` replace texts of the sources: each text must occur there exactly once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error -- a script without types
import { UNORDERED, VARIANTS } from "./variants.mjs";

test.each([...VARIANTS, UNORDERED] as [name: string, faults: string, file: string, ...edits: string[]][])(
  "each replaced text of the variant occurs once: %s",
  (_name, _faults, file, ...edits) => {
    const source = readFileSync(join(import.meta.dirname, "../..", file), "utf8");
    // Each replaced text is followed by its replacement.
    const texts = edits.filter((_, index) => index % 2 === 0);
    expect(texts.filter((text) => source.split(text).length !== 2)).toEqual([]);
  },
);

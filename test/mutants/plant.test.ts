/** A fault that cannot be planted is told, with where its place may have gone: a list that fell behind proves nothing. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
// @ts-expect-error -- a script without types
import { planted, whyStale } from "./runner/plant.mjs";

const root = mkdtempSync(join(tmpdir(), "plant-"));
afterAll(() => rmSync(root, { recursive: true }));
for (const folder of ["handlers", "lib", "local", "test"]) mkdirSync(join(root, folder));
const write = (file: string, text: string) => writeFileSync(join(root, file), text);
write("lib/here.ts", "export const limit = 5;\nexport const name = `$&`;\nif (limit === 5) throw name;\n");
write("lib/there.ts", "export const most = (\n  a: number,\n) => a;\n");
write("test/near.test.ts", "");

const fault = { file: "lib/here.ts", find: "limit = 5", replace: "limit = 6", tests: ["test/near.test.ts"] };

test("a fault whose text stands there once can be planted, and plain text stays what it is", () => {
  expect(whyStale(root, fault)).toBeUndefined();
  expect(planted("limit = 5;", { ...fault, replace: "limit = '$&'" })).toBe("limit = '$&';");
  expect(planted("limit = 5;", { ...fault, find: /limit = (\d)/, replace: "limit = 1$1" })).toBe("limit = 15;");
});

test.each([
  ["more than once", { find: "5" }, "lib/here.ts has its text 2 times"],
  ["by a pattern more than once", { find: /limit\b/ }, "lib/here.ts has its text 2 times"],
  ["no more", { find: "limit = 7" }, /^lib\/here.ts does not have its text any more\.$/],
  ["in another file now", { file: "lib/there.ts" }, "does not have its text any more. It stands in lib/here.ts now."],
  ["in a file that was renamed", { file: "lib/gone.ts" }, "there is no lib/gone.ts. It stands in lib/here.ts now."],
  [
    "with other line breaks",
    { find: "const most = (a: number) => a;" },
    "With other spaces and line breaks it stands in lib/there.ts.",
  ],
  ["and is what replaces it", { replace: "limit = 5" }, "it changes nothing"],
  ["and makes no program", { replace: "limit = = 5" }, "with it lib/here.ts is no TypeScript"],
  ["and has no tests", { tests: ["test/far.test.ts"] }, "its nearest tests are not there: test/far.test.ts"],
])("a fault whose text stands there %s cannot", (_, over, reported) => {
  const reason = whyStale(root, { ...fault, ...over }) as string;
  if (typeof reported === "string") expect(reason).toContain(reported);
  else expect(reason).toMatch(reported);
});

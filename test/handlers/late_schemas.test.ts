/** Verifies that importing a product handler builds no schema: a process started for one request builds only those it needs. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const folder = new URL("../../handlers/product/", import.meta.url);

// Test files share the modules of their worker. Modules loaded earlier would hide a schema that is built on import, and
// the ones loaded here, with zod mocked, must not reach other files.
beforeAll(() => {
  vi.resetModules();
  // Without its exports, a schema that is built on import is an error.
  vi.doMock("zod", () => ({}));
});
afterAll(() => {
  vi.doUnmock("zod");
  vi.resetModules();
});

test.each(readdirSync(folder))("%s is imported without zod", async (file) => {
  await expect(import(new URL(file, folder).href)).resolves.toBeDefined();
});

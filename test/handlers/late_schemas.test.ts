/** A process that is started for one request makes the schemas of that one: importing a product handler makes none. */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const folder = new URL("../../handlers/product/", import.meta.url);

// Files share their worker's modules: those that others imported would make nothing now, and these are of no use to others.
beforeAll(() => {
  vi.resetModules();
  vi.doMock("zod", () => ({}));
});
afterAll(() => {
  vi.doUnmock("zod");
  vi.resetModules();
});

test.each(readdirSync(folder))("%s", async (file) => {
  await expect(import(new URL(file, folder).href)).resolves.toBeDefined();
});

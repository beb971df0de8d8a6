/** Tests how the size of an install is measured and limited. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../.ci/build/install_size.mjs";
import { temporaryFolder } from "./e2e/server.ts";

const { checkInstallSize, measureInstall } = building as {
  checkInstallSize(folder: string, budget?: number): Promise<string>;
  measureInstall(folder: string): Promise<{ packages: { path: string; bytes: number }[]; bytes: number }>;
};
const CHECKOUT = join(import.meta.dirname, "..");

/** Creates a folder with a lock file, and installs each package that has `bytes` as two files of that total size. */
function createProject(packages: Record<string, { bytes?: number } & Record<string, unknown>>): string {
  const folder = temporaryFolder();
  const locked: Record<string, unknown> = { "": { name: "project" } };
  for (const [path, { bytes, ...entry }] of Object.entries(packages)) {
    locked[path] = { version: "1.0.0", ...entry };
    if (bytes === undefined) continue;
    mkdirSync(join(folder, path, "lib"), { recursive: true });
    writeFileSync(join(folder, path, "lib/index.js"), "x".repeat(bytes - 2));
    writeFileSync(join(folder, path, "package.json"), "{}");
  }
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages: locked }));
  return folder;
}

test("each production package counts once, and development packages do not count", async () => {
  const folder = createProject({
    "node_modules/small": { bytes: 100 },
    "node_modules/large": { bytes: 5000 },
    "node_modules/small/node_modules/inner": { bytes: 700 },
    "node_modules/either": { bytes: 30, devOptional: true },
    "node_modules/tool": { bytes: 90_000, dev: true },
    // npm does not install an optional package of another platform.
    "node_modules/elsewhere": { optional: true },
  });
  const { packages, bytes } = await measureInstall(folder);
  expect(packages.map(({ path, bytes }) => [path, bytes])).toEqual([
    ["node_modules/large", 5000],
    ["node_modules/small/node_modules/inner", 700],
    ["node_modules/small", 100],
    ["node_modules/either", 30],
  ]);
  expect(bytes).toBe(5830);
  await expect(checkInstallSize(folder, 5830)).resolves.toContain("4 packages");
  await expect(checkInstallSize(folder, 5829)).rejects.toThrow("over its budget");
});

test("a package that is not installed is reported", async () => {
  const folder = createProject({ "node_modules/missing": {} });
  await expect(measureInstall(folder)).rejects.toThrow("node_modules/missing is not installed; run npm ci");
});

test("the install of this repository is within its budget", async () => {
  const { packages } = await measureInstall(CHECKOUT);
  expect(packages.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["node_modules/zod", "node_modules/itty-router"]),
  );
  await checkInstallSize(CHECKOUT);
});

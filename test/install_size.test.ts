/** An install is measured as a user gets it, and limited. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../.ci/build/install_size.mjs";
import { temporaryFolder } from "./e2e/server.ts";

const { holdInstall, installSize } = building as {
  holdInstall(folder: string, budget?: number): Promise<string>;
  installSize(folder: string): Promise<{ packages: { place: string; bytes: number }[]; bytes: number }>;
};
const CHECKOUT = join(import.meta.dirname, "..");

/** A folder with a lock, where each package that has a number has that many bytes, some of them deeper down. */
function project(packages: Record<string, { bytes?: number } & Record<string, unknown>>): string {
  const folder = temporaryFolder();
  const locked: Record<string, unknown> = { "": { name: "project" } };
  for (const [place, { bytes, ...entry }] of Object.entries(packages)) {
    locked[place] = { version: "1.0.0", ...entry };
    if (bytes === undefined) continue;
    mkdirSync(join(folder, place, "lib"), { recursive: true });
    writeFileSync(join(folder, place, "lib/index.js"), "x".repeat(bytes - 2));
    writeFileSync(join(folder, place, "package.json"), "{}");
  }
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ packages: locked }));
  return folder;
}

test("packages of production count, once each; those of development do not", async () => {
  const folder = project({
    "node_modules/small": { bytes: 100 },
    "node_modules/large": { bytes: 5000 },
    "node_modules/small/node_modules/inner": { bytes: 700 },
    "node_modules/either": { bytes: 30, devOptional: true },
    "node_modules/tool": { bytes: 90_000, dev: true },
    "node_modules/elsewhere": { optional: true },
  });
  const { packages, bytes } = await installSize(folder);
  expect(packages.map(({ place, bytes }) => [place, bytes])).toEqual([
    ["node_modules/large", 5000],
    ["node_modules/small/node_modules/inner", 700],
    ["node_modules/small", 100],
    ["node_modules/either", 30],
  ]);
  expect(bytes).toBe(5830);
  await expect(holdInstall(folder, 5830)).resolves.toContain("4 packages");
  await expect(holdInstall(folder, 5829)).rejects.toThrow("over its budget");
});

test("what is not installed is reported, not left out", async () => {
  const folder = project({ "node_modules/missing": {} });
  await expect(installSize(folder)).rejects.toThrow("node_modules/missing is not installed; run npm ci");
});

test("the checkout is within its budget", async () => {
  const { packages } = await installSize(CHECKOUT);
  expect(packages.map(({ place }) => place)).toEqual(
    expect.arrayContaining(["node_modules/zod", "node_modules/itty-router"]),
  );
  await holdInstall(CHECKOUT);
});

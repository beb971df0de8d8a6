/** Setup of the pages about target systems: the service accepts their example files. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { readTargets } from "../../../local/targets/config.ts";
import { findValueProblem } from "../../../local/targets/unleash_value.ts";
import { appKeyPem } from "../../support/github_stub.ts";
import type { DocumentSetup } from "./index.ts";

/** Reads a file of `--targets` as the service does at its start; the variables that it names are set. */
export function readTargetsExample(example: object): void {
  const text = JSON.stringify(example);
  const variables = [...text.matchAll(/"(\w+)_env":"(\w+)"/g)].map(([, field, name]) => [
    name,
    field === "url" ? "postgres://user:password@host:5432/database" : "a secret of some length",
  ]);
  const folder = mkdtempSync(join(tmpdir(), "targets-"));
  try {
    writeFileSync(join(folder, "targets.json"), text);
    if (text.includes("app.pem")) writeFileSync(join(folder, "app.pem"), appKeyPem("pkcs1"));
    readTargets(join(folder, "targets.json"), Object.fromEntries(variables));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const targets: DocumentSetup = {
  programs: [],
  prepare: () => ({
    exampleChecks: {
      "json targets": (example) => readTargetsExample(example as object),
      "json release": ({ head }) => expect(head).toMatch(/^[0-9a-f]{40}$/),
      "json value": (example) => expect(findValueProblem(example)).toBeUndefined(),
      "json system": (example) => readTargetsExample({ systems: [{ tenants: ["acme"], ...(example as object) }] }),
    },
  }),
};

/** Setups of pages whose examples are parsed by the code that reads such input, or compared with its schema. */
import { expect } from "vitest";
import * as z from "zod";
import { entrySchema } from "../../../lib/audit/entry.ts";
import { loadIntent } from "../../../lib/changes/rules/intent.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { proposalFields } from "../../../lib/http/proposal_fields.ts";
import { requirePlan } from "../../../lib/changes/rules/require_plan.ts";
import { readSplit } from "../../../lib/rollout/split_value.ts";
import { parseScenarios } from "../../../local/scenarios/read.ts";
import { manifest } from "../../support/intents.ts";
import type { DocumentSetup } from "./index.ts";

const readPolicy = (example: unknown): void =>
  void loadIntent(JSON.stringify(manifest(example as Record<string, never>)), portableSha256);

export const intentFields: DocumentSetup = {
  prepare: () => ({
    exampleChecks: {
      "json intent": (example) => void loadIntent(JSON.stringify(example), portableSha256),
      "json policy": readPolicy,
      // Only parsed: test/docs/scenarios.test.ts runs the scenarios.
      "yaml scenarios": (example) => void parseScenarios(JSON.stringify(example)),
    },
  }),
};

export const promotion: DocumentSetup = {
  prepare: () => ({
    exampleChecks: {
      "json promotion": (example) => void z.strictObject(proposalFields({})).parse(example),
      "json policy": readPolicy,
    },
  }),
};

export const plans: DocumentSetup = {
  prepare: () => ({
    exampleChecks: { "json plan": (example) => void requirePlan(z.strictObject(proposalFields({})).parse(example)) },
  }),
};

export const values: DocumentSetup = {
  prepare: () => ({ exampleChecks: { "json split": (example) => expect(readSplit(example)).toBeDefined() } }),
};

export const auditLog: DocumentSetup = {
  prepare: () => ({
    exampleChecks: {
      "json entry": (example) => expect(Object.keys(example)).toEqual(Object.keys(entrySchema().shape)),
    },
  }),
};

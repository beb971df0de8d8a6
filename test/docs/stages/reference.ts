/** The reference pages: their examples are what the code reads and writes. */
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
import type { Requirements } from "./index.ts";

const readPolicy = (example: unknown): void =>
  void loadIntent(JSON.stringify(manifest(example as Record<string, never>)), portableSha256);

export const intentFields: Requirements = {
  stage: () => ({
    readers: {
      "json intent": (example) => void loadIntent(JSON.stringify(example), portableSha256),
      "json policy": readPolicy,
      // test/docs/scenarios.test.ts plays them.
      "yaml scenarios": (example) => void parseScenarios(JSON.stringify(example)),
    },
  }),
};

export const promotion: Requirements = {
  stage: () => ({
    readers: {
      "json promotion": (example) => void z.strictObject(proposalFields({})).parse(example),
      "json policy": readPolicy,
    },
  }),
};

export const plans: Requirements = {
  stage: () => ({
    readers: { "json plan": (example) => void requirePlan(z.strictObject(proposalFields({})).parse(example)) },
  }),
};

export const values: Requirements = {
  stage: () => ({ readers: { "json split": (example) => expect(readSplit(example)).toBeDefined() } }),
};

export const auditLog: Requirements = {
  stage: () => ({
    readers: { "json entry": (example) => expect(Object.keys(example)).toEqual(Object.keys(entrySchema().shape)) },
  }),
};

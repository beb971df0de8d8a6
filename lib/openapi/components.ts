/** Parts that the document defines once: shared bodies, headers and the token. */
import * as z from "zod";
import { entrySchema } from "../audit/entry.ts";
import { findRowSchema } from "../find/answer.ts";
import { foundMemorySchema } from "../memory/recall.ts";
import { awaitingChangeSchema } from "../changes/waiting_change_schemas.ts";
import { decisionAnswer, operationAnswer, proposalAnswer } from "../http/change_answers.ts";
import { freezeAnswer } from "../http/decision_declaration.ts";
import { gateOutput } from "../http/gate_answer.ts";
import { signedAt } from "../http/proof_fields.ts";
import { rpcAnswerSchema } from "../http/rpc_answer.ts";
import { episodeSchema } from "../changes/drift.ts";
import { observedValueSchema } from "../changes/rules/moved_value.ts";
import { approvalSchema, changeSchema, lateNoteSchema, locationSchema, reviewSchema } from "../changes/rules/change.ts";
import { gateSchema } from "../changes/rules/gates.ts";
import { intentSummary } from "../operations/intent_view.ts";
import { freezeSchema } from "../changes/rules/freeze.ts";
import { missingSchema } from "../changes/rules/missing_consents.ts";
import { proofSchema } from "../changes/rules/proof.ts";
import { mandateSchema } from "../http/mandate_answers.ts";
import { signerSchema } from "../changes/rules/signers.ts";
import { evidenceSchema } from "../link/evidence.ts";
import { insightSchema, sharedInsightSchema } from "../link/insight.ts";
import { peerRowSchema } from "../link/port.ts";
import { actionName, actionSchema } from "../operations/action_log.ts";
import { phaseSchema } from "../operations/phases.ts";
import { outcomeSchema } from "../changes/rules/outcome.ts";
import { identitySchema } from "../changes/runtime.ts";
import { capabilitySchema } from "../operations/capability.ts";
import { activityRowSchema } from "../projections/activity.ts";
import { inboxItem, inboxList } from "../operations/inbox.ts";
import { contextSchema, failureSchema, successSchema } from "../http/ofrep_schemas.ts";
import { readinessSchema } from "../operations/readiness.ts";
import { stateSchema } from "../operations/state.ts";
import { feedbackSchema, taskSchema, taskStatsSchema } from "../operations/tasks.ts";
import { type JsonSchema, toJsonSchema, type SchemaNames } from "./json_schema.ts";

/** Names of the shared bodies. */
export const NAMED_SCHEMAS: SchemaNames = new Map<unknown, string>([
  [changeSchema(), "Change"],
  [approvalSchema(), "Approval"],
  [reviewSchema(), "Review"],
  [lateNoteSchema(), "LateNote"],
  [entrySchema(), "AuditEntry"],
  [outcomeSchema(), "Outcome"],
  [gateSchema(), "Gate"],
  [missingSchema(), "MissingConsent"],
  [locationSchema(), "Place"],
  [observedValueSchema(), "Seen"],
  [signerSchema(), "Signer"],
  [evidenceSchema(), "Evidence"],
  [proofSchema(), "Proof"],
  [signedAt(), "SignedAt"],
  [freezeSchema(), "Freeze"],
  [episodeSchema(), "DriftEpisode"],
  [proposalAnswer(), "Proposal"],
  [awaitingChangeSchema(), "AwaitingChange"],
  [findRowSchema(), "FoundChange"],
  [inboxItem, "InboxItem"],
  [inboxList, "InboxList"],
  [decisionAnswer(), "Decision"],
  [operationAnswer(), "Operation"],
  [freezeAnswer(), "FreezeState"],
  [gateOutput(), "GateAnswer"],
  [mandateSchema(), "Mandate"],
  [identitySchema(), "ProductInstanceIdentity"],
  [intentSummary(), "ProductIntent"],
  [stateSchema, "State"],
  [capabilitySchema, "Capability"],
  [activityRowSchema(), "GrowthRow"],
  [phaseSchema, "Phase"],
  [readinessSchema, "Readiness"],
  [taskSchema, "Task"],
  [feedbackSchema, "Feedback"],
  [taskStatsSchema, "TaskStats"],
  [actionSchema, "ActionRun"],
  [actionName, "ActionName"],
  [insightSchema(), "Insight"],
  [sharedInsightSchema(), "SharedInsight"],
  [peerRowSchema(), "Peer"],
  [foundMemorySchema, "Memory"],
  [contextSchema, "FlagContext"],
  [successSchema, "FlagValue"],
  [failureSchema, "FlagError"],
  [rpcAnswerSchema, "RpcAnswer"],
]);

/** The body of every error. */
const errorSchema = z
  .object({
    error: z.string().describe("A sentence for people."),
    code: z.string().describe("A stable word for programs."),
    status: z.int().describe("The HTTP status."),
    request_id: z.string().describe("Names the request in the service's log."),
    fields: z
      .array(
        z.object({
          field: z.string().describe("Which field; body for the whole."),
          message: z.string().describe("The fault of the field."),
        }),
      )
      .optional()
      .describe("For invalid_field: each field with its fault."),
    current_status: z.string().optional().describe("The status of the change as it is."),
    allowed: z.array(z.string()).optional().describe("Actions that the change allows now."),
  })
  .describe("The error for people and programs, with its remedy.");

/** Builds the schema of a shared body; it refers to the other shared bodies and not to itself. */
function bodySchema(type: z.ZodType): JsonSchema {
  const others = new Map([...NAMED_SCHEMAS].filter(([other]) => other !== type));
  return toJsonSchema(type, "output", others);
}

const text: JsonSchema = { type: "string" };

/** The names of the security schemes. */
export const ADMIN_TOKEN = "AdminToken";
export const BEARER = "Bearer";

/** Collects the components that `paths` refer to, directly or through other components. */
export function collectComponents(paths: object) {
  const builders = new Map([...NAMED_SCHEMAS].map(([type, name]) => [name, () => bodySchema(type as z.ZodType)]));
  const schemas: Record<string, JsonSchema> = { Error: bodySchema(errorSchema) };
  const addReferenced = (part: unknown): void => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name in schemas) continue;
      schemas[name] = builders.get(name)!();
      addReferenced(schemas[name]);
    }
  };
  addReferenced(paths);
  return {
    schemas,
    headers: {
      ETag: {
        description: "Version of the answer; for a change its revision, for If-Match.",
        required: true,
        schema: text,
      },
      "Idempotency-Replayed": {
        description: "This is the answer that was given to the same Idempotency-Key before.",
        schema: { type: "string", const: "true" },
      },
      "WWW-Authenticate": { description: "With 401: the header that is needed.", schema: text },
    },
    securitySchemes: {
      [ADMIN_TOKEN]: {
        type: "apiKey",
        in: "header",
        name: "X-Svc-Admin-Token",
        description: "Value of SVC_ADMIN_TOKEN; needed if that variable is set.",
      },
      [BEARER]: {
        type: "http",
        scheme: "bearer",
        description: "Secret of an agent; for reads also the value of SVC_READ_TOKEN.",
      },
    },
  };
}

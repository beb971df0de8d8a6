import * as z from "zod";
import { addRequestCache } from "../../lib/kit/request_cache.ts";
import { awaitStatus, MAX_WAIT_SECONDS } from "../../lib/changes/await_status.ts";
import { findCallerName, findActor } from "../../lib/changes/caller.ts";
import type { ChangesDeps } from "../../lib/changes/deps.ts";
import { episodeSchema } from "../../lib/changes/drift.ts";
import { entrySchema } from "../../lib/audit/entry.ts";
import { findWaiterName } from "../../lib/http/address.ts";
import { type Call, endpoint } from "../../lib/http/endpoint.ts";
import { CHANGE_ID } from "../../lib/http/examples.ts";
import { changeId, flag, personName, integer } from "../../lib/kit/fields.ts";
import { parseIfNoneMatch, notModified } from "../../lib/http/if_none_match.ts";
import { rolloutSchema } from "../../lib/changes/rollouts/rollout_view.ts";
import { changeSchema } from "../../lib/changes/rules/change.ts";
import { gateSchema } from "../../lib/changes/rules/gates.ts";
import { offersSchema } from "../../lib/changes/rules/offers.ts";
import { observedValueSchema } from "../../lib/changes/rules/moved_value.ts";
import { missingSchema } from "../../lib/changes/rules/missing_consents.ts";
import { signerSchema } from "../../lib/changes/rules/signers.ts";
import { isFinal } from "../../lib/changes/rules/transitions.ts";
import { outcomeSchema } from "../../lib/changes/rules/outcome.ts";
import { changeEvidence, evidenceSchema } from "../../lib/link/evidence.ts";
import { findRecordedRevision } from "../../lib/changes/views.ts";
import { readChangeDetail, readObservedValues } from "../../lib/operations/change_views.ts";
import { relatedSchema } from "../../lib/operations/related.ts";
import { answer, etag } from "../../lib/http/answer.ts";

/**
 * GET /api/product/changes/<id>: one change with its entries, outcome, allowed actions and gates; with `wait` it
 * answers as soon as the status changes. With `If-None-Match` it waits for the revision to change, and answers 304 if it does not.
 */
export const change = endpoint(
  {
    method: "GET",
    path: "/api/product/changes/:change_id",
    summary: "One change",
    operation: "getChange",
    description: "A change with its entries, outcome, consents and gates.",
    example: { change_id: CHANGE_ID },
    ownReads: "filtered",
    callerField: "person",
    product: true,
    input: () =>
      z.object({
        change_id: changeId().describe("Id of the change."),
        wait: integer(0, MAX_WAIT_SECONDS)
          .optional()
          .describe("Seconds to wait until the status changes, or with If-None-Match the revision."),
        person: personName().optional().describe("Reader; absent: the proxy's person."),
        seen: flag().optional().describe("Also reads the current values of its places."),
      }),
    output: () =>
      changeSchema().extend({
        audit_entries: z.array(entrySchema()).describe("Audit entries, oldest first."),
        outcome: outcomeSchema().nullable().describe("Movement of its KPI since the apply; null before."),
        allowed_actions: z
          .array(z.string())
          .meta({ description: "Actions that it allows now.", examples: [["approve", "deny", "withdraw"]] }),
        missing: z.array(missingSchema()).describe("Missing consents, by rule."),
        signers: z.array(signerSchema()).describe("People who consented, with the proof of each."),
        caller: offersSchema(),
        gates: z.array(gateSchema()).describe("Gates of its apply."),
        drift: episodeSchema().nullable().describe("Drift at the host product: since when, and how; else null."),
        rollout: rolloutSchema().optional(),
        related: z.array(relatedSchema()).describe("Other changes that it has to do with."),
        seen: z.array(observedValueSchema()).optional().describe("With seen: current values of its places."),
        evidence: evidenceSchema().nullable().describe("Results of similar changes at peers; null without any."),
      }),
    shared: ({ wait, seen, person }) => wait === undefined && !seen && person === undefined,
    notModified: true,
    errors: ["change_not_found", "evidence_mismatch", "identity_mismatch", "too_many_waiting"],
  },
  async ({ change_id, wait, person, seen: includesSeen }, call: Call<ChangesDeps>) => {
    const { deps, request } = call;
    const reader = findActor(call, findCallerName(call, person) ?? undefined);
    if (wait !== undefined) {
      const hasTag = parseIfNoneMatch(request);
      const { change: current, moved } = await awaitStatus(deps, change_id, {
        seconds: wait,
        isUnchanged: hasTag && (({ revision }) => hasTag(etag(revision))),
        name: findWaiterName(call),
        signal: request.signal,
      });
      // A 304 for a final change would make the client repeat the request without end.
      if (hasTag && !moved && !isFinal(current.status)) return notModified(etag(current.revision));
    }
    const detail = await readChangeDetail(addRequestCache(deps), change_id, reader);
    // A reader who sees only its own changes gets no evidence, which is about changes of others.
    const evidence = deps.reader ? null : await changeEvidence(deps.store, detail);
    const observed = includesSeen ? await readObservedValues(deps, detail) : {};
    const revision = findRecordedRevision(detail);
    return answer({ ...detail, evidence, ...observed }, 200, revision === undefined ? {} : { etag: etag(revision) });
  },
);

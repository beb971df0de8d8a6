/** All endpoints, those of the specification in its order, and the service with all of them. */
import { openService, type Service, type ServiceOptions } from "../lib/service.ts";
import type { Deps } from "../lib/deps.ts";
import type { Endpoint, Handler } from "../lib/http/endpoint.ts";
import { createRouter, type RouteOptions } from "../lib/http/router.ts";
import { actionList } from "./action_list.ts";
import { actionRunNow } from "./action_run_now.ts";
import { addCheckpoint } from "./add_checkpoint.ts";
import { capabilities } from "./capabilities.ts";
import { chat } from "./chat.ts";
import { chatHistory } from "./chat_history.ts";
import { docs } from "./docs.ts";
import { events } from "./events.ts";
import { evolved } from "./evolved.ts";
import { evolvedFile } from "./evolved_file.ts";
import { find } from "./find.ts";
import { findSaved } from "./find_saved.ts";
import { gate } from "./gate.ts";
import { gateCheck } from "./gate_check.ts";
import { gateGithub } from "./gate_github.ts";
import { inbox } from "./inbox.ts";
import { l1l5Trend } from "./l1l5_trend.ts";
import { livez } from "./livez.ts";
import { log } from "./log.ts";
import { memorySearch } from "./memory_search.ts";
import { mcp } from "./mcp.ts";
import { metrics } from "./metrics.ts";
import { openapi } from "./openapi.ts";
import { evaluateFlag } from "./ofrep/evaluate_flag.ts";
import { evaluateFlags } from "./ofrep/evaluate_flags.ts";
import { peerQuery } from "./peer_query.ts";
import { peers } from "./peers.ts";
import { approvals } from "./product/approvals.ts";
import { apply } from "./product/apply.ts";
import { approve } from "./product/approve.ts";
import { attestation } from "./product/attestation.ts";
import { audit } from "./product/audit.ts";
import { auditAcceptClock } from "./product/audit_accept_clock.ts";
import { auditAcceptLoss } from "./product/audit_accept_loss.ts";
import { auditCheckpoint } from "./product/audit_checkpoint.ts";
import { auditProof } from "./product/audit_proof.ts";
import { auditVerify } from "./product/audit_verify.ts";
import { certificate } from "./product/certificate.ts";
import { change } from "./product/change.ts";
import { coEvolution } from "./product/co_evolution.ts";
import { consentStatementEndpoint } from "./product/consent_statement.ts";
import { deny } from "./product/deny.ts";
import { drift } from "./product/drift.ts";
import { policy } from "./product/policy.ts";
import { erase } from "./product/erase.ts";
import { exportLog } from "./product/export.ts";
import { freeze } from "./product/freeze.ts";
import { identity } from "./product/identity.ts";
import { intent } from "./product/intent.ts";
import { kpi } from "./product/kpi.ts";
import { outcomes } from "./product/outcomes.ts";
import { pack } from "./product/pack.ts";
import { propose } from "./product/propose.ts";
import { proposeCrmFollowup } from "./product/propose_crm_followup.ts";
import {
  mandateDraft,
  mandate,
  mandateNarrow,
  mandateResume,
  mandateRevoke,
  mandates,
  mandateSign,
} from "./product/mandates.ts";
import { note } from "./product/note.ts";
import { review } from "./product/review.ts";
import { revoke } from "./product/revoke.ts";
import { restore } from "./product/restore.ts";
import { rollback } from "./product/rollback.ts";
import { runtime } from "./product/runtime.ts";
import { samples } from "./product/samples.ts";
import { stage } from "./product/stage.ts";
import { unfreeze } from "./product/unfreeze.ts";
import { values } from "./product/values.ts";
import { withdraw } from "./product/withdraw.ts";
import { readyz } from "./readyz.ts";
import { state } from "./state.ts";
import { taskFeedback } from "./task_feedback.ts";
import { taskSubmit, tasks } from "./tasks.ts";
import { watchedCheckpoint } from "./watched_checkpoint.ts";
import { whoami } from "./whoami.ts";

/** Returns the list below. openapi and docs are in the list, so they get this function and call it later. */
const listEndpoints = (): readonly Endpoint<Deps>[] => endpoints;

// prettier-ignore
export const endpoints: readonly Endpoint<Deps>[] = [
  runtime, audit, auditVerify, auditCheckpoint, auditProof, auditAcceptClock, auditAcceptLoss, intent, approvals, identity, coEvolution, change, certificate, outcomes,
  drift, policy, values, exportLog, pack, proposeCrmFollowup, propose, approve, deny, withdraw, revoke, consentStatementEndpoint, apply, rollback, restore, review, freeze, unfreeze, erase, note, stage, samples, kpi,
  mandates, mandate, mandateDraft, mandateSign, mandateNarrow, mandateResume, mandateRevoke,
  inbox, find, findSaved, state, log, capabilities, metrics, events,
  chat, chatHistory, memorySearch,
  tasks, taskSubmit, taskFeedback,
  evolved, evolvedFile, l1l5Trend, actionRunNow, actionList,
  peers, peerQuery,
  evaluateFlag, evaluateFlags,
  mcp,
  gate, gateCheck, gateGithub, attestation,
  addCheckpoint, watchedCheckpoint,
  whoami, livez, readyz, openapi(listEndpoints), docs(listEndpoints),
];

/** Creates one fetch function for all endpoints; `base` is the prefix of every path. Errors: `TypeError` for a malformed `base`. */
export const app = (deps: Deps, options?: RouteOptions): Handler => createRouter(endpoints, deps, options);

/** Opens a complete service on a store. Errors: `IntentInvalid`, `IdentityMismatch`, and those of the store. */
export const countersign = (options: ServiceOptions): Promise<Service> => openService(endpoints, options);

export { IdentityMismatch } from "../lib/changes/open_product.ts";
export { IntentInvalid } from "../lib/changes/rules/intent.ts";
export { Unanswered } from "../lib/kit/time_limit.ts";
export { targetAdapter, type TargetAdapterOptions } from "../lib/targets/adapter.ts";
export { TargetRejected } from "../lib/targets/port.ts";
export type { Attempt, AttemptContext, Entry, SetManyResult, SetResult } from "../lib/targets/port.ts";
export type { TargetSystem, TargetValue, Write } from "../lib/targets/port.ts";
export type { RoutedSystem } from "../lib/targets/routing.ts";
export type { AdapterResult, HostState, ProductAdapter, Validation } from "../lib/changes/operations/adapter_port.ts";
export type { Change } from "../lib/changes/rules/change.ts";
export type { Service, ServiceOptions } from "../lib/service.ts";
export type { Store } from "../lib/store/store.ts";

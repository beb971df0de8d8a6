/** Opens the governed core for tests: the endpoints of changes and of the log, and the part of a cycle that governs changes. */
import { apply } from "../../handlers/product/apply.ts";
import { approve } from "../../handlers/product/approve.ts";
import { audit } from "../../handlers/product/audit.ts";
import { auditAcceptClock } from "../../handlers/product/audit_accept_clock.ts";
import { auditAcceptLoss } from "../../handlers/product/audit_accept_loss.ts";
import { auditVerify } from "../../handlers/product/audit_verify.ts";
import { consentStatementEndpoint } from "../../handlers/product/consent_statement.ts";
import { deny } from "../../handlers/product/deny.ts";
import { drift } from "../../handlers/product/drift.ts";
import { erase } from "../../handlers/product/erase.ts";
import { freeze } from "../../handlers/product/freeze.ts";
import { kpi } from "../../handlers/product/kpi.ts";
import { note } from "../../handlers/product/note.ts";
import { restore } from "../../handlers/product/restore.ts";
import { propose } from "../../handlers/product/propose.ts";
import { proposeCrmFollowup } from "../../handlers/product/propose_crm_followup.ts";
import { review } from "../../handlers/product/review.ts";
import { revoke } from "../../handlers/product/revoke.ts";
import { rollback } from "../../handlers/product/rollback.ts";
import { samples } from "../../handlers/product/samples.ts";
import { stage } from "../../handlers/product/stage.ts";
import { unfreeze } from "../../handlers/product/unfreeze.ts";
import { withdraw } from "../../handlers/product/withdraw.ts";
import { sampleClock } from "../../lib/changes/confirmed_time.ts";
import { checkDrift } from "../../lib/changes/check_drift.ts";
import { expireDue } from "../../lib/changes/expire_changes.ts";
import { rollBackTripped } from "../../lib/changes/guardrail_rollback.ts";
import { recoverAbandoned } from "../../lib/changes/operations/recover.ts";
import { readChangeView } from "../../lib/changes/views.ts";
import { createRouter } from "../../lib/http/router.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { client } from "./client.ts";
import { openDeps, type TestDeps, type TestOptions } from "./deps.ts";

const ENDPOINTS = [
  propose,
  proposeCrmFollowup,
  approve,
  deny,
  withdraw,
  consentStatementEndpoint,
  revoke,
  review,
  freeze,
  unfreeze,
  erase,
  note,
  apply,
  rollback,
  restore,
  kpi,
  stage,
  samples,
  audit,
  auditAcceptClock,
  auditAcceptLoss,
  auditVerify,
  drift,
];

/** A client of the governed core alone, without projections of the log. */
export type Core = ReturnType<typeof makeCore>;

/** Opens the governed core and a client to it. */
export const core = async (options: TestOptions = {}): Promise<Core> =>
  makeCore(await openDeps({ store: memoryStore(), ...options }));

/** Returns a client of the governed core for dependencies that are already open. */
export const makeCore = (deps: TestDeps) => ({
  ...client(createRouter(ENDPOINTS, deps)),
  deps,
  change: (change_id: string) => readChangeView(deps, change_id),
  /** Runs the governance part of a cycle. */
  async cycle() {
    await sampleClock(deps);
    const changes = await deps.store.list("changes", { limit: 1000, keysOnly: true });
    const ids = changes.map(({ id }) => id);
    const expired = await expireDue(deps, ids);
    const recovered = await recoverAbandoned(deps);
    const { rolled_back, given_up } = await rollBackTripped(deps);
    return { expired, recovered, rolled_back, given_up, drift: await checkDrift(deps) };
  },
});

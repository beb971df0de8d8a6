/**
 * Apply and rollback. Effects on the host never sit inside a transaction: the claim is made durable, the adapter runs,
 * the result is committed with its entry under the claim's number. Without an adapter one transaction does it all.
 */
import { entryKey } from "../../audit/chain.ts";
import { differences, foldEntry, type Told } from "../rules/fold.ts";
import { AppError } from "../../kit/errors.ts";
import { type Answer, answer, etag, isAnswer } from "../../http/answer.ts";
import { requireMatch } from "../../http/if_match.ts";
import { StoreBusy, StoreUnavailable } from "../../store/store.ts";
import type { ProductAdapter } from "../adapters/port.ts";
import { type Change, digestOf } from "../rules/change.ts";
import { endClaim, inProgress, isAbandoned, makeClaim, readClaim } from "./lease.ts";
import { expireIfDue } from "../record_decision.ts";
import { applyToHost, type HostRun, lastStart, rollBackHost } from "./run_adapter.ts";
import { step } from "../../kit/time_limit.ts";
import type { Policy } from "../rules/intent.ts";
import { refuseForbiddenTarget, standingApprovals } from "../rules/policy.ts";
import type { ChangeRecord, Claim, GuardrailEvidence } from "../records.ts";
import { resolveClaim } from "./recover.ts";
import { type Circumstance, settle, settleFailure } from "./record_result.ts";
import { transition } from "../rules/transitions.ts";
import { type Caller, governed, type Unit } from "../transaction.ts";

/** How often a busy store is asked to keep a result; each time it tries for a few seconds itself. */
const ROUNDS = 5;

/** What is asked of a change. */
export interface OperateInput {
  change_id: string;
  operation: Claim["operation"];
  /** Checks and asks the adapter, and changes nothing. */
  dry_run?: boolean | undefined;
  /** Set when the service itself asks: a guardrail. */
  by?: string | undefined;
  evidence?: GuardrailEvidence | undefined;
}

const MOST_ENTRIES = 1000;

type Started = { claim: Claim; record: ChangeRecord } | { abandoned: Claim } | { rehearse: ChangeRecord };

/** Runs apply or rollback and answers with the change, the adapter's result and the entry. */
export function operate(caller: Caller, input: OperateInput): Promise<Answer> {
  const { deps } = caller;
  return deps.mutex(input.change_id, async () => {
    const adapter = deps.product?.adapter;
    for (;;) {
      const started = await governed<Started | Answer>(caller, (unit) => start(unit, caller, input, adapter));
      if (isAnswer(started)) return started;
      if ("abandoned" in started) await resolveClaim(deps, started.abandoned);
      else if ("rehearse" in started) return rehearsed(caller, await rehearse(adapter, started.rehearse));
      else return await recorded(caller, started.claim, await runOnHost(deps, adapter!, started));
    }
  });
}

async function start(
  unit: Unit,
  caller: Caller,
  input: OperateInput,
  adapter: ProductAdapter | undefined,
): Promise<Started | Answer | AppError> {
  const { operation } = input;
  const record = await unit.change(input.change_id);
  const claim = await readClaim(unit, input.change_id);
  if (claim && isAbandoned(claim, caller.deps.owner, unit.now)) return { abandoned: claim };
  const expired = await expireIfDue(unit, record);
  if (expired) return expired;
  transition(record.change, operation);
  if (operation === "apply") requireConsent(record.change, unit.product.intent.policy);
  if (claim) throw inProgress(input.change_id);
  if (operation === "apply") refuseEndlessTries(record);
  if (operation === "apply" && !(await isAsApproved(unit, record)))
    return refuseStale(unit, record, input.dry_run === true);
  if (caller.request) requireMatch(caller.request, record.change.revision);
  if (input.dry_run) return { rehearse: record };
  const by = input.by ?? caller.person;
  if (!adapter)
    return done(await settle(unit, record, operation, { adapter: null, by, evidence: input.evidence }), null);
  const made = {
    operation,
    owner: caller.deps.owner,
    ...(by ? { by } : {}),
    ...(input.evidence ? { evidence: input.evidence } : {}),
  };
  return { claim: makeClaim(unit, record, made), record };
}

/** Consent is asked again under today's intent. */
function requireConsent(change: Change, policy: Policy): void {
  refuseForbiddenTarget(change.target, policy);
  const standing = standingApprovals(change, policy).length;
  if (standing >= change.required_approvers) return;
  throw new AppError(
    "not_an_approver",
    `${standing} of ${change.required_approvers} consents count under today's intent; propose the change again`,
    { change_id: change.change_id },
  );
}

/**
 * Every try that fails is audited, and each further one reads all of them: a program that tries again for ever would fill
 * the log. A rollback is never refused for that.
 */
function refuseEndlessTries({ change, audit }: ChangeRecord): void {
  if (audit.length < MOST_ENTRIES) return;
  throw new AppError(
    "too_many_attempts",
    `${audit.length} audit entries are about ${change.change_id}; find out why it cannot be applied, and propose it again`,
    { change_id: change.change_id },
  );
}

/** Whether the content is the approved one, and the log itself tells of every consent that the record claims. */
async function isAsApproved({ tx, sha256 }: Unit, record: ChangeRecord): Promise<boolean> {
  const { change, audit } = record;
  if (digestOf(change, sha256) !== change.digest) return false;
  let told: Told | undefined;
  for (const id of audit) {
    const entry = (await tx.get("audit", entryKey(id)))?.value;
    if (entry?.change_id !== change.change_id) return false;
    told = foldEntry(told, entry, sha256);
  }
  return told !== undefined && differences(told, record, sha256).length === 0;
}

/** The content is not the one that consent was given to: only tampering does that, so it is recorded. */
async function refuseStale(unit: Unit, record: ChangeRecord, dryRun: boolean): Promise<AppError> {
  const { change_id } = record.change;
  const error = "the change's content is not what was approved";
  if (!dryRun) await settleFailure(unit, record, "apply", { stage: "consent", error, host: "unknown" });
  return new AppError("approval_stale", `${change_id} is not what was approved; propose it again`, { change_id });
}

/** What the adapter would do, without doing it. */
async function rehearse(adapter: ProductAdapter | undefined, { change }: ChangeRecord): Promise<Answer> {
  const body = { change_id: change.change_id, status: change.status, dry_run: true, change, audit_entry: null };
  if (!adapter) return answer({ ...body, adapter: null }, 200, { etag: etag(change.revision) });
  const validation = await step((signal) => adapter.validate(change, signal)).catch(() => {
    throw new AppError("adapter_failed", `the adapter ${adapter.name} failed in validate`, { stage: "validate" });
  });
  if (!validation.ok) throw rejected(adapter, validation.reason);
  return answer(
    { ...body, adapter: { name: adapter.name, result: "valid", preview: validation.preview ?? null } },
    200,
    { etag: etag(change.revision) },
  );
}

/** A rehearsal uses up its `Idempotency-Key` too: the same key must not rehearse first and apply next. */
const rehearsed = async (caller: Caller, rehearsal: Answer): Promise<Answer> =>
  caller.idempotency ? governed<Answer>(caller, async () => rehearsal) : rehearsal;

/** The host is left alone once the claim is so near its end that another may be at work before this one is done. */
function runOnHost(
  { clock }: Caller["deps"],
  adapter: ProductAdapter,
  { claim, record }: { claim: Claim; record: ChangeRecord },
): Promise<HostRun> {
  const run = claim.operation === "apply" ? applyToHost : rollBackHost;
  return run(adapter, record.change, () => clock.now() <= lastStart(claim.ends));
}

/**
 * Records what the host answered, with more patience than a request has otherwise: the host has changed already. For the
 * same reason it is not told as "nothing was changed" when it cannot be written.
 */
async function recorded(caller: Caller, claim: Claim, run: HostRun, rounds = ROUNDS): Promise<Answer> {
  try {
    return await finish(caller, claim, run);
  } catch (error) {
    if (error instanceof StoreBusy && rounds > 1) return recorded(caller, claim, run, rounds - 1);
    if (!(error instanceof StoreUnavailable || error instanceof StoreBusy)) throw error;
    const { change_id, operation } = claim;
    caller.deps.log.error("the result of an operation could not be written", {
      change_id,
      operation,
      error: String(error),
    });
    throw new AppError(
      "store_unavailable",
      `the host product was asked to ${operation === "apply" ? "apply" : "roll back"} ${change_id}, and the result could not be written; the next request for the change, or a cycle, asks the host and settles it`,
      { change_id },
    );
  }
}

/** Commits what the host answered, under the claim's own number. */
async function finish(caller: Caller, claim: Claim, run: HostRun): Promise<Answer> {
  const adapter = caller.deps.product!.adapter!;
  return governed<Answer>(caller, async (unit) => {
    const record = await unit.change(claim.change_id);
    await endClaim(unit, claim);
    if (run.ok) {
      const circumstance: Circumstance = {
        adapter: { name: adapter.name, ...run.result },
        by: claim.by,
        evidence: claim.evidence,
      };
      return done(await settle(unit, record, claim.operation, circumstance), circumstance.adapter);
    }
    const entry = await settleFailure(unit, record, claim.operation, {
      ...run.failure,
      by: claim.by,
      evidence: claim.evidence,
    });
    const { stage, host, error } = run.failure;
    if (run.failure.rejected) return rejected(adapter, error);
    return new AppError(
      "adapter_failed",
      `the adapter ${adapter.name} failed in ${stage}; the change stays ${record.change.status} and the host shows ${host}; audit entry ${entry.id} has the cause`,
      {
        change_id: claim.change_id,
        current_status: record.change.status,
        stage,
        host,
        audit_entry: { id: entry.id, current_hash: entry.current_hash },
      },
    );
  });
}

const rejected = (adapter: ProductAdapter, reason: string): AppError =>
  new AppError("adapter_rejected", `the adapter ${adapter.name} refuses the change: ${reason}`, { stage: "validate" });

function done({ record, entry }: Awaited<ReturnType<typeof settle>>, adapter: Circumstance["adapter"]): Answer {
  const { change } = record;
  const body = { change_id: change.change_id, status: change.status, change, adapter, audit_entry: entry };
  return answer(body, 200, { etag: etag(change.revision) });
}

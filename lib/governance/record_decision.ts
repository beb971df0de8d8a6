/** Carries a consent decision through one governed transaction. */
import type { GovernanceDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Call } from "../http/endpoint.ts";
import { type Answer, answer, etag } from "../http/answer.ts";
import { requireMatch } from "../http/if_match.ts";
import type { Change } from "./rules/change.ts";
import { type Decided, type Deciding, expire } from "./rules/consent.ts";
import type { Policy } from "./rules/intent.ts";
import { sameName } from "./rules/names.ts";
import type { ChangeRecord } from "./records.ts";
import { allowedActions } from "./rules/transitions.ts";
import { governed, type Unit } from "./transaction.ts";

type Decision = (change: Change, deciding: Deciding, policy: Policy) => Decided;

/**
 * Decides on one change and answers with the decision and its entry.
 * `field` is the input field that names the person.
 */
export function decideOn(
  call: Call<GovernanceDeps>,
  input: { change_id: string; note?: string | undefined },
  person: { field: "approver" | "proposer"; name: string },
  decision: Decision,
): Promise<Answer> {
  return governed(call, async (unit) => {
    const record = await unit.change(input.change_id);
    const expired = await expireIfDue(unit, record);
    if (expired) return expired;
    const { policy } = unit.product.intent;
    const decided = decision(record.change, { name: person.name, note: input.note ?? "", at: unit.at }, policy);
    requirePerson(call, person.field, person.name);
    requireMatch(call.request, record.change.revision);
    const saved = await saveDecision(unit, record, decided);
    const { change } = saved.record;
    return answer(
      {
        change_id: change.change_id,
        status: change.status,
        decision: decided.decision,
        approvals: change.approvals,
        change,
        audit_entry: saved.entry,
      },
      200,
      { etag: etag(change.revision) },
    );
  });
}

/** 403 `identity_mismatch` when a trusted proxy names somebody else than the request does. */
export function requirePerson(call: Pick<Call<GovernanceDeps>, "person" | "deps">, field: string, name: string): void {
  if (call.person === undefined || sameName(call.person) === sameName(name)) return;
  throw new AppError("identity_mismatch", `${field} must be the person named in ${call.deps.identityHeader}`, {
    field,
  });
}

/** Denies a change whose time is over, and returns the refusal that the request meets. */
export async function expireIfDue(unit: Unit, record: ChangeRecord): Promise<AppError | undefined> {
  const expired = expire(record.change, unit.product.intent.policy, unit.now, unit.at);
  if (!expired) return undefined;
  const { change } = (await saveDecision(unit, record, expired)).record;
  return new AppError(
    "illegal_transition",
    `${change.change_id} waited for consent longer than the intent allows and is denied; propose it again`,
    { change_id: change.change_id, current_status: change.status, allowed: allowedActions(change.status) },
  );
}

function saveDecision(unit: Unit, record: ChangeRecord, { change, decision, progress }: Decided) {
  return unit.save(record, change, {
    event_type: "consent_decision",
    detail: {
      decision,
      status: change.status,
      approver: change.approver,
      note: change.approval_note,
      ...(progress ? { progress } : {}),
      digest: change.digest,
      manifest_hash: unit.product.manifest_hash,
    },
  });
}

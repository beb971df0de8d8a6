/**
 * A change's record as it is written: without the id of the change, under which it lies, and without what a change holds
 * where nothing else was said or done. Versions before 0.2 wrote all of it, which is read as it lies.
 */
import type { Approval, Change } from "./change.ts";
import type { ChangeRecord, StoredRecord } from "./record.ts";

/** What a change holds where nothing else was said of it. */
const UNSAID = {
  expected_delta_k: null,
  affected_users: null,
  reversible: true,
  kpi: null,
  proposer: null,
  resolution: null,
  approver: null,
  approval_note: null,
  approvals: Object.freeze<Approval[]>([]) as Approval[],
  required_approvers: 1,
  decided_at: null,
  applied_at: null,
  rolled_back_at: null,
  revision: 1,
} satisfies Partial<Change>;
type LeftOut = "change_id" | keyof typeof UNSAID;

type Recorded = Pick<StoredRecord, "change" | "applied">;

/** A record as it lies in the store; without `applied` where the change was never applied. */
export type Written<R extends Recorded> = Omit<R, "change" | "applied"> &
  Partial<Pick<R, "applied">> & { change: Omit<Change, LeftOut> & Partial<Pick<Change, LeftOut>> };

/** A record to be written; frozen, as the record is. */
export function written({ change, applied, ...state }: ChangeRecord): Written<ChangeRecord> {
  const said: Record<string, unknown> = {};
  for (const field in change) {
    const value = change[field as keyof Change];
    if (field !== "change_id" && !isUnsaid(field, value)) said[field] = value;
  }
  const record = { change: Object.freeze(said), ...state, ...(applied && { applied }) };
  return Object.freeze(record) as Written<ChangeRecord>;
}

const isUnsaid = (field: string, value: unknown): boolean =>
  Object.hasOwn(UNSAID, field) &&
  (value === UNSAID[field as keyof typeof UNSAID] || (Array.isArray(value) && value.length === 0));

/** The record that lies under an id; what is none stays as it is. */
export function asRead<R extends Recorded>({ id, value }: { id: string; value: Written<R> }): R {
  const change: unknown = (value as Written<R> | null)?.change;
  if (typeof change !== "object" || change === null || "change_id" in change) return value as unknown as R;
  // Twice: what was said comes first, and holds.
  const whole = { change_id: id, ...change, ...UNSAID, ...change };
  return { ...value, change: whole, applied: value.applied ?? null } as unknown as R;
}

/** The record of which a store gives the text. */
export const recordIn = ({ id, text }: { id: string; text: string }): ChangeRecord =>
  asRead({ id, value: JSON.parse(text) as Written<ChangeRecord> });

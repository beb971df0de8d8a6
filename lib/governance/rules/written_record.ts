/**
 * A change's record as it is written: without the id of the change, under which it lies, and without what nobody has said of
 * the change. Versions before 0.2 wrote all of it, which is read as it lies.
 */
import type { Approval, Change } from "./change.ts";
import type { ChangeRecord } from "./record.ts";

/** What a change says where nothing was said. */
const UNSAID = {
  expected_delta_k: null,
  affected_users: null,
  kpi: null,
  proposer: null,
  resolution: null,
  approver: null,
  approval_note: null,
  approvals: Object.freeze<Approval[]>([]) as Approval[],
  decided_at: null,
  applied_at: null,
  rolled_back_at: null,
} satisfies Partial<Change>;
type LeftOut = "change_id" | keyof typeof UNSAID;
const LEFT_OUT: ReadonlySet<string> = new Set(Object.keys(UNSAID));

/** A record as it lies in the store. */
export type Written<R extends { change: Change }> = Omit<R, "change"> & {
  change: Omit<Change, LeftOut> & Partial<Pick<Change, LeftOut>>;
};

/** A record to be written; frozen, as the record is. */
export function written({ change, ...state }: ChangeRecord): Written<ChangeRecord> {
  const said: Record<string, unknown> = {};
  for (const field in change) {
    const value = change[field as keyof Change];
    if (field !== "change_id" && !(saysNothing(value) && LEFT_OUT.has(field))) said[field] = value;
  }
  return Object.freeze({ change: Object.freeze(said), ...state }) as Written<ChangeRecord>;
}

const saysNothing = (value: unknown): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** The record that lies under an id; what is none stays as it is. */
export function asRead<R extends { change: Change }>({ id, value }: { id: string; value: Written<R> }): R {
  const change: unknown = (value as Written<R> | null)?.change;
  if (typeof change !== "object" || change === null) return value as unknown as R;
  // Twice: what was said comes first, and holds.
  return { ...value, change: { change_id: id, ...change, ...UNSAID, ...change } } as unknown as R;
}

/** The record of which a store gives the text. */
export const recordIn = ({ id, text }: { id: string; text: string }): ChangeRecord =>
  asRead({ id, value: JSON.parse(text) as Written<ChangeRecord> });

/**
 * A change's record as it is stored: without the id, which is its key, and without fields that have their default.
 */
import type { Approval, Change } from "./change.ts";
import type { ChangeRecord } from "./record.ts";

/** Fields that are not stored if they have these values. */
const DEFAULTS = {
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
type DefaultField = keyof typeof DEFAULTS;

/** A stored record; without `applied` if the change was never applied. */
export type StoredChange = Omit<ChangeRecord, "change" | "applied"> &
  Partial<Pick<ChangeRecord, "applied">> & {
    change: Omit<Change, "change_id" | DefaultField> & Partial<Pick<Change, DefaultField>>;
  };

/** Returns the stored form of a record, frozen. */
export function toStoredChange({ change, applied, ...state }: ChangeRecord): StoredChange {
  const stated: Record<string, unknown> = {};
  for (const field in change) {
    const value = change[field as keyof Change];
    if (field !== "change_id" && !isDefault(field, value)) stated[field] = value;
  }
  const record = { change: Object.freeze(stated), ...state, ...(applied && { applied }) };
  return Object.freeze(record) as StoredChange;
}

/** Returns true for a field's default; `approvals` is the only field whose default is a list. */
const isDefault = (field: string, value: unknown): boolean =>
  Object.hasOwn(DEFAULTS, field) &&
  (value === DEFAULTS[field as keyof typeof DEFAULTS] || (Array.isArray(value) && value.length === 0));

/** Restores a record from its stored form; a value that is no record is returned as it is. */
export function fromStoredChange({ id, value }: { id: string; value: StoredChange }): ChangeRecord {
  const change: unknown = (value as StoredChange | null)?.change;
  if (typeof change !== "object" || change === null) return value as unknown as ChangeRecord;
  // The stored fields come twice: first for their order, last to override the defaults.
  const complete = { change_id: id, ...change, ...DEFAULTS, ...change };
  return { ...value, change: complete, applied: value.applied ?? null } as unknown as ChangeRecord;
}

/** Parses a record from the JSON text of a store. */
export const parseRecord = ({ id, text }: { id: string; text: string }): ChangeRecord =>
  fromStoredChange({ id, value: JSON.parse(text) as StoredChange });

/** Holds stored changes against the log. Records are read before the entries that they name, and after those that name them. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import type { RecordOf, Stored } from "../store/store.ts";
import type { ChangesDeps } from "./deps.ts";
import { foldOf } from "./history.ts";
import { agentPlace, placeOf, targetKey } from "./records.ts";
import { isLive, isReviewDue } from "./rules/in_force.ts";
import { type ChangeRecord, differences, isWhole } from "./rules/record.ts";
import { asRead } from "./rules/written_record.ts";

type Judging = Pick<ChangesDeps, "store" | "sha256">;

/** A record as it lies in the store. */
type Kept = Stored<ChangeRecord>;

/**
 * The fields in which a change does not hold: those of its record, `record` when that is missing or none, `log` when the log
 * does not tell of it or skips a step, `audit` when it leaves entries out, and the views that should tell of it or should not.
 */
export type Misfits = Map<string, readonly string[]>;

/** More fields in which a change was found not to hold; of what is no record nothing more is said. */
export const withFields = (known: readonly string[] = [], more: readonly string[]): readonly string[] =>
  known.includes("record") ? known : [...new Set([...known, ...more])];

/** Which of these records are not the fold of the entries that they name, or are shown by views as something else. */
export async function judgeRecords(deps: Judging, page: readonly Stored<RecordOf<"changes">>[]): Promise<Misfits> {
  const misfits: Misfits = new Map();
  const records = page.map((kept): Kept => ({ ...kept, value: asRead(kept) }));
  const whole = records.filter(({ value }) => isWhole(value));
  const stored = await deps.store.getMany(
    "audit",
    whole.flatMap(({ value }) => value.audit.map(entryKey)),
  );
  for (const record of records) {
    const { id, value } = record;
    const own = whole.includes(record) ? stored.splice(0, value.audit.length).map((entry) => entry?.value) : undefined;
    const fields = own ? judge(deps, record, own) : ["record"];
    if (fields.length > 0) misfits.set(id, fields);
  }
  const sound = whole.filter(({ id }) => !misfits.has(id));
  for (const [id, fields] of await judgeViews(deps, sound)) misfits.set(id, fields);
  return misfits;
}

function judge({ sha256 }: Judging, { id, value }: Kept, entries: readonly (AuditEntry | undefined)[]): string[] {
  if (!entries.every((entry) => entry?.change_id === id)) return ["audit"];
  const told = foldOf(entries);
  return told ? differences(told, value, sha256) : ["log"];
}

/** Which changes do not have entries that are about them. */
export async function judgeEntries({ store }: Judging, entries: readonly AuditEntry[]): Promise<Misfits> {
  const misfits: Misfits = new Map();
  const told = new Map<string, number[]>();
  for (const { change_id, id } of entries)
    if (change_id !== "") told.set(change_id, [...(told.get(change_id) ?? []), id]);
  const records = await store.getMany("changes", [...told.keys()]);
  [...told].forEach(([change_id, ids], index) => {
    const audit = (records[index]?.value as ChangeRecord | null | undefined)?.audit;
    if (!Array.isArray(audit)) misfits.set(change_id, ["record"]);
    else if (!ids.every((id) => audit.includes(id))) misfits.set(change_id, ["audit"]);
  });
  return misfits;
}

/** The views by which changes are found, and whether one tells of a change. */
const VIEWS = {
  live_by_target: ({ change }: ChangeRecord) => row(placeOf(change), isLive(change.status), true),
  owners: ({ change, applied }: ChangeRecord) =>
    applied
      ? row(targetKey(change) + entryKey(applied.entry), change.status === "applied", change.change_id)
      : undefined,
  live_by_agent: ({ change }: ChangeRecord) => {
    const place = agentPlace(change);
    return place === undefined ? undefined : row(place, isLive(change.status), true);
  },
  review_due: ({ change }: ChangeRecord) => row(change.change_id, isReviewDue(change), true),
} as const;

const row = <T>(id: string, stands: boolean, value: T) => ({ id, value: stands ? value : undefined });
const VIEW_NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

async function judgeViews({ store }: Judging, records: readonly Kept[]): Promise<Misfits> {
  const misfits: Misfits = new Map();
  for (const view of VIEW_NAMES) {
    const rows = records.flatMap((record) => {
      const told = VIEWS[view](record.value);
      return told ? [{ record, ...told }] : [];
    });
    const found = await store.getMany(
      view,
      rows.map(({ id }) => id),
    );
    for (const [index, { record, value }] of rows.entries()) {
      if (found[index]?.value === value) continue;
      // It may have moved since it was read.
      if ((await store.get("changes", record.id))?.revision !== record.revision) continue;
      misfits.set(record.id, [...(misfits.get(record.id) ?? []), view]);
    }
  }
  return misfits;
}

/** The rows of the views for one change, as they should be. */
export const viewsOf = (record: ChangeRecord) =>
  VIEW_NAMES.flatMap((view) => {
    const told = VIEWS[view](record);
    return told ? [{ view, ...told }] : [];
  });

/** A change's record at the moment it is used: held against every entry that the log has of it. */
import type { Sha256 } from "../kit/platform.ts";
import type { Evidence } from "./evidence.ts";
import { foldOf } from "./history.ts";
import type { Change } from "./rules/change.ts";
import { contentIn } from "./rules/content.ts";
import { type ChangeRecord, changeOf, differences, isWhole } from "./rules/record.ts";

/** For what it is used: `closing` ends it, `undoing` takes it back, `settling` tells how an operation on it ended. */
export type Use = "any" | "closing" | "undoing" | "settling";

/** A record, and the fields in which it is not what the log tells of its change. */
export interface Held {
  record: ChangeRecord;
  fields: string[];
}

interface Log {
  evidence: Evidence;
  length: number;
  sha256: Sha256;
}

/** Holds a record against the log; `log` where that does not tell of it, or skips a step. */
export async function heldAgainst(
  { evidence, length, sha256 }: Log,
  record: ChangeRecord,
  changeId: string,
): Promise<Held> {
  const { change, audit } = (record as ChangeRecord | null) ?? ({} as ChangeRecord);
  if (change?.status === undefined || change.change_id !== changeId || !Array.isArray(audit))
    return { record, fields: ["record"] };
  const isInOrder = audit.every((id, index) => Number.isInteger(id) && id > (audit[index - 1] ?? 0) && id <= length);
  if (audit.length === 0 || !isInOrder) return { record, fields: ["audit"] };
  const entries = await evidence.about(changeId, audit[0]!);
  if (entries.length !== audit.length || entries.some(({ id }, index) => id !== audit[index]))
    return { record, fields: ["audit"] };
  const told = foldOf(entries);
  if (!told) return { record, fields: ["log"] };
  return { record, fields: differences(told, record, sha256) };
}

/** The record that the log alone tells of, with a content that is the one it tells of; undefined where there is none. */
export async function fromLog(
  kept: { change: Change } | null,
  { evidence, sha256 }: Omit<Log, "length">,
  changeId: string,
): Promise<ChangeRecord | undefined> {
  const told = kept?.change ? foldOf(await evidence.about(changeId, 1)) : undefined;
  if (!told) return undefined;
  const content = contentIn(kept!.change);
  const record = { ...told, change: changeOf(told, content) };
  return isWhole(record) && differences(told, record, sha256).length === 0 ? record : undefined;
}

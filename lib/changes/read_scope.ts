/** Reads of changes as a caller may see them: an agent with `read: own` finds nothing of the others. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { changeNotFound, findChange, readRecord, readRecords } from "./records.ts";
import type { Reader } from "./rules/reader.ts";
import { canRead } from "./rules/reader.ts";
import type { ChangeRecord } from "./rules/record.ts";

type Reading = Pick<ChangesDeps, "store" | "reader">;

/** Returns the dependencies of a request whose caller reads its own changes only. */
export const limitToReader = <D extends object>(deps: D, reader: Reader): D => ({ ...deps, reader });

/** Reads a change's record to be shown; 404 `change_not_found`, also for one that the reader may not see. */
export async function findVisibleChange(deps: Reading, changeId: string): Promise<ChangeRecord> {
  const { store, reader } = deps;
  if (reader === undefined) return findChange(store, changeId);
  const record = await readRecord(store, changeId);
  if (record && canRead(reader, record.change)) return record;
  throw changeNotFound(changeId);
}

/** Returns those of these ids that name a change which the reader may see; all of them without a reader. */
export async function listVisibleIds(
  { store, reader }: { store: Pick<ChangesDeps["store"], "getMany">; reader?: Reader | undefined },
  changeIds: readonly string[],
): Promise<readonly string[]> {
  if (reader === undefined || changeIds.length === 0) return changeIds;
  const records = await readRecords(store, changeIds);
  return changeIds.filter((_, index) => records[index] !== undefined && canRead(reader, records[index].change));
}

/** Creates the error 403 `agent_may_not` for a read that shows the changes of others. */
export const createOwnReadsError = (agent: string): AppError =>
  new AppError(
    "agent_may_not",
    `${agent} may read only the changes that it proposed, and this shows those of others; ask a person for it`,
    { agent },
  );

const CHANGE_ID = /chg_[0-9a-f-]{36}/g;

/** Replaces the id of a change that the reader may not see. */
const ANOTHER = "another change";

/** Replaces in sentences the ids of changes that the reader may not see. */
export async function maskOthers(deps: Reading, sentences: readonly string[]): Promise<readonly string[]> {
  if (deps.reader === undefined) return sentences;
  const named = [...new Set(sentences.flatMap((text) => text.match(CHANGE_ID) ?? []))];
  const visible = new Set(await listVisibleIds(deps, named));
  return sentences.map((text) => text.replace(CHANGE_ID, (id) => (visible.has(id) ? id : ANOTHER)));
}

/** Runs a part of a request; its errors name no change that the reader may not see. */
export async function maskErrors<T>(deps: object, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    // A request has a reader only where there are an intent and a store.
    throw error instanceof AppError ? await maskError(deps as Reading, error) : error;
  }
}

async function maskError(deps: Reading, error: AppError): Promise<AppError> {
  // The error names only the id that the caller sent.
  if (deps.reader === undefined || error.code === "change_not_found") return error;
  const [message = "", ...texts] = await maskOthers(deps, [
    error.message,
    ...Object.values(error.details).map(formatValue),
  ]);
  const details = Object.keys(error.details).map((name, index) => [name, removeOthers(JSON.parse(texts[index]!))]);
  return new AppError(error.code, message, Object.fromEntries(details), error.headers);
}

const formatValue = (value: unknown): string => JSON.stringify(value ?? null);

/** Removes masked ids from the lists in an error's details. */
function removeOthers(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => one !== ANOTHER).map(removeOthers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, removeOthers(one)]));
}

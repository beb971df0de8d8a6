/** Reads changes as their caller may see them: with `read: own`, those that the agent proposed or whose samples it feeds. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { changeNotFound, findChange, readRecord, readRecords } from "./records.ts";
import type { RestrictedReader } from "./rules/reader.ts";
import { canRead } from "./rules/reader.ts";
import type { ChangeRecord } from "./rules/record.ts";

type ReadDeps = Pick<ChangesDeps, "store" | "reader">;

/** Returns the dependencies of a request whose caller may read only some changes. */
export const limitToReader = <D extends object>(deps: D, reader: RestrictedReader): D => ({ ...deps, reader });

/** Reads a change's record for display. Errors: 404 `change_not_found`, also for a change that the reader may not see. */
export async function findVisibleChange(deps: ReadDeps, changeId: string): Promise<ChangeRecord> {
  const { store, reader } = deps;
  if (reader === undefined) return findChange(store, changeId);
  const record = await readRecord(store, changeId);
  if (record && canRead(reader, record.change)) return record;
  throw changeNotFound(changeId);
}

/** Selects the ids of changes that the reader may see; without a reader, all ids. */
export async function listVisibleIds(
  { store, reader }: { store: Pick<ChangesDeps["store"], "getMany">; reader?: RestrictedReader | undefined },
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

/** Text in place of the id of a change that the reader may not see. */
const MASKED_ID = "another change";

/** Replaces in sentences the ids of changes that the reader may not see. */
export async function maskOtherChanges(deps: ReadDeps, sentences: readonly string[]): Promise<readonly string[]> {
  if (deps.reader === undefined) return sentences;
  const ids = [...new Set(sentences.flatMap((text) => text.match(CHANGE_ID) ?? []))];
  const visibleIds = new Set(await listVisibleIds(deps, ids));
  return sentences.map((text) => text.replace(CHANGE_ID, (id) => (visibleIds.has(id) ? id : MASKED_ID)));
}

/** Runs a part of a request; its errors name no change that the reader may not see. */
export async function maskErrors<T>(deps: object, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    // A request has a reader only where there are an intent and a store.
    throw error instanceof AppError ? await maskError(deps as ReadDeps, error) : error;
  }
}

async function maskError(deps: ReadDeps, error: AppError): Promise<AppError> {
  // `change_not_found` names only the id that the caller sent.
  if (deps.reader === undefined || error.code === "change_not_found") return error;
  const [message = "", ...texts] = await maskOtherChanges(deps, [
    error.message,
    ...Object.values(error.details).map(formatValue),
  ]);
  const details = Object.keys(error.details).map((name, index) => [name, removeOthers(JSON.parse(texts[index]!))]);
  return new AppError(error.code, message, Object.fromEntries(details), error.headers);
}

const formatValue = (value: unknown): string => JSON.stringify(value ?? null);

/** Removes masked ids from the lists in an error's details. */
function removeOthers(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== MASKED_ID).map(removeOthers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, removeOthers(member)]));
}

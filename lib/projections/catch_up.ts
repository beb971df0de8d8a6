/** Runs the slices of a projection one at a time in this process, and records why one failed. */
import { readCurrentHead, readHead } from "../audit/chain.ts";
import type { Store } from "../store/store.ts";
import { createLogReader, type LogReader } from "./log_reader.ts";
import { type LogEnd, projectSlice, type SliceResult } from "./project.ts";
import { type Projection, type ProjectionDeps, readCursor } from "./projection.ts";

/** Reasons of failures by projection. */
const failures = new WeakMap<Store, Map<string, string>>();

/** Returns the reason why a projection failed in its last run in this process; null if it did not. */
export const findProblem = ({ store }: Pick<ProjectionDeps, "store">, { name }: Projection): string | null =>
  failures.get(store)?.get(name) ?? null;

/** Returns how many entries a projection has not stored yet, and the reason if it fails. */
export async function readStatus(
  deps: ProjectionDeps,
  projection: Projection,
): Promise<{ behind: number; problem: string | null }> {
  try {
    const [head, cursor] = await Promise.all([readCurrentHead(deps), readCursor(deps, projection)]);
    const behind = (head?.length ?? 0) - (cursor?.entry ?? 0);
    return { behind, problem: findProblem(deps, projection) };
  } catch (error) {
    return { behind: 0, problem: String(error) };
  }
}

const readers = new WeakMap<Store, { head: string | undefined; read: LogReader }>();

/** Reads the end of the log. Its reader caches pages only until the log grows, since they may have content that is erased then. */
export async function readEnd(deps: ProjectionDeps, now: string): Promise<LogEnd> {
  const { length = 0, head } = (await readHead(deps.store)) ?? {};
  let reader = readers.get(deps.store);
  if (!reader || reader.head !== head)
    readers.set(deps.store, (reader = { head, read: createLogReader(deps, length) }));
  return { length, now, read: reader.read };
}

/** Projects one slice after those that were requested earlier. Never rejects: `findProblem` returns the reason of a failure. */
export function projectNext(
  deps: ProjectionDeps,
  projection: Projection,
  end: Promise<LogEnd>,
  proceed: () => boolean,
): Promise<SliceResult | "failed"> {
  return deps.mutex(`project ${projection.name}`, async () => {
    let reasons = failures.get(deps.store);
    if (!reasons) failures.set(deps.store, (reasons = new Map()));
    try {
      const log = await end;
      if (!proceed()) return "done";
      const result = await projectSlice(deps, projection, deps.store, log);
      reasons.delete(projection.name);
      return result;
    } catch (error) {
      if (!reasons.has(projection.name))
        deps.log.warn("a projection failed", { projection: projection.name, error: String(error) });
      reasons.set(projection.name, String(error));
      return "failed";
    }
  });
}

/** Projects every entry into one projection while `proceed` returns true; tries again after a conflict with another process. */
export async function catchUp(deps: ProjectionDeps, projection: Projection, proceed: () => boolean): Promise<void> {
  let result: string = "more";
  // With an empty time only entries count, not the time that has passed.
  while ((result === "more" || result === "conflict") && proceed())
    result = await projectNext(deps, projection, readEnd(deps, ""), proceed);
}

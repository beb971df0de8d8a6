/** Runs the slices of a projection one at a time in this process, and records why one failed. */
import { readCurrentHead, readHead } from "../audit/chain.ts";
import type { Store } from "../store/store.ts";
import { createLogReader, type LogReader } from "./log_reader.ts";
import { type LogEnd, projectSlice, type SliceResult } from "./project.ts";
import { type Projection, type ProjectionDeps, readCursor } from "./projection.ts";

const problems = new WeakMap<Store, Map<string, string>>();

/** Returns the reason why a projection failed in this process the last time it ran; `null` when it did not. */
export const findProblem = ({ store }: Pick<ProjectionDeps, "store">, { name }: Projection): string | null =>
  problems.get(store)?.get(name) ?? null;

/** Returns how many entries a projection has not stored yet, and the reason where it fails. */
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

/** Reads the end of the log; what was read of it is shared until it grows, and no longer, because of erasures. */
export async function readEnd(deps: ProjectionDeps, now: string): Promise<LogEnd> {
  const { length = 0, head } = (await readHead(deps.store)) ?? {};
  let known = readers.get(deps.store);
  if (!known || known.head !== head) readers.set(deps.store, (known = { head, read: createLogReader(deps, length) }));
  return { length, now, read: known.read };
}

/** Projects one slice after those that were requested earlier. Never rejects: a failure is the projection's problem. */
export function projectNext(
  deps: ProjectionDeps,
  projection: Projection,
  end: Promise<LogEnd>,
  proceed: () => boolean,
): Promise<SliceResult | "failed"> {
  return deps.mutex(`project ${projection.name}`, async () => {
    let failing = problems.get(deps.store);
    if (!failing) problems.set(deps.store, (failing = new Map()));
    try {
      const log = await end;
      if (!proceed()) return "done";
      const result = await projectSlice(deps, projection, deps.store, log);
      failing.delete(projection.name);
      return result;
    } catch (error) {
      if (!failing.has(projection.name))
        deps.log.warn("a projection failed", { projection: projection.name, error: String(error) });
      failing.set(projection.name, String(error));
      return "failed";
    }
  });
}

/** Brings one projection up to the head by its entries, also where another process projects it, as long as `proceed` allows. */
export async function catchUp(deps: ProjectionDeps, projection: Projection, proceed: () => boolean): Promise<void> {
  for (let result: string = "more"; (result === "more" || result === "conflict") && proceed();)
    result = await projectNext(deps, projection, readEnd(deps, ""), proceed);
}

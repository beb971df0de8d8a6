/** Verifies projections: rebuilds each in memory from the first entry, and compares the rows. */
import { canonicalJson } from "../kit/canonical_json.ts";
import { memoryStore } from "../store/memory.ts";
import { listRecords } from "../store/pages.ts";
import type { Collection, Store } from "../store/store.ts";
import { findProblem } from "./catch_up.ts";
import { createLogReader } from "./log_reader.ts";
import { projectSlice } from "./project.ts";
import type { Cursor, Projection, ProjectionDeps } from "./projection.ts";
import { projectAll, PROJECTIONS } from "./projector.ts";

const PAGE_SIZE = 500;
const MAX_MISMATCHES = 100;
const MAX_TRIES = 3;

/** Brings all projections up to the head and compares them; `mismatches`: the first hundred, by record and member. */
export async function verifyProjections(
  deps: ProjectionDeps,
): Promise<{ tallies_match: boolean; mismatches: string[] }> {
  await projectAll(deps);
  const mismatches: string[] = [];
  for (const projection of PROJECTIONS) mismatches.push(...(await verifyProjection(deps, projection)));
  return { tallies_match: mismatches.length === 0, mismatches: mismatches.slice(0, MAX_MISMATCHES) };
}

/** Lists the mismatches of one projection; none if another process moves it during every try. */
async function verifyProjection(deps: ProjectionDeps, projection: Projection): Promise<string[]> {
  const { store } = deps;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const stored = await store.get("cursors", projection.name);
    if (!stored || stored.value.clearing)
      return [`${projection.name}: not built: ${findProblem(deps, projection) ?? "yet"}`];
    // Within an entry, the rows are those of no log length, so they cannot be compared.
    if (stored.value.step !== "") continue;
    const mismatches = await compareRows(deps, projection, stored.value);
    if ((await store.get("cursors", projection.name))?.revision === stored.revision) return mismatches;
  }
  return [];
}

async function compareRows(deps: ProjectionDeps, projection: Projection, cursor: Cursor): Promise<string[]> {
  const { name, collections } = projection;
  const rebuilt = memoryStore();
  // `now` is empty: only entries are projected, and no time after the last one.
  const end = { length: cursor.entry, now: "", read: createLogReader(deps, cursor.entry) };
  while ((await projectSlice(deps, projection, rebuilt, end)) === "more");
  const { state } = (await rebuilt.get("cursors", name))!.value;
  const mismatches = listDifferences(name, cursor.state, state);
  for (const collection of collections) {
    const [stored, expected] = [await readAll(deps.store, collection), await readAll(rebuilt, collection)];
    for (const id of new Set([...stored.keys(), ...expected.keys()]))
      mismatches.push(...listDifferences(`${collection}/${id}`, stored.get(id), expected.get(id)));
  }
  return mismatches;
}

async function readAll(store: Store, collection: Collection): Promise<Map<string, unknown>> {
  const records = new Map<string, unknown>();
  for await (const { id, value } of listRecords(store, collection, { limit: PAGE_SIZE })) records.set(id, value);
  return records;
}

/** Lists differences between two values, by member if both are objects. */
function listDifferences(name: string, stored: unknown, expected: unknown): string[] {
  if (isObject(stored) && isObject(expected)) {
    const members = [...new Set([...Object.keys(stored), ...Object.keys(expected)])];
    return members.flatMap((member) => listDifferences(`${name} ${member}`, stored[member], expected[member]));
  }
  const storedText = formatValue(stored);
  const expectedText = formatValue(expected);
  if (storedText === expectedText) return [];
  return [`${name}: kept ${storedText.slice(0, 100)}, counted ${expectedText.slice(0, 100)}`];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const formatValue = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

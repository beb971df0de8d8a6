/** Whether what followers have stored is what the log says: folded anew from the first entry, in memory, and compared. */
import { canonicalJson } from "../kit/canonical_json.ts";
import { scratch } from "./overlay.ts";
import type { Collection, Store } from "../store/store.ts";
import { storeSlices } from "./catch_up.ts";
import { entryReader } from "./entry_reader.ts";
import type { Cursor, FollowDeps, Follower } from "./follower.ts";
import { followAll, FOLLOWERS, problemOf } from "./follow.ts";

const PAGE = 500;
const MOST_NAMED = 100;
const TRIES = 3;

/** Brings the followers up to the log's end and compares; `mismatches` names records, and members of them. */
export async function verifyFollowers(deps: FollowDeps): Promise<{ tallies_match: boolean; mismatches: string[] }> {
  await followAll(deps);
  const mismatches: string[] = [];
  for (const follower of FOLLOWERS) mismatches.push(...(await verifyOne(deps, follower)));
  return { tallies_match: mismatches.length === 0, mismatches: mismatches.slice(0, MOST_NAMED) };
}

/** One that another process moves each time it is looked at is not judged. */
async function verifyOne(deps: FollowDeps, follower: Follower): Promise<string[]> {
  const { store } = deps;
  for (let tries = 0; tries < TRIES; tries++) {
    const stored = await store.get("cursors", follower.name);
    if (!stored || stored.value.clearing) return [`${follower.name}: not built: ${problemOf(deps, follower) ?? "yet"}`];
    if (stored.value.step !== "") continue;
    const found = await compare(deps, follower, stored.value);
    if ((await store.get("cursors", follower.name))?.revision === stored.revision) return found;
  }
  return [];
}

async function compare(deps: FollowDeps, follower: Follower, kept: Cursor): Promise<string[]> {
  const { name, collections } = follower;
  const made = scratch();
  const until = { head: kept.entry, read: entryReader(deps, kept.entry) };
  while (await storeSlices(deps, follower, made, until));
  const { state } = (await made.get("cursors", name))!.value;
  const mismatches = differences(name, kept.state, state);
  for (const collection of collections) {
    const [before, anew] = [await all(deps.store, collection), await all(made, collection)];
    for (const id of new Set([...before.keys(), ...anew.keys()]))
      mismatches.push(...differences(`${collection}/${id}`, before.get(id), anew.get(id)));
  }
  return mismatches;
}

async function all(store: Store, collection: Collection): Promise<Map<string, unknown>> {
  const records = new Map<string, unknown>();
  for (let after = ""; ;) {
    const page = await store.list(collection, { after, limit: PAGE });
    for (const { id, value } of page) records.set(id, value);
    if (page.length < PAGE) return records;
    after = page.at(-1)!.id;
  }
}

/** Where two values differ: member by member where both have members. */
function differences(name: string, kept: unknown, made: unknown): string[] {
  if (isObject(kept) && isObject(made)) {
    const members = [...new Set([...Object.keys(kept), ...Object.keys(made)])];
    return members.flatMap((member) => differences(`${name} ${member}`, kept[member], made[member]));
  }
  const [a, b] = [shown(kept), shown(made)];
  return a === b ? [] : [`${name}: kept ${a.slice(0, 100)}, counted ${b.slice(0, 100)}`];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

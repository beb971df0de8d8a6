/** Changes that the service carries on by itself, and that lack a consent under the intent in force. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { allProven } from "./proven_consents.ts";
import { readRecords } from "./records.ts";
import { requireConsented } from "./rules/state_machine.ts";

const PAGE_SIZE = 100;

/** A change, and the consent that it lacks in words. */
export interface Unconsented {
  change_id: string;
  reason: string;
}

/** Lists approved changes that apply by themselves, and running rollouts, whose consents do not suffice any more. */
export async function listUnconsented(deps: ChangesDeps): Promise<Unconsented[]> {
  const { intent } = deps.product!;
  const scheduled = await listIds(deps, "applies_due");
  const ids = [...scheduled.map((id) => id.split("\n")[1]!), ...(await listIds(deps, "rollouts_running"))];
  const lacking: Unconsented[] = [];
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    const records = await readRecords(deps.store, ids.slice(at, at + PAGE_SIZE));
    const proven = await allProven(
      deps,
      records.filter((record) => record !== undefined),
    );
    for (const change of proven) {
      try {
        requireConsented(change, intent);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        lacking.push({ change_id: change.change_id, reason: error.message });
      }
    }
  }
  return lacking;
}

async function listIds({ store }: ChangesDeps, collection: "applies_due" | "rollouts_running"): Promise<string[]> {
  const ids: string[] = [];
  for (let after = "", more = true; more;) {
    const page = await store.list(collection, { after, limit: PAGE_SIZE, keysOnly: true });
    ids.push(...page.map(({ id }) => id));
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE_SIZE;
  }
  return ids;
}

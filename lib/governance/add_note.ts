/** Adds a late note to a change: one entry; the content, its digest and every decision stay as they are. */
import { type Answer, answer, etag } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { requireMatch } from "../http/if_match.ts";
import { namedActor } from "./act.ts";
import type { GovernanceDeps } from "./deps.ts";
import type { LateItem } from "./rules/change.ts";
import { governed } from "./transaction.ts";

/** What is added, by whom and to which change. */
export interface LateNoteInput {
  change_id: string;
  actor?: string | undefined;
  item: LateItem;
  note: string;
}

/** Adds it. Errors: 404 `change_not_found`, 400 `illegal_transition`. */
export const addLateNote = (
  call: Call<GovernanceDeps>,
  { change_id, actor, item, note }: LateNoteInput,
): Promise<Answer> =>
  governed(call, async (transaction) => {
    const before = await transaction.change(change_id);
    const by = namedActor(call, "note", actor);
    requireMatch(call.request, before.change.revision);
    const { record, change, entry } = transaction.enact(before, { type: "note", name: by.actor, item, note }, by);
    const { revision } = record.change;
    return answer({ change_id, change, audit_entry: entry }, 200, { etag: etag(revision) });
  });

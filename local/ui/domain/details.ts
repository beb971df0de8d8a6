/** Changes in full, many at a time: each is read once and kept until the log says something that concerns it. */
import type { AuditEntry, AuditPage, ChangeDetail } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { onNews } from "../core/live.ts";

const KEPT = 500;

const known = new Map<string, ChangeDetail>();
/** The newest entry that `known` has heard of. */
let head = "";
/** Whether something may have happened that was not told. */
let unsure = true;
/** Counts what was forgotten, so that an answer that is older than the news is not kept. */
let forgotten = 0;

onNews((news) => {
  if (news === null) unsure = true;
  else if (news.type === "audit") hear(news.data);
  else if (news.type === "growth") forget((id) => id === news.data.ref);
});

/** A change stands in the way of others of its tenant; without a tenant, an entry may concern any. */
function hear({ tenant, previous_hash, current_hash }: AuditEntry): void {
  forget((_id, { tenant_id }) => tenant === "" || tenant === tenant_id);
  if (previous_hash === head) head = current_hash;
}

function forget(concerned: (id: string, change: ChangeDetail) => boolean): void {
  forgotten++;
  for (const [id, change] of known) if (concerned(id, change)) known.delete(id);
}

/** Changes by their ids, in that order. */
export async function detailsOf(ids: readonly string[], signal: AbortSignal): Promise<ChangeDetail[]> {
  if (unsure) await makeSure(signal);
  return Promise.all(ids.map((id) => detailOf(id, signal)));
}

/** Forgets everything, unless the log still ends where it did. */
async function makeSure(signal: AbortSignal): Promise<void> {
  unsure = false;
  try {
    const page = await get<AuditPage>("api/product/audit", { limit: 1 }, signal);
    if (page.head !== head) forget(() => true);
    head = page.head;
  } catch (error) {
    unsure = true;
    throw error;
  }
}

async function detailOf(id: string, signal: AbortSignal): Promise<ChangeDetail> {
  const kept = known.get(id);
  if (kept) return kept;
  const before = forgotten;
  const detail = await get<ChangeDetail>(`api/product/changes/${encodeURIComponent(id)}`, {}, signal);
  if (known.size >= KEPT) known.clear();
  if (forgotten === before) known.set(id, detail);
  return detail;
}

/** Announces each change once in the activity log, and so in notifications, in the last quarter of its time. */
import { addNotice } from "../projections/activity_log.ts";
import type { Notice } from "../projections/activity.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting, type WaitingStatus, waitingPrefix, parseWait } from "../projections/waiting.ts";
import { readConfirmedTime } from "../changes/confirmed_time.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { EXPIRES_SOON_SHARE } from "../changes/rules/current_state.ts";
import { HOUR_MS } from "../kit/days.ts";
import { listPages } from "../store/pages.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** Sort key of the last announced change, by status: `<since> <change_id>`. Earlier ones are announced too. */
    expiring: AnnouncedChanges;
  }
}

type AnnouncedChanges = Partial<Record<WaitingStatus, string>>;

/** Sort key of a waiting change; `since` in milliseconds since the epoch. */
export const expiringKey = (since: number, changeId: string): string => `${new Date(since).toISOString()} ${changeId}`;

/** A change in the last quarter of its time; `sortKey` sorts by the start of the wait. */
interface Due {
  id: string;
  sortKey: string;
  expiresAt: number;
}

const PAGE_SIZE = 500;
/** A notice takes four writes at most, and a transaction is limited to `MAX_WRITES_PER_DECISION`. */
const NOTICES_PER_TRANSACTION = 10;
/** Maximum number of changes of a status that are announced in a cycle; the next cycle announces the rest. */
const MAX_ANNOUNCED = 200;

/** Adds a notice for each change that entered the last quarter of its time. */
export async function noticeExpiring(deps: ChangesDeps): Promise<void> {
  const { consent_ttl_hours, approval_ttl_hours } = deps.product!.intent.policy;
  const now = await readConfirmedTime(deps);
  // No time is confirmed to have passed yet.
  if (now === -Infinity) return;
  for (const [status, hours] of [
    ["pending_consent", consent_ttl_hours],
    ["approved", approval_ttl_hours],
  ] as const) {
    if (hours === undefined) continue;
    const due = (await listDue(deps, status, { now, ttl: hours * HOUR_MS })).slice(0, MAX_ANNOUNCED);
    for (let begin = 0; begin < due.length; begin += NOTICES_PER_TRANSACTION)
      await announce(deps, status, due.slice(begin, begin + NOTICES_PER_TRANSACTION));
  }
}

/** Lists changes in their last quarter that were not announced, in order of expiry; also expired ones that are not denied yet. */
async function listDue(
  deps: ChangesDeps,
  status: WaitingStatus,
  { now, ttl }: { now: number; ttl: number },
): Promise<Due[]> {
  const announced = (await deps.store.get("meta", "expiring"))?.value[status] ?? "";
  const latestStart = now - ttl * (1 - EXPIRES_SOON_SHARE);
  const read = await readProjection(deps, waiting);
  const prefix = waitingPrefix(status);
  const due: Due[] = [];
  for await (const page of listPages(read, "waiting", { prefix, limit: PAGE_SIZE })) {
    for (const { id: key, value } of page) {
      const id = key.slice(prefix.length);
      const { since } = parseWait(value);
      const sortKey = expiringKey(since, id);
      if (since <= latestStart && sortKey > announced) due.push({ id, sortKey, expiresAt: since + ttl });
    }
    // Rows are in the order of proposals: pending changes, but not approved ones, are in the order in which they began to wait.
    const last = page.at(-1);
    if (status === "pending_consent" && last && parseWait(last.value).since > latestStart) break;
  }
  return due.sort((a, b) => (a.sortKey < b.sortKey ? -1 : 1));
}

/** Adds notices in one transaction with the last sort key, so that concurrent processes announce none twice. */
const announce = ({ store, clock }: ChangesDeps, status: WaitingStatus, due: readonly Due[]): Promise<void> =>
  store.transact(async (tx) => {
    const announced = (await tx.get("meta", "expiring"))?.value ?? {};
    const unannounced = due.filter(({ sortKey }) => sortKey > (announced[status] ?? ""));
    if (unannounced.length === 0) return;
    const now = clock.now();
    // An expired change gets no notice any more, and is not listed again.
    for (const change of unannounced)
      if (change.expiresAt > now) await addNotice({ store }, tx, createNotice(status, change, now));
    tx.put("meta", "expiring", { ...announced, [status]: unannounced.at(-1)!.sortKey });
  });

function createNotice(status: WaitingStatus, { id, expiresAt }: Due, now: number): Notice {
  const by = new Date(expiresAt).toISOString();
  const [title, detail] =
    status === "approved"
      ? [`${id} is approved and lapses soon`, `It is denied unless it is applied by ${by}.`]
      : [`${id} waits for consent and expires soon`, `It is denied unless it has all consents by ${by}.`];
  return { at: new Date(now).toISOString(), kind: "change_expiring", title, detail, ref: id };
}

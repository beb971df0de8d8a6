/** Adds a notice, and so a notification, for each target that was restored three times within an hour. */
import { toChangeId } from "../changes/rules/operands.ts";
import { addNotice } from "../projections/activity_log.ts";
import type { OperationsDeps } from "./deps.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** `contested_until` of the changes that have their notice, by key of the episode. */
    contested: { noticed: Readonly<Record<string, string>> };
  }
}

const PAGE_SIZE = 1000;

/** Adds a notice for each newly contested value. */
export async function noticeContested(deps: OperationsDeps): Promise<void> {
  const { store, clock } = deps;
  const previous = (await store.get("meta", "contested"))?.value.noticed ?? {};
  const episodes = await store.list("drift", { limit: PAGE_SIZE });
  const noticed = Object.fromEntries(
    episodes.flatMap(({ id, value }) => (value.contested_until ? [[id, value.contested_until] as const] : [])),
  );
  const newlyContested = Object.entries(noticed).filter(([id, until]) => previous[id] !== until);
  if (newlyContested.length === 0) return;
  await store.transact(async (tx) => {
    tx.put("meta", "contested", { noticed });
    for (const [id, until] of newlyContested)
      await addNotice(deps, tx, {
        at: new Date(clock.now()).toISOString(),
        kind: "restore_contested",
        title: `The value of ${toChangeId(id)} is not restored before ${until}`,
        detail: "It was restored three times within an hour, and changed outside Countersign each time.",
        ref: toChangeId(id),
      });
  });
}

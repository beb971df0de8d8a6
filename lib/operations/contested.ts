/** Contested values: a notice, and so a notification, for each place that was restored three times within an hour. */
import { toChangeId } from "../changes/rules/operands.ts";
import { addNotice } from "../projections/activity_log.ts";
import type { OperationsDeps } from "./deps.ts";

declare module "../store/store.ts" {
  interface Meta {
    /** `contested_until` of the contested changes that were noticed. */
    contested: { noticed: Readonly<Record<string, string>> };
  }
}

const PAGE = 1000;

/** Leaves one notice for each value that was found contested since the last. */
export async function noticeContested(deps: OperationsDeps): Promise<void> {
  const { store, clock } = deps;
  const before = (await store.get("meta", "contested"))?.value.noticed ?? {};
  const episodes = await store.list("drift", { limit: PAGE });
  const noticed = Object.fromEntries(
    episodes.flatMap(({ id, value }) => (value.contested_until ? [[id, value.contested_until] as const] : [])),
  );
  const fresh = Object.entries(noticed).filter(([id, until]) => before[id] !== until);
  if (fresh.length === 0) return;
  await store.transact(async (tx) => {
    tx.put("meta", "contested", { noticed });
    for (const [id, until] of fresh)
      await addNotice(deps, tx, {
        at: new Date(clock.now()).toISOString(),
        kind: "restore_contested",
        title: `The value of ${toChangeId(id)} is not restored before ${until}`,
        detail: "It was restored three times within an hour, and changed outside Countersign each time.",
        ref: toChangeId(id),
      });
  });
}

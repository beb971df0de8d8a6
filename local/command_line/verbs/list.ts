/** Verb that lists changes. */
import { formatChanges } from "../change_text.ts";
import type { Verb } from "../verb.ts";

/** Lists changes, newest first. */
export const list: Verb = {
  usage: "list",
  operation: "GET /api/product/runtime",
  summary: "Changes, newest first",
  fields: [
    "status",
    "tenant_id",
    "person",
    "role",
    "proposer_kind",
    "kind",
    "target",
    "risk",
    "tier",
    "kpi",
    "resolution",
    "verdict",
    "drifted",
    "emergency",
    "text",
    "event",
    "from",
    "to",
    "limit",
    "before",
  ],
  async run({ client, columns, say }, { fields }) {
    // The fields are typed as unknown here; the service validates them.
    const query = { limit: 50, ...fields } as never;
    const { changes, total, next } = await client.get("/api/product/runtime", { params: { query } });
    if (next !== null) say(`${changes.length} of ${total}; the next: --before ${next}`);
    return { text: changes.length === 0 ? "no changes" : formatChanges(changes, columns) };
  },
};

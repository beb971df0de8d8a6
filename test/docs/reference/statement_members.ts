/**
 * Members of a signed statement, for the tables of docs/consent.md, which test/docs/field_tables.test.ts generates. The tables set
 * each key in backticks, so a key for several decisions has backticks between them.
 */
import type { StatementFacts } from "../../../lib/changes/rules/statement.ts";

/** Sentences of Markdown by member of the statement about a change. */
export const STATEMENT_MEMBERS: Readonly<Record<"v" | keyof StatementFacts, string>> = {
  v: "`countersign-consent/1`",
  origin: "the log's name",
  manifest_hash: "the intent's hash, as in `GET /api/product/intent`",
  decision:
    "`approve`, `approve_emergency`, `deny`, `revoke`, `review`, `withdraw`, `propose`, `note`, `apply`, `rollback`, `restore` or `stage`",
  approver: "the name, as in the request, of the person who decides, acts, proposes or adds a note",
  change_id: "the change; absent in a proposal",
  digest: "the SHA-256 of the change's content",
  places: "of a consent: where each value is set",
  apply_when: "of a consent: when the change applies by itself, if it does",
  seen: "of a consent: digests of the values that the approver saw, in the order of `places`",
  verdict: "of a review: `accepted` or `not_accepted`",
  item: "of a note that is added later: `rationale` or `note`",
  over_drift: "of a rollback that overwrites an outside edit: `true`",
  step: "of a decision on a rollout: its step",
  action: "of a decision on a rollout: `hold`, `resume` or `advance`",
  note: 'the note, or `""`',
  at: "RFC 3339 in UTC, within ten minutes of the service's clock",
};

/** Members of statements about other decisions, by decision. */
export const ACT_MEMBERS: Readonly<Record<string, string>> = {
  "freeze`, `unfreeze`, `feed_kpis`, `accept_clock`, `accept_loss`, `erase": "`actor` in place of `approver`",
  freeze: "also `until`, in UTC with milliseconds",
  feed_kpis: "also `kpis`",
  accept_loss: "also `length` and `head` of the [accepted end](operating.md#the-log-went-back)",
  erase: "also `change_id` and `digest`",
  mandate: "also `mandate_id`, every bound of the [mandate](mandates.md), and `systems`",
  "mandate_narrow`, `mandate_resume`, `mandate_revoke": "also `mandate_id`, `revision`, and the narrowed bounds",
};

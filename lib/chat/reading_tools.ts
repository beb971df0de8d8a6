/** The tools by which a model reads the product's records: one query behind them, and nothing that writes. */
import * as z from "zod";
import { changeId, line, time, wholeNumber, word } from "../http/form.ts";
import { EVENT_TYPES } from "../audit/entry.ts";
import type { PulseDeps } from "../pulse/deps.ts";
import { STATUSES } from "../governance/rules/change.ts";
import { pick } from "../pulse/change_views.ts";
import { inboxOf } from "../pulse/inbox.ts";
import { filterFields, filterOf } from "../pulse/query/asked.ts";
import { queryChanges } from "../pulse/query/change_query.ts";
import { queryEvents } from "../pulse/query/event_query.ts";
import { DIMENSIONS } from "../pulse/query/groups.ts";
import { EVENTS } from "../pulse/query/row.ts";
import { changeById, kpiStanding } from "./facts.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import { type Tool, tool } from "./tool.ts";

const LISTED = 20;

const between = {
  from: time().optional().describe("From this moment on, as 2026-11-16T00:00:00Z."),
  to: time().optional().describe("Before this moment."),
};
const limit = wholeNumber(1, LISTED).default(10).describe("How many at most.");

/** Which changes; what is left out asks for nothing. */
const filters = { tenant_id: line(200).optional(), status: word(STATUSES).optional(), ...filterFields() };

const page = {
  order: word(["newest", "oldest"]).default("newest"),
  limit,
  after: changeId().optional().describe("The next of the page before."),
};

/** Bytes of a page's rows; the rest of an answer has room within the tool's limit. */
const PAGE_BYTES = 14_000;

/** The rows that an answer has room for, one at least; where some are left out, `next` leads to the first of those. */
function pageWithin<R extends { change_id: string }>(name: string, rows: readonly R[], next: string | null) {
  let bytes = 0;
  const shown = rows.filter((row, index) => (bytes += bytesOfText(JSON.stringify(row))) <= PAGE_BYTES || index === 0);
  return { [name]: shown, next: shown.length < rows.length ? shown.at(-1)!.change_id : next };
}

/** Digests and revisions are of no use to a model. */
const LEFT_OUT = { digest: undefined, revision: undefined };

/** Everything that reads the product's records, by name. */
export const READING: Readonly<Record<string, Tool>> = {
  list_changes: tool({
    description: "Changes that fit all filters, with their outcome and drift. Says how many fit and how far it looked.",
    input: z.strictObject({ ...filters, ...page }),
    async run({ order, limit, after, ...asked }, { deps }) {
      const found = await queryChanges(deps, { ...filterOf(asked), order, limit, after });
      const { rows, total, next, looked, complete } = found;
      const changes = rows.map(({ change, outcome, drift }) => ({
        ...change,
        ...LEFT_OUT,
        outcome: outcome && pick(outcome, ["verdict", "kpi", "realised_delta"]),
        drift: drift && pick(drift, ["state", "since"]),
      }));
      return { ...pageWithin("changes", changes, next), total, looked, complete };
    },
  }),
  count_changes: tool({
    description: "How many changes that fit all filters have what in common: who approves most, how many a day.",
    input: z.strictObject({ ...filters, group: word(DIMENSIONS) }),
    async run({ group, ...asked }, { deps }) {
      const { groups, total, looked, complete } = await queryChanges(deps, { ...filterOf(asked), group });
      return { groups, total, looked, complete };
    },
  }),
  list_outcomes: tool({
    description:
      "What applied changes promised and what became of it, by the newest KPI feeds; the filters are those of changes.",
    input: z.strictObject({ ...filters, ...page, event: word(EVENTS).default("applied") }),
    async run({ order, limit, after, ...asked }, { deps }) {
      const { rows, total, next, looked, complete } = await queryChanges(deps, {
        ...filterOf(asked),
        order,
        limit,
        after,
      });
      const outcomes = rows.map(({ change, outcome }) => ({
        ...pick(change, ["change_id", "tenant_id", "target", "summary", "status"]),
        outcome,
      }));
      return { ...pageWithin("outcomes", outcomes, next), total, looked, complete };
    },
  }),
  list_pending: tool({
    description:
      "What waits: for consent, for its apply, for a review, or since the host drifted; what each lacks, and what of it waits for the person who is named.",
    input: z.strictObject({ person: line(200).optional(), limit }),
    run: ({ person, limit }, { deps }) => inboxOf(deps, { person: person ?? null, limit }),
  }),
  get_change: tool({
    description: "One change with its audit entries, outcome and what blocks it.",
    input: z.strictObject({ change_id: changeId() }),
    run: async ({ change_id }, { deps }) => (await changeById(deps, change_id)) ?? `there is no change ${change_id}`,
  }),
  get_audit: tool({
    description: "What happened, by the newest entries of the audit log that fit, the oldest of them first.",
    input: z.strictObject({
      change_id: changeId().optional(),
      tenant_id: line(200).optional(),
      person: line(200).optional().describe("Whoever did it."),
      type: word(EVENT_TYPES).optional(),
      ...between,
      limit,
    }),
    run: ({ type, ...asked }, { deps }) => eventsIn(deps, { ...asked, types: type && [type] }),
  }),
  list_failures: tool({
    description: "Failed operations and drift that the log tells of, and what drifts now.",
    input: z.strictObject({ change_id: changeId().optional(), tenant_id: line(200).optional(), ...between, limit }),
    async run(asked, { deps }) {
      const { entries: failures, ...rest } = await eventsIn(deps, { ...asked, types: FAILURES });
      const { change_id, tenant_id, limit } = asked;
      const { rows } = await queryChanges(deps, { drifted: true, change_id, tenant_id, limit });
      const drift = rows.map(({ change, drift }) => ({
        ...pick(change, ["change_id", "tenant_id", "target"]),
        ...drift,
      }));
      return { failures, ...rest, drift };
    },
  }),
  get_kpis: tool({
    description: "E and what each KPI adds to it.",
    input: z.strictObject({}),
    run: (_, { deps }) => kpiStanding(deps),
  }),
};

const FAILURES = ["change_apply_failed", "change_rollback_failed", "change_drifted"] as const;

type Events = Parameters<typeof queryEvents>[1];

/** What happened, without the hashes, of which a model could make nothing. */
async function eventsIn(
  { store }: PulseDeps,
  {
    change_id,
    tenant_id,
    ...asked
  }: Omit<Events, "change_ids" | "tenant_id"> & Partial<Record<"change_id" | "tenant_id", string | undefined>>,
) {
  const found = await queryEvents(store, {
    ...asked,
    tenant_id: tenant_id === undefined ? undefined : [tenant_id],
    change_ids: change_id === undefined ? undefined : new Set([change_id]),
  });
  const entries = found.entries.map(({ id, event_type, change_id: about, tenant, timestamp, facts }) => ({
    audit_id: id,
    event_type,
    change_id: about,
    tenant_id: tenant,
    at: timestamp,
    facts,
  }));
  return { ...found, entries };
}

/** Answers from the log: whether it holds, what happened, what failed. */
import { lastCheckpoint } from "../../audit/checkpoint.ts";
import { readHead } from "../../audit/chain.ts";
import type { EventType } from "../../audit/entry.ts";
import { verifyChain } from "../../audit/verify.ts";
import { misfitsOf } from "../../governance/patrol.ts";
import { driftReport } from "../../governance/drift.ts";
import { readRecords } from "../../governance/records.ts";
import { doerOf, queryEvents, type EventQuery } from "../../pulse/query/event_query.ts";
import { idsFrom } from "../../pulse/query/change_query.ts";
import { type Answer, type Asking, cite, find, lines, TOLD } from "./asking.ts";

/** A log of so many entries is checked whole for a question; a longer one is checked by the service's own rounds. */
const CHECKED = 20_000;
const TOLD_EVENTS = 30;

/** Whether the log holds, how long it is, its head and its newest checkpoint. */
export async function tellLog({ deps, say }: Asking): Promise<Answer> {
  const head = await readHead(deps.store);
  if ((head?.length ?? 0) <= CHECKED) await verifyChain(deps);
  const { breach, last } = deps.integrity;
  const { length = 0, head: hash = "" } = (await readHead(deps.store)) ?? {};
  const checkpoint = await lastCheckpoint(deps);
  const misfits = [...misfitsOf(deps.integrity).keys()];
  return {
    text: lines(
      say.log({ length, hash, breach, checked: last?.verified }),
      checkpoint ? say.checkpoint(checkpoint) : say.noCheckpoint,
      misfits.length > 0 ? say.misfits(misfits.slice(0, TOLD)) : "",
    ),
    citations: [...cite("audit", length > 0 ? [length] : []), ...cite("change", misfits.slice(0, TOLD))],
  };
}

/** What happened within the days that are asked for, to what is asked for, or by whom. */
export async function tellEvents(
  asking: Asking,
  types?: readonly EventType[],
  where?: EventQuery["where"],
): Promise<Answer> {
  const { deps, say, plan, question } = asking;
  const { person, period, tenant_id, ...about } = plan.filter;
  const isAboutTheirs = person?.as === "proposer";
  const { from, to } = period ?? {};
  const named = Object.keys(about).filter(
    (field) => field !== "resolution" && field !== "drifted" && field !== "verdict",
  );
  const doer = isAboutTheirs ? undefined : (person?.name ?? plan.doer?.name);
  const query: EventQuery = {
    from,
    to,
    types,
    where,
    person: doer,
    tenant_id: tenant_id === undefined ? undefined : [tenant_id].flat(),
    limit: question.has("most") ? 100 : TOLD_EVENTS,
    ...((named.length > 0 || isAboutTheirs) && { change_ids: await idsOf(asking) }),
  };
  const found = await queryEvents(deps.store, query);
  const records = await readRecords(deps.store, [...new Set(found.entries.map(({ change_id }) => change_id))]);
  const changes = new Map(records.flatMap((record) => (record ? [[record.change.change_id, record.change]] : [])));
  const asked = {
    ...plan.filter,
    period: undefined,
    resolution: undefined,
    person: isAboutTheirs ? person : undefined,
  };
  return {
    text: lines(
      say.events(
        {
          query: say.about(asked),
          who: doer,
          days: say.days({ from, to }),
          what:
            types === UNNOTED ? "unnoted" : types === undefined ? "all" : types === FAILURES ? "failures" : types[0]!,
        },
        found.total,
      ),
      Object.keys(found.counts).length > 1 ? say.eventCounts(found.counts) : "",
      found.total > found.entries.length ? say.newestEvents(found.entries.length) : "",
      found.entries.map((entry) => say.event(entry, doerOf(entry), changes.get(entry.change_id))),
      found.complete ? "" : say.lookedAtEntries(found.looked),
    ),
    citations: [
      ...cite("change", [...changes.keys()]),
      ...cite(
        "audit",
        found.entries.map(({ id }) => id),
      ),
    ],
    isNone: found.total === 0,
  };
}

/** The changes that a question is about, whenever they were proposed. */
async function idsOf(asking: Asking): Promise<ReadonlySet<string>> {
  const { period: _, person, resolution: __, tenant_id: ___, ...about } = asking.plan.filter;
  const of = person?.as === "proposer" ? { person } : {};
  return new Set(await idsFrom(asking.deps, asking.seen, { ...about, ...of }));
}

const FAILURES: readonly EventType[] = ["change_apply_failed", "change_rollback_failed", "change_drifted"];

const UNNOTED: readonly EventType[] = ["consent_decision"];

/** Consents that say nothing of why they were given. */
export const tellUnnoted = (asking: Asking): Promise<Answer> =>
  tellEvents(asking, UNNOTED, ({ facts }) => facts.decision === "approved" && !facts.note);

/** What failed, and what drifts. */
export async function tellFailures(asking: Asking): Promise<Answer> {
  const failed = await tellEvents(asking, FAILURES);
  if (asking.plan.filter.period || asking.plan.isNarrow) return failed;
  const drift = await tellDrift(asking);
  return { text: lines(failed.text, drift.text), citations: [...failed.citations, ...drift.citations] };
}

/** Proposals that the intent forbids, which never became changes. */
export function tellRefused(asking: Asking): Promise<Answer> {
  const { status: _, resolution: __, ...filter } = asking.plan.filter;
  return tellEvents({ ...asking, plan: { ...asking.plan, filter } }, ["proposal_refused"]);
}

/** What the host no longer shows, and when it was looked at last. */
export async function tellDrift(asking: Asking): Promise<Answer> {
  const { deps, say, plan } = asking;
  const { drifted, missing, checked_at } = await driftReport(deps);
  const { period: _, resolution: __, ...filter } = plan.filter;
  const asked = new Set(await idsFrom(deps, asking.seen, { ...filter, drifted: true }));
  const { tenant_id, target, text, change_id } = plan.filter;
  const narrow = [tenant_id, target, text, change_id].some((one) => one !== undefined);
  const episodes = [...missing, ...drifted].filter((one) => !narrow || asked.has(one.change_id));
  // Whose it is stands in the line of the change.
  const asksMore = asking.question.has("who", "why", "proposed", "approved", "applied");
  const shown = asksMore
    ? (await find(asking, { change_id: episodes.map((one) => one.change_id), limit: TOLD })).rows
    : [];
  const past = deps.product?.adapter || episodes.length > 0;
  return {
    text: lines(
      past
        ? say.drift(episodes.length, checked_at, narrow ? say.about({ tenant_id, target, text, change_id }) : "")
        : say.noDriftCheck,
      asksMore ? shown.map(say.row) : episodes.slice(0, TOLD).map(say.driftRow),
    ),
    citations: cite(
      "change",
      episodes.slice(0, TOLD).map((one) => one.change_id),
    ),
  };
}

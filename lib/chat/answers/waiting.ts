/** What waits: for consent, for its apply, for a review; and what of it waits for one person. */
import { heldNow } from "../../governance/freeze.ts";
import { allProven } from "../../governance/proven_consents.ts";
import { readRecords } from "../../governance/records.ts";
import { reviewsDue } from "../../governance/reviews_due.ts";
import { awaits } from "../../governance/rules/awaits.ts";
import { deadlineOf } from "../../governance/rules/in_force.ts";
import { reviewersOf } from "../../governance/rules/break_glass.ts";
import type { Change } from "../../governance/rules/change.ts";
import { type Gate } from "../../governance/rules/gates.ts";
import { type Missing } from "../../governance/rules/missing.ts";
import { sameName } from "../../governance/rules/names.ts";
import { approvesOwn, isDecider } from "../../governance/rules/policy.ts";
import { standingsOf } from "../../governance/standings.ts";
import { idsFrom } from "../../pulse/query/change_query.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import { type Answer, type Asking, cite, find, howFar, lines, TOLD } from "./asking.ts";
import { isWithin } from "./due.ts";
import { tellEvents } from "./log.ts";
import { howToList } from "./how_to_list.ts";

/** So many waiting changes are looked through for one person. */
const LOOKED_THROUGH = 1000;

/** A change with what it lacks and what is in its way. */
interface Waiting {
  change: Change;
  /** Until when it may wait, RFC 3339; null where that is not limited. */
  until: string | null;
  missing: Missing[];
  blocked_by: Gate[];
}

/** What waits for consent and for its apply, oldest first; `only` one of them. */
export async function tellWaiting(asking: Asking, only?: "pending_consent" | "approved"): Promise<Answer> {
  const { deps, say, plan } = asking;
  const { status: _, period: __, ...filter } = plan.filter;
  const told = async (status: "pending_consent" | "approved", title: (count: number) => string) => {
    if (only !== undefined && only !== status) return { text: "", ids: [] };
    const asked: ChangeFilter = {
      ...filter,
      status,
      ...(plan.filter.period?.from || plan.filter.period?.to ? { period: plan.filter.period } : {}),
    };
    const { rows, total } = await find(asking, { ...asked, limit: TOLD, order: "oldest" });
    const waiting = await standing(
      asking,
      rows.map(({ change }) => change.change_id),
    );
    return {
      text: lines(
        Object.keys(asked).length > 1 ? say.title(say.query(asked), total) : title(total),
        waiting.map(say.waiting),
        total > rows.length ? say.more(total - rows.length, howToList(asked) ?? say.narrower) : "",
      ),
      ids: waiting.map(({ change }) => change.change_id),
    };
  };
  const pending = await told("pending_consent", say.pending);
  const approved = await told("approved", say.approved);
  const reviews = only === undefined && Object.keys(filter).length === 0 ? await reviewsDue(deps.store) : [];
  return {
    text: lines(
      pending.text,
      approved.text,
      reviews.map(say.reviewDue),
      only === "pending_consent" && Object.keys(filter).length === 0 ? await approvedToo(asking) : "",
      howFar(asking),
    ),
    citations: cite("change", [...pending.ids, ...approved.ids, ...reviews.map(({ change_id }) => change_id)]),
  };
}

/** How many approved changes wait beside those that were asked for. */
async function approvedToo(asking: Asking): Promise<string> {
  const { total } = await find(asking, { status: "approved", group: "status" });
  return total === 0 ? "" : asking.say.approvedToo(total);
}

/** What is approved, with what is in its way: what has nothing may be applied now. */
export async function tellReady(asking: Asking): Promise<Answer> {
  const { say, plan } = asking;
  // What "I may apply" is not what has to do with me.
  const person = asking.question.has("me") ? undefined : plan.filter.person;
  const filter: ChangeFilter = { ...plan.filter, person, status: "approved" };
  const { rows, total } = await find(asking, { ...filter, limit: 50, order: "oldest" });
  const waiting = await standing(
    asking,
    rows.map(({ change }) => change.change_id),
  );
  const ready = waiting.filter(({ blocked_by }) => blocked_by.length === 0);
  const held = waiting.filter(({ blocked_by }) => blocked_by.length > 0);
  const { status: _, period: __, ...others } = filter;
  return {
    text: lines(
      Object.values(others).some((one) => one !== undefined) ? say.title(say.query(filter), total) : "",
      say.ready(ready.length),
      ready.map(say.waiting),
      held.length > 0 ? [say.held(held.length), ...held.map(say.waiting)] : "",
      total > rows.length ? say.more(total - rows.length, howToList(filter) ?? say.narrower) : "",
    ),
    citations: cite(
      "change",
      waiting.map(({ change }) => change.change_id),
    ),
  };
}

/** What waits for one person: what they may decide on, have not decided on, and did not propose where that matters. */
export async function tellWaitingFor(asking: Asking, person: string): Promise<Answer> {
  const { deps, say, plan, page, question } = asking;
  const { intent } = deps.product!;
  // By when it is to be decided: what has more time, or all the time there is, waits too, and not so long.
  const isInTime = (at: number | undefined): boolean =>
    question.ahead === undefined || (at !== undefined && isWithin(at, question.ahead));
  const { tenant_id, kind, risk, tier, kpi, proposer_kind, text } = plan.filter;
  const filter: ChangeFilter = { tenant_id, kind, risk, tier, kpi, proposer_kind, text, status: "pending_consent" };
  const ids = await idsFrom(deps, asking.seen, { ...filter, order: "oldest" });
  const records = await readRecords(deps.store, ids.slice(0, LOOKED_THROUGH));
  const found = records.flatMap((record) => record ?? []);
  const own: Change[] = [];
  const done: Change[] = [];
  const mine: Change[] = [];
  let others = 0;
  for (const change of await allProven(deps, found)) {
    if (awaits(change, person, intent)) {
      if (isInTime(deadlineOf(change, intent.policy))) mine.push(change);
    } else if (approvesOwn(change, person, intent.policy)) own.push(change);
    else if (change.approvals.some(({ approver }) => sameName(approver) === sameName(person))) done.push(change);
    else others++;
  }
  const waiting = await standing(
    asking,
    mine.slice(0, TOLD).map(({ change_id }) => change_id),
  );
  const { status: _, ...narrowing } = filter;
  const isAll = Object.values(narrowing).every((one) => one === undefined);
  const asked = isAll ? undefined : new Set(await idsFrom(deps, asking.seen, narrowing));
  const reviews = (await reviewsDue(deps.store)).filter(
    (change) =>
      (asked?.has(change.change_id) ?? true) &&
      isInTime(Date.parse(change.review?.due_at ?? "")) &&
      mayReview(change, person, asking),
  );
  const approved = (await find(asking, { ...filter, status: "approved", group: "status" })).total;
  const about = say.about(narrowing);
  const of = `${about}${question.ahead ? say.dueIn(say.days(question.ahead)) : ""}`;
  return {
    text: lines(
      say.waitsFor(person, mine.length, of),
      waiting.map((one) => [say.waiting(one), `  ${page(one.change.change_id)}`]).flat(),
      mine.length > TOLD ? say.more(mine.length - TOLD, howToList(filter) ?? say.narrower) : "",
      reviews.map(say.reviewDue),
      say.waitsNot(person, { own, done, others }, about),
      approved > 0 ? say.approvedToo(approved) : "",
      ids.length > records.length ? say.looked(records.length) : "",
      howFar(asking),
    ),
    citations: cite(
      "change",
      [...mine.slice(0, TOLD), ...reviews].map(({ change_id }) => change_id),
    ),
  };
}

function mayReview(change: Change, person: string, { deps }: Asking): boolean {
  const { intent } = deps.product!;
  const able = reviewersOf(change, intent);
  const hadPart =
    approvesOwn(change, person, intent.policy) ||
    change.approvals.some(({ emergency, approver }) => emergency && sameName(approver) === sameName(person));
  return able ? able.includes(sameName(person)) : !hadPart && isDecider(change, person, intent);
}

/** The reviews that are due, and who may do each. */
export async function tellReviews(asking: Asking, isOfDone: boolean): Promise<Answer> {
  const { say, deps } = asking;
  const reviews = await reviewsDue(deps.store);
  const done = isOfDone ? await tellEvents(withoutFilter(asking), ["emergency_reviewed"]) : { text: "", citations: [] };
  return {
    text: lines(
      done.text,
      say.reviews(reviews.length),
      reviews.map((change) => [say.reviewDue(change), say.reviewers(reviewersOf(change, deps.product!.intent))]).flat(),
    ),
    citations: [
      ...done.citations,
      ...cite(
        "change",
        reviews.map(({ change_id }) => change_id),
      ),
    ],
  };
}

const withoutFilter = (asking: Asking): Asking => ({ ...asking, plan: { ...asking.plan, filter: {} } });

/** How changes stand, as their pages show it. */
async function standing({ deps }: Asking, ids: readonly string[]): Promise<Waiting[]> {
  const holds = await heldNow(deps);
  const records = (await readRecords(deps.store, ids)).flatMap((record) => record ?? []);
  const standings = await standingsOf(deps, records, holds);
  return standings.map(({ missing, gates }, index) => {
    const { change } = records[index]!;
    return {
      change,
      until: untilOf(change, deps),
      missing,
      blocked_by: gates.filter(({ state }) => state === "block"),
    };
  });
}

function untilOf(change: Change, { product }: Asking["deps"]): string | null {
  const at = deadlineOf(change, product!.intent.policy);
  return at === undefined ? null : new Date(at).toISOString();
}

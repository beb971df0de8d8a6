/** Answers about one change: what it is, why it is as it is, what it waits for. */
import { factsIn } from "../../follow/entries.ts";
import { doerOf } from "../../pulse/query/event_query.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import { deadlineOf } from "../../governance/rules/in_force.ts";
import { requireApprover } from "../../governance/rules/policy.ts";
import { sameName } from "../../governance/rules/names.ts";
import type { Change } from "../../governance/rules/change.ts";
import { AppError } from "../../kit/errors.ts";
import { type ChangeDetail, changeById } from "../facts.ts";
import { type Answer, type Asking, cite, find, lines } from "./asking.ts";
import { factsAsked } from "./facts_of_one.ts";

/** Other changes that fit are named, so many at most. */
const OTHERS = 5;

/** The change that is meant, and others that fit the same words; the newest is meant. */
export async function meant(asking: Asking): Promise<{ change: ChangeDetail; others: string[] } | undefined> {
  const { deps, plan } = asking;
  const [exact] = [plan.filter.change_id ?? []].flat();
  if (exact !== undefined) {
    const change = await changeById(deps, exact);
    return change && { change, others: [] };
  }
  const { rows, total } = await find(asking, { ...plan.filter, limit: OTHERS + 1 });
  // Named and yet not as asked: what did become of it is the answer.
  const named = total === 0 ? (await find(asking, { ...nameOf(plan.filter), limit: OTHERS + 1 })).rows : rows;
  const [first, ...others] = named.map(({ change }) => change.change_id);
  const change = first === undefined ? undefined : await changeById(deps, first);
  return change && { change, others };
}

/** Which change is meant, apart from what is said of it. */
const nameOf = ({ change_id, tenant_id, target, text }: ChangeFilter): ChangeFilter =>
  [change_id, target, text].every((one) => one === undefined)
    ? { change_id: [] }
    : { change_id, tenant_id, target, text };

/** Whether a question names a change, by its id, its target or its words. */
export const namesOne = ({ plan }: Asking): boolean =>
  plan.filter.change_id !== undefined || plan.filter.target !== undefined || plan.filter.text !== undefined;

/** Asks which change is meant, and names the newest. */
export async function askWhich(asking: Asking): Promise<Answer> {
  const { rows } = await find(asking, { limit: 3 });
  const changes = rows.map(({ change }) => change);
  return {
    text: asking.say.whichChange(changes),
    citations: cite(
      "change",
      changes.map(({ change_id }) => change_id),
    ),
  };
}

/** What a change is, what became of it and why, and what stands in its way. */
export async function explain(asking: Asking): Promise<Answer | undefined> {
  const found = await meant(asking);
  if (!found) return undefined;
  const { say, page } = asking;
  const { change, others } = found;
  const entries = change.audit_entries.map(factsIn);
  const blocks = change.gates.filter(({ state }) => state === "block").map(({ message }) => message);
  const steps = entries.flatMap((entry) => say.step(entry, doerOf(entry)));
  return {
    text: lines(
      factsAsked(asking.question, { change, entries, now: asking.deps.clock.now(), say }),
      say.change(change),
      steps,
      change.outcome ? say.outcome(change.outcome) : "",
      blocks.length > 0 ? say.blocked(blocks) : "",
      change.missing.length > 0 ? say.missing(change.change_id, change.missing, page(change.change_id)) : "",
      untilWhen(asking, change),
      others.length > 0 ? say.others(others) : "",
    ),
    citations: [
      ...cite("change", [change.change_id]),
      ...cite(
        "audit",
        entries.map(({ id }) => id),
      ),
    ],
  };
}

/** Until when a change that waits may wait. */
function untilWhen({ deps, say }: Asking, change: Change): string {
  const deadline = deadlineOf(change, deps.product!.intent.policy);
  return deadline === undefined ? "" : say.deadline(change.status, new Date(deadline).toISOString());
}

/** For whom one change waits. */
export async function tellMissing(asking: Asking): Promise<Answer | undefined> {
  const found = await meant(asking);
  if (!found) return undefined;
  const { say, page } = asking;
  const { change } = found;
  const { change_id, missing } = change;
  const blocks = change.gates
    .filter(({ state, gate }) => state === "block" && gate !== "consent" && gate !== "owners")
    .map(({ message }) => message);
  return {
    text: lines(
      say.summaryOf(change),
      missing.length > 0 ? say.missing(change_id, missing, page(change_id)) : say.lacksNothing(change),
      blocks.length > 0 ? say.blocked(blocks) : "",
      untilWhen(asking, change),
      found.others.length > 0 ? say.others(found.others) : "",
    ),
    citations: cite("change", [change_id]),
  };
}

/** Whether somebody may approve a change, by the rule that would refuse them. */
export async function tellWhetherMay(asking: Asking, name: string): Promise<Answer | undefined> {
  const found = await meant(asking);
  if (!found) return undefined;
  const { say, deps, page } = asking;
  const { change } = found;
  const given = change.approvals.find(({ approver }) => sameName(approver) === sameName(name));
  let refused = given ? say.approvedAlready(name, given.at) : undefined;
  try {
    requireApprover(change, name, deps.product!.intent);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    refused = error.message;
  }
  return {
    text: lines(
      refused === undefined ? say.mayApprove(name, change, page(change.change_id)) : say.mayNot(name, change, refused),
      say.summaryOf(change),
      change.missing.length > 0 ? say.missing(change.change_id, change.missing, "") : "",
    ),
    citations: cite("change", [change.change_id]),
  };
}

/** What a target holds: the newest change that is applied to it, by tenant. */
export async function tellLive(asking: Asking): Promise<Answer> {
  const { say, plan } = asking;
  const { period: _, resolution: __, ...rest } = plan.filter;
  const asked: ChangeFilter = { ...rest, status: "applied" };
  const filter: ChangeFilter = { ...asked, period: { of: "applied" } };
  const { rows, total } = await find(asking, { ...filter, limit: 200 });
  const holding = new Map<string, (typeof rows)[number]>();
  for (const row of rows) {
    const place = `${row.change.target.toLowerCase()}\n${row.change.tenant_id}`;
    if (!holding.has(place)) holding.set(place, row);
  }
  const held = [...holding.values()].slice(0, 20);
  return {
    text: lines(say.title(say.query(asked), total), held.map((row) => [say.row(row), say.holds(row.change)]).flat()),
    citations: cite(
      "change",
      held.map(({ change }) => change.change_id),
    ),
  };
}

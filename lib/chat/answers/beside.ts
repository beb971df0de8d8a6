/** What is told below each change of a list: who did it and why, and what else is asked after. */
import { entriesOf } from "../../audit/page.ts";
import type { EventType } from "../../audit/entry.ts";
import { type Entry, factsIn } from "../../follow/entries.ts";
import { readRecords } from "../../governance/records.ts";
import type { FoundChange } from "../../pulse/query/change_query.ts";
import { doerOf } from "../../pulse/query/event_query.ts";
import type { Deed } from "../question/deeds.ts";
import type { Asking } from "./asking.ts";
import { VERDICTS } from "./kind.ts";
import { factsAsked } from "./facts_of_one.ts";

/** The entries that say who did it, and why; how a denied one ended stands in its line. */
const TOLD_BY: Readonly<Partial<Record<Deed, EventType>>> = {
  applied: "change_applied",
  rolled_back: "change_rolled_back",
  approved: "consent_decision",
  decided: "consent_decision",
  revoked: "consent_decision",
};

/** The lines below each of these changes, and the entries that they are from. */
export async function beside(
  asking: Asking,
  rows: readonly FoundChange[],
): Promise<{ lines: string[]; entries: number[] }[]> {
  const { question, plan, say, deps } = asking;
  const { has } = question;
  const isWhy = has("why");
  const type = plan.deed && (isWhy || (has("who") && plan.deed !== "approved")) ? TOLD_BY[plan.deed] : undefined;
  const told = type !== undefined || has("attempts") ? await entriesOn(asking, rows) : [];
  return rows.map(({ change, outcome }, index) => {
    const entries = told[index] ?? [];
    const steps = entries.filter(({ event_type }) => event_type === type);
    const isNoted = change.approval_note !== "" && change.status === "denied";
    return {
      lines: [
        ...steps.flatMap((entry) => say.step(entry, doerOf(entry))),
        isWhy && !isNoted && !steps.some(({ facts }) => facts.note || "evidence" in facts)
          ? say.because(change.rationale)
          : "",
        ...factsAsked(question, { change, entries, now: deps.clock.now(), say }, true),
        has("outcome", ...VERDICTS) && plan.filter.verdict === undefined && outcome ? say.outcome(outcome) : "",
      ]
        .filter(Boolean)
        .map((line) => `  ${line.replace(/^- /, "")}`),
      entries: steps.map(({ id }) => id),
    };
  });
}

async function entriesOn({ deps }: Asking, rows: readonly FoundChange[]): Promise<Entry[][]> {
  const records = await readRecords(
    deps.store,
    rows.map(({ change }) => change.change_id),
  );
  return Promise.all(records.map(async (record) => (await entriesOf(deps.store, record?.audit ?? [])).map(factsIn)));
}

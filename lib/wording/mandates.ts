/** Events of mandates in words. */
import type { MANDATE_EVENTS } from "../changes/rules/mandate_record.ts";
import { nameActor } from "./names.ts";
import type { Part } from "./part.ts";

type Facts = Readonly<Record<string, unknown>>;

const textIn = (facts: Facts, name: string): string => {
  const value = facts[name];
  return typeof value === "string" ? value : "";
};

function mandate(facts: Facts): Part[] {
  const id = textIn(facts, "mandate_id");
  return id === "" ? ["mandate"] : ["mandate ", { given: id, code: true }];
}
const by = (facts: Facts): Part[] => {
  const approver = textIn(facts, "approver");
  return approver === "" ? [] : [" by ", ...[nameActor(approver)].flat()];
};

const CAUSES: Readonly<Record<string, string>> = {
  rollback: "a change that it approved was rolled back",
  contested: "a value that it approved is contested",
  target_drifted: "a change that it approved cannot be rolled back",
  kpi_floor: "a KPI is worse than its floor",
};

/** The words for each. */
export const MANDATE_WORDS: Readonly<
  Record<(typeof MANDATE_EVENTS)[number], { name: string; what(facts: Facts): Part[] }>
> = {
  mandate_signed: {
    name: "Mandate signed",
    what: (facts) => [
      ...mandate(facts),
      " signed",
      ...by(facts),
      facts["status"] === "active" ? ", which makes it active" : "",
    ],
  },
  mandate_narrowed: { name: "Mandate narrowed", what: (facts) => [...mandate(facts), " narrowed", ...by(facts)] },
  mandate_suspended: {
    name: "Mandate suspended",
    what: (facts) => {
      const { reason = "", kpi } = (facts["suspension"] ?? {}) as { reason?: string; kpi?: string };
      const cause = CAUSES[reason];
      return [
        ...mandate(facts),
        " suspended",
        ...(cause === undefined ? [] : [`, since ${cause}`]),
        ...(kpi === undefined ? [] : [": ", { given: kpi }]),
      ];
    },
  },
  mandate_resumed: {
    name: "Mandate resumed",
    what: (facts) => [
      ...mandate(facts),
      facts["status"] === "active" ? " resumed" : " signed to be resumed",
      ...by(facts),
    ],
  },
  mandate_ended: { name: "Mandate ended", what: (facts) => [...mandate(facts), " ended", ...by(facts)] },
};

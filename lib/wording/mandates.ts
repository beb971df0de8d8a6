/** Wording of the events of mandates. */
import type { MANDATE_EVENTS } from "../changes/rules/mandate_record.ts";
import { type Facts, readText } from "./facts.ts";
import { nameActor } from "./names.ts";
import type { Part } from "./part.ts";

function mandatePart(facts: Facts): Part[] {
  const id = readText(facts, "mandate_id");
  return id === "" ? ["mandate"] : ["mandate ", { text: id, code: true }];
}

const approverPart = (facts: Facts): Part[] => {
  const approver = readText(facts, "approver");
  return approver === "" ? [] : [" by ", ...nameActor(approver)];
};

const SUSPENSION_CAUSES: Readonly<Record<string, string>> = {
  rollback: "a change that it approved was rolled back",
  contested: "a value that it approved is contested",
  target_drifted: "a change that it approved cannot be rolled back, since its target has drifted",
  kpi_floor: "a KPI is worse than its floor",
};

/** Wording by type of event. */
export const MANDATE_WORDS: Readonly<
  Record<(typeof MANDATE_EVENTS)[number], { name: string; words(facts: Facts): Part[] }>
> = {
  mandate_signed: {
    name: "Mandate signed",
    words: (facts) => [
      ...mandatePart(facts),
      " signed",
      ...approverPart(facts),
      facts["status"] === "active" ? ", which makes it active" : "",
    ],
  },
  mandate_narrowed: {
    name: "Mandate narrowed",
    words: (facts) => [...mandatePart(facts), " narrowed", ...approverPart(facts)],
  },
  mandate_suspended: {
    name: "Mandate suspended",
    words: (facts) => {
      const { reason = "", kpi } = (facts["suspension"] ?? {}) as { reason?: string; kpi?: string };
      const cause = SUSPENSION_CAUSES[reason];
      return [
        ...mandatePart(facts),
        " suspended",
        ...(cause === undefined ? [] : [`, since ${cause}`]),
        ...(kpi === undefined ? [] : [": ", { text: kpi }]),
      ];
    },
  },
  mandate_resumed: {
    name: "Mandate resumed",
    words: (facts) => [
      ...mandatePart(facts),
      facts["status"] === "active" ? " resumed" : " signed to be resumed",
      ...approverPart(facts),
    ],
  },
  mandate_ended: { name: "Mandate ended", words: (facts) => [...mandatePart(facts), " ended", ...approverPart(facts)] },
};

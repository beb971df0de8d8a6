/** Wording of rollouts: their events, and the reasons why the next step waits. */
import { actorPart, type Facts, recordedPart, readText, toWords } from "./facts.ts";
import type { Part } from "./part.ts";

/** Facts of a wait; missing ones are replaced by general words. */
interface Wait {
  reason: string | null | undefined;
  kpi?: string | undefined;
  fed_by?: string | undefined;
  not_before?: string | undefined;
}

/** Describes the reason of a wait in words that follow "waits for"; undefined for an unknown reason. */
export function describeWait({
  reason,
  kpi = "a KPI",
  fed_by = "its source",
  not_before = "its time",
}: Wait): string | undefined {
  const waits: Readonly<Record<string, string>> = {
    no_data: `new numbers from ${fed_by}`,
    resumed: `new numbers from ${fed_by}`,
    min_hours: `${not_before}, when its step has lasted long enough`,
    not_yet: `more users: ${kpi} may still be worse than allowed`,
    manual: "a person to take the next step",
    by_hand: "somebody to resume it",
    mismatch: "somebody to resume it: the counted users do not have the share that they should",
    impossible_data: `possible numbers of ${kpi}`,
    rollback: "its rollback: it was worse than allowed",
    rollback_blocked: "its rollback, which is blocked",
    frozen: "the end of the freeze",
    outside_window: "its next window",
    consent_incomplete: "approvals that are missing",
  };
  return waits[reason ?? ""];
}

const ADVANCE_REASONS: Readonly<Record<string, string>> = {
  budget: ", since the worst that is possible there is allowed",
  proven: ", proven to be no worse than allowed",
  unless_worse: ", since no KPI is worse than allowed",
};

/** Wording of the events of rollouts. */
export const ROLLOUT_WORDS = {
  stage_advanced: {
    name: "Rollout advanced",
    words: (facts: Facts): Part[] => [
      typeof facts["share"] === "number"
        ? `rolled out to ${facts["share"] / 100} % of the users`
        : "rolled out to everybody",
      ...actorPart(facts, "actor"),
      ADVANCE_REASONS[readText(facts, "reason")] ?? "",
    ],
  },
  stage_held: {
    name: "Rollout held",
    words: (facts: Facts): Part[] => {
      const wait = describeWait({
        reason: readText(facts, "reason"),
        kpi: toWords(readText(facts, "kpi")) || undefined,
      });
      return [
        "rollout held",
        ...(typeof facts["step"] === "number" ? [` at step ${facts["step"] + 1}`] : []),
        ...actorPart(facts, "actor"),
        wait === undefined ? "" : `, waiting for ${wait}`,
      ];
    },
  },
  stage_resumed: {
    name: "Rollout resumed",
    words: (facts: Facts): Part[] => ["rollout resumed", ...actorPart(facts, "actor")],
  },
  stage_stopped: {
    name: "Rollout stopped",
    words: (facts: Facts): Part[] => [
      "rollout stopped, and its rollback ordered",
      ...recordedPart(facts, ", since ", "kpi", " is worse than allowed"),
    ],
  },
};

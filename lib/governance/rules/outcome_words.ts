/** What is said of an outcome, wherever its verdict is shown. */
import type { Outcome } from "./outcome.ts";

/** Expected and realised movement, in a sentence, with what keeps it from being the change's own. */
export function movementOf(outcome: Outcome): string {
  const { kpi, expected_delta_k, realised_delta } = outcome;
  if (kpi === null) return "The change names no KPI.";
  const moved = realised_delta ?? "no feed since the apply";
  const words = [`expected ${expected_delta_k ?? "nothing stated"}`, `realised ${moved}`, ...caveatsOf(outcome)];
  return `${kpi}: ${words.join(", ")}.`;
}

/** What keeps a movement that was measured from being the change's own. */
export const caveatsOf = (outcome: Pick<Outcome, "realised_delta" | "shared_count" | "scope">): string[] =>
  outcome.realised_delta === null ? [] : [sharedWords(outcome), scopeWords(outcome)].filter((words) => words !== "");

/** The verdict in a word or two. */
export const wordOf = ({ verdict }: Pick<Outcome, "verdict">): string =>
  verdict === "too_early" ? "too early to judge" : verdict;

/** With how many other changes the movement is shared; empty where with none. */
export const sharedWords = ({ shared_count: count }: Pick<Outcome, "shared_count">): string =>
  count === 0 ? "" : `shared with ${count} other${count === 1 ? "" : "s"}`;

/** Whose figure it is, where it is not that of the change's tenant alone; else empty. */
const scopeWords = ({ scope }: Pick<Outcome, "scope">): string =>
  scope === "product" ? "a KPI of the whole product" : scope === "other_tenant" ? "a KPI of another tenant" : "";

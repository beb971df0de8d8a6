/** Facts that an approver could miss: an automatic apply, no value, unstated fields, a value that reads as another type. */
import type { ChangeDetail } from "../core/api_types.ts";
import { describeAutomation } from "../../../lib/changes/rules/automation_words.ts";
import type { Part } from "../../../lib/wording/part.ts";

type CautionedChange = Pick<ChangeDetail, "target"> &
  Partial<
    Pick<
      ChangeDetail,
      "sets_nothing" | "unstated" | "value_hint" | "erased" | "apply_when" | "automation_stopped" | "status"
    >
  >;

/** The fields that have a default, in words. */
const FIELDS: Readonly<Record<NonNullable<ChangeDetail["unstated"]>[number], string>> = {
  risk: "the risk",
  reversible: "whether it can be undone",
  affected_users: "how many people are affected",
};

/** Warns that applying a change without a value sets nothing. */
export const describeNoValue = (target: string): Part[] => [
  "No value set. Applying it won't change ",
  target === "" ? "anything" : { text: target, code: true },
  ".",
];

/** Names the unstated fields; undefined if all are stated. */
function describeUnstated(unstated: ChangeDetail["unstated"] = []): Part[] | undefined {
  const names = unstated.map((field) => FIELDS[field]);
  if (names.length === 0) return undefined;
  const last = names.at(-1)!;
  return [`Not stated: ${names.length === 1 ? last : `${names.slice(0, -1).join(", ")} and ${last}`}.`];
}

/** Describes the automatic apply of a change; undefined if only a person can apply it. */
function describeSelfApply(change: CautionedChange, now: number | undefined): Part[] | undefined {
  const words = describeAutomation(change, now);
  return words === undefined ? undefined : [`${words[0]!.toUpperCase()}${words.slice(1)}.`];
}

/** Leaves the risk as the only unstated field: the sentence about the request names the others. */
export const omitDescribed = <C extends Pick<CautionedChange, "unstated">>(change: C): C => ({
  ...change,
  unstated: change.unstated?.filter((field) => field === "risk"),
});

/** Lists one sentence for each fact; none once the content is erased. */
export function listCautions(change: CautionedChange, now?: number): Part[][] {
  const { target, sets_nothing, unstated, value_hint, erased } = change;
  if (erased) return [];
  return [
    describeSelfApply(change, now),
    sets_nothing && describeNoValue(target),
    describeUnstated(unstated),
    value_hint && [value_hint],
  ].filter((sentence): sentence is Part[] => Array.isArray(sentence));
}

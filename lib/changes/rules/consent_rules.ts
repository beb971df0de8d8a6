/** Consent rules of an intent beyond the tier's quorum. */
import { list, strictObject } from "./fields.ts";
import { approverOrGroup, integer, finiteNumber, targetPattern, tenantList } from "./intent_parts.ts";
import { overlapsNextYear, windows } from "./windows.ts";
import * as z from "zod";
import { once } from "../../kit/once.ts";

/** Owners who must consent to changes of their targets, and how many of them. */
const ownersSchema = once(() =>
  strictObject({
    targets: list(targetPattern())
      .min(1, "must name a target")
      .describe("Targets that they own; * stands for any characters."),
    tenants: tenantList().optional().describe("Tenants for which they own them; absent: all."),
    approvers: list(approverOrGroup()).min(1, "must name somebody").describe("The owners."),
    required: integer(1).default(1).describe("How many of them must consent."),
  }),
);

/** Who may approve in an emergency, and how soon the approval must be reviewed. */
const breakGlassSchema = once(() =>
  strictObject({
    approvers: list(approverOrGroup()).min(1, "must name somebody").describe("Who may approve in an emergency."),
    required: integer(1).default(1).describe("How many of them must approve."),
    review_hours: finiteNumber()
      .positive("must be above 0")
      .default(72)
      .describe("Within how many hours the emergency must be reviewed."),
  }),
);

/** Fields of `policy`. */
export const consentRuleSchemas = () => ({
  owners: list(ownersSchema())
    .default([])
    .describe(
      "Who must be among those who consent to changes of their targets; an owner who is an approver counts for both.",
    ),
  approval_ttl_hours: finiteNumber()
    .positive("must be above 0")
    .optional()
    .describe("After how many hours an approved change lapses; absent: never."),
  on_stale: z
    .enum(["report", "block"], "must be report or block")
    .default("report")
    .describe("What an apply does when another change was applied on the target since the consent."),
  on_moved: z
    .enum(["report", "block"], "must be report or block")
    .default("report")
    .describe("What an apply does when a place holds another value than a counted consent saw."),
  on_drift: z
    .enum(["report", "restore"], "must be report or restore")
    .default("report")
    .describe("What the cycle does when a place was changed outside Countersign."),
  windows: windows().prefault({}).describe("When changes may be applied."),
  break_glass: breakGlassSchema().optional().describe("Consent in an emergency; absent: there is none."),
});

interface UnreachableRule {
  path: PropertyKey[];
  message: string;
}

/** Lists consent rules that nobody could ever meet, and invalid windows. `namesWithKeys`: present if only signed consents count. */
export function findUnreachableConsents(
  rules: {
    approvers?: string[] | undefined;
    owners: z.output<ReturnType<typeof ownersSchema>>[];
    windows: z.output<ReturnType<typeof windows>>;
    break_glass?: z.output<ReturnType<typeof breakGlassSchema>> | undefined;
  },
  namesWithKeys?: readonly string[],
): UnreachableRule[] {
  const quorums = [
    ...rules.owners.map((rule, index) => ({ rule, path: ["owners", index] })),
    ...(rules.break_glass ? [{ rule: rules.break_glass, path: ["break_glass"] }] : []),
  ];
  return [
    ...quorums.flatMap(({ rule, path }) => findUnreachableQuorum(rule, path, namesWithKeys)),
    ...findUnreachableReview(rules, namesWithKeys),
    ...findEmptyWindows(rules.windows),
  ];
}

/** Emergency approvers may not review the change, so another person who may decide on any change must be left. */
function findUnreachableReview(
  { approvers, owners, break_glass }: Parameters<typeof findUnreachableConsents>[0],
  namesWithKeys: readonly string[] | undefined,
): UnreachableRule[] {
  // Without a list of approvers and without required signatures anybody may review.
  if (!break_glass || (!approvers && !namesWithKeys)) return [];
  const canConsent = (name: string): boolean => !namesWithKeys || namesWithKeys.includes(name);
  const ownersOfAll = owners
    .filter(({ targets, tenants }) => targets.includes("*") && !tenants)
    .flatMap((rule) => rule.approvers);
  const reviewers = new Set([...(approvers ?? namesWithKeys!), ...ownersOfAll].filter(canConsent));
  const nonReviewers = new Set(break_glass.approvers.filter((name) => canConsent(name) && !reviewers.has(name)));
  // The emergency consents come from people who could not review anyway, and only beyond them from reviewers.
  const needed = Math.max(0, break_glass.required - nonReviewers.size);
  if (reviewers.size > needed) return [];
  const description = namesWithKeys ? "those with keys who may approve" : "policy.approvers";
  const message = `leaves nobody to review it: of ${description}, which are ${reviewers.size}, the emergency itself needs ${needed}`;
  return [{ path: ["break_glass", "approvers"], message }];
}

function findUnreachableQuorum(
  { approvers, required }: { approvers: string[]; required: number },
  path: PropertyKey[],
  namesWithKeys: readonly string[] | undefined,
): UnreachableRule[] {
  const possible = [...new Set(approvers)].filter((name) => !namesWithKeys || namesWithKeys.includes(name)).length;
  const description = namesWithKeys ? "of its approvers those with keys" : "its approvers";
  if (required <= possible) return [];
  return [{ path: [...path, "required"], message: `asks for ${required}, and ${description} are ${possible}` }];
}

/** Lists windows that are never open, and denied periods that are empty or, if yearly, begin again before they end. */
function findEmptyWindows({ deny, allow }: z.output<ReturnType<typeof windows>>): UnreachableRule[] {
  const invalidPeriods = deny.flatMap((period, index) => {
    const path = ["windows", "deny", index, "to"];
    if (Date.parse(period.from) >= Date.parse(period.to)) return [{ path, message: "must be after from" }];
    if (overlapsNextYear(period))
      return [{ path, message: "must be within a year of from, since the period is yearly" }];
    return [];
  });
  const invalidHours = allow.flatMap(({ from, to }, index) =>
    from === to || from === "24:00"
      ? [
          {
            path: ["windows", "allow", index, "from"],
            message: `${from} to ${to} is no time: the whole day is 00:00 to 24:00`,
          },
        ]
      : [],
  );
  return [...invalidPeriods, ...invalidHours];
}

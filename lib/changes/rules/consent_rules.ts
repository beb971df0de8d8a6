/** Consent rules of an intent beyond the tier's quorum. */
import { list, object } from "./fields.ts";
import { approverOrGroup, count, finite, pattern, tenants } from "./intent_parts.ts";
import { hasNoEnd, windows } from "./windows.ts";
import * as z from "zod";
import { once } from "../../kit/once.ts";

/** Owners who must consent to changes of their targets, and how many of them. */
const owners = once(() =>
  object({
    targets: list(pattern())
      .min(1, "must name a target")
      .describe("Targets that they own; * stands for any characters."),
    tenants: tenants().optional().describe("Tenants for which they own them; absent: all."),
    approvers: list(approverOrGroup()).min(1, "must name somebody").describe("The owners."),
    required: count(1).default(1).describe("How many of them must consent."),
  }),
);

/** Who may approve in an emergency, and how soon that is to be reviewed. */
const breakGlass = once(() =>
  object({
    approvers: list(approverOrGroup()).min(1, "must name somebody").describe("Who may approve in an emergency."),
    required: count(1).default(1).describe("How many of them must."),
    review_hours: finite()
      .positive("must be above 0")
      .default(72)
      .describe("Within how many hours it is to be reviewed."),
  }),
);

/** Fields of `policy`. */
export const consentRules = () => ({
  owners: list(owners())
    .default([])
    .describe(
      "Who must be among those who consent to changes of their targets; an owner who is an approver counts for both.",
    ),
  approval_ttl_hours: finite()
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
  break_glass: breakGlass().optional().describe("Consent in an emergency; absent: there is none."),
});

interface Unreachable {
  path: PropertyKey[];
  message: string;
}

/** Rules of consent that nobody could ever meet. `keyed`: whose consent alone can count, where only signed ones do. */
export function unreachableConsent(
  rules: {
    approvers?: string[] | undefined;
    owners: z.output<ReturnType<typeof owners>>[];
    windows: z.output<ReturnType<typeof windows>>;
    break_glass?: z.output<ReturnType<typeof breakGlass>> | undefined;
  },
  keyed?: readonly string[],
): Unreachable[] {
  const quorums = [
    ...rules.owners.map((rule, index) => ({ rule, path: ["owners", index] })),
    ...(rules.break_glass ? [{ rule: rules.break_glass, path: ["break_glass"] }] : []),
  ];
  return [
    ...quorums.flatMap(({ rule, path }) => unreachableQuorum(rule, path, keyed)),
    ...unreachableReview(rules, keyed),
    ...emptyWindows(rules.windows),
  ];
}

/** An emergency approver does not review the change: somebody else who may decide on any change must be left. */
function unreachableReview(
  { approvers, owners, break_glass }: Parameters<typeof unreachableConsent>[0],
  keyed: readonly string[] | undefined,
): Unreachable[] {
  if (!break_glass || (!approvers && !keyed)) return [];
  const counts = (name: string): boolean => !keyed || keyed.includes(name);
  const ofAll = owners
    .filter(({ targets, tenants }) => targets.includes("*") && !tenants)
    .flatMap(({ approvers }) => approvers);
  const reviewers = new Set([...(approvers ?? keyed!), ...ofAll].filter(counts));
  const others = new Set(break_glass.approvers.filter((name) => counts(name) && !reviewers.has(name)));
  const needed = Math.max(0, break_glass.required - others.size);
  if (reviewers.size > needed) return [];
  const who = keyed ? "those with keys who may approve" : "policy.approvers";
  const message = `leaves nobody to review it: of ${who}, which are ${reviewers.size}, the emergency itself needs ${needed}`;
  return [{ path: ["break_glass", "approvers"], message }];
}

function unreachableQuorum(
  { approvers, required }: { approvers: string[]; required: number },
  path: PropertyKey[],
  keyed: readonly string[] | undefined,
): Unreachable[] {
  const named = [...new Set(approvers)].filter((name) => !keyed || keyed.includes(name)).length;
  const who = keyed ? "of its approvers those with keys" : "its approvers";
  if (required <= named) return [];
  return [{ path: [...path, "required"], message: `asks for ${required}, and ${who} are ${named}` }];
}

/** A window that is never open, or a denied period that is none. */
function emptyWindows({ deny, allow }: z.output<ReturnType<typeof windows>>): Unreachable[] {
  const ends = deny.flatMap((period, index) => {
    const path = ["windows", "deny", index, "to"];
    if (Date.parse(period.from) >= Date.parse(period.to)) return [{ path, message: "must be after from" }];
    if (hasNoEnd(period)) return [{ path, message: "must be within a year of from, since the period is yearly" }];
    return [];
  });
  const hours = allow.flatMap(({ from, to }, index) =>
    from === to || from === "24:00"
      ? [
          {
            path: ["windows", "allow", index, "from"],
            message: `${from} to ${to} is no time: the whole day is 00:00 to 24:00`,
          },
        ]
      : [],
  );
  return [...ends, ...hours];
}

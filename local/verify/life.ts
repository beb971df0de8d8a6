/** What the entries of a change say of its life: which step follows which, and how many consents an approval has. */
import type { Finding } from "./chain.ts";
import type { Entry } from "./line.ts";
import { sameName, type WithPrincipals } from "./policy.ts";
import { type Detail, manifestIn } from "./proofs.ts";

/** An entry with its detail read. */
export interface Told {
  entry: Entry;
  detail: Detail;
}

/** The members of an intent that are read here. */
export interface Intent extends WithPrincipals {
  policy?: {
    approvers?: string[];
    required_approvers?: Record<string, number>;
    signed_only?: boolean;
    break_glass?: { approvers?: string[]; required?: number };
  };
}

/** Takes what does not hold. */
export type Found = (entry: number | null, rule: Finding["rule"], message: string) => void;

const OPERATIONS: Readonly<Record<string, { from: string; to: string }>> = {
  change_applied: { from: "approved", to: "applied" },
  change_rolled_back: { from: "applied", to: "rolled_back" },
};

/** What the change is after each entry; each must follow from those before it, so that none that decides is left out. */
export function statusesOf(life: readonly Told[], tier: unknown, found: Found): string[] {
  let status = "";
  let given = 0;
  return life.map(({ entry, detail }, index) => {
    const [needed, next] = stepOf({ entry, detail }, status, tier);
    if (index > 0 && needed !== status)
      found(
        entry.id,
        "form",
        `the change must be ${needed || "new"} before it, and by the entries in this file it is ${status}`,
      );
    if (next !== "consent") return (status = next);
    if (detail["emergency"] !== true) given++;
    // The first versions left it to the reader to count.
    const asked = Number(life[0]!.detail["required_approvers"] ?? 1);
    const isApproved = detail["status"] === undefined ? given >= asked : detail["status"] === "approved";
    return (status = isApproved ? "approved" : status);
  });
}

/** What the change must be before an entry, and what it is then. */
function stepOf({ entry, detail }: Told, status: string, tier: unknown): [needed: string, next: string] {
  const { eventType } = entry;
  if (eventType === "change_proposed") return ["", tier === "minor" ? "approved" : "pending_consent"];
  if (eventType === "consent_decision")
    return [
      detail["from"] === undefined ? "pending_consent" : "approved",
      detail["decision"] === "approved" ? "consent" : "denied",
    ];
  const operation = Object.hasOwn(OPERATIONS, eventType) ? OPERATIONS[eventType]! : { from: status, to: status };
  return [operation.from, operation.to];
}

/** An entry that says "approved" stands behind as many consents as its intent asks of the tier, or for an emergency. */
export function quorumFault(
  life: readonly Told[],
  tier: unknown,
  intents: ReadonlyMap<string, Intent>,
): Parameters<Found> | undefined {
  const [ordinary, urgent] = [new Set<string>(), new Set<string>()];
  for (const { entry, detail } of life) {
    if (detail["decision"] !== "approved") continue;
    const isUrgent = detail["emergency"] === true;
    const names = isUrgent ? urgent : ordinary;
    names.add(sameName(String(detail["approver"])));
    const intent = intents.get(manifestIn(detail));
    const isFurther = detail["from"] !== undefined && detail["review_hours"] === undefined;
    if (detail["status"] !== "approved" || isFurther || !intent) continue;
    const { policy = {} } = intent;
    const asked = Math.max(
      Number(life[0]!.detail["required_approvers"]),
      policy.required_approvers?.[String(tier)] ?? policy.required_approvers?.["standard"] ?? 1,
    );
    const needed = isUrgent ? (policy.break_glass?.required ?? 1) : asked;
    const among = (isUrgent ? (policy.break_glass?.approvers ?? []) : policy.approvers)?.map(sameName);
    const given = [...names].filter((name) => !among || among.includes(name)).length;
    if (given < needed)
      return [
        entry.id,
        "quorum",
        `it was approved with ${given} of ${needed} consents${isUrgent ? " for an emergency" : ""}`,
      ];
  }
  return undefined;
}

/** What has to be signed where its name has keys, or only signatures count. */
const SIGNED: ReadonlySet<unknown> = new Set(["approved", "denied", "revoked"]);

/** Whether an entry tells of a decision that may have had to be signed. */
export const isConsent = ({ entry, detail }: Told): boolean =>
  entry.eventType === "emergency_reviewed" ||
  (entry.eventType === "consent_decision" && SIGNED.has(detail["decision"]));

/** Whether only signatures count under an intent. */
export const isSignedOnly = ({ policy, principals = {} }: Intent): boolean =>
  policy?.signed_only ?? Object.values(principals).some(({ keys = [] }) => keys.length > 0);

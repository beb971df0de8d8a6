/** Mandates in words, and the statements of decisions on them. */
import { statementText } from "../../../lib/changes/rules/statement.ts";
import type { MandateBounds, MandateDecision } from "../../../lib/changes/rules/mandate.ts";
import type { AuditPage, Mandate } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { formatCount, formatDateTime, formatNumber, formatPeople, formatPercent } from "../core/format.ts";
import { type Resource, useResource } from "../core/resource.tsx";
import { useIntent } from "../core/shared.ts";
import { toStatement, type Signable } from "./statement.ts";
import { type Badge, formatTitle, humanizeName } from "./statuses.ts";
import { describeSchema } from "./value_rules.ts";

/** Reads mandates and drafts, if the intent allows any. */
export function useMandates(): Resource<{ mandates: Mandate[] }> {
  const { data: intent } = useIntent();
  return useResource(intent?.policy?.mandates ? "mandates" : null, (signal) =>
    get<{ mandates: Mandate[] }>("api/product/mandates", { limit: 100 }, signal),
  );
}

export const MANDATE_BADGES: Readonly<Record<Mandate["state"], Badge>> = {
  draft: { word: "Not signed yet", shape: "quarter", tone: "wait" },
  active: { word: "Active", shape: "full", tone: "good" },
  suspended: { word: "Suspended", shape: "bang", tone: "bad" },
  ended: { word: "Ended", shape: "dash", tone: "quiet" },
};

/** Decisions that narrow or end a mandate, by its state. */
export const RESTRICTIONS: Readonly<Record<Mandate["state"], readonly ("narrow" | "revoke")[]>> = {
  draft: ["revoke"],
  active: ["narrow", "revoke"],
  suspended: ["narrow", "revoke"],
  ended: [],
};

type Bounds = Omit<MandateBounds, "until"> & { until?: string | undefined };

/** Describes the bounds of a mandate, a sentence for each. */
export function describeBounds(bounds: Bounds): string[] {
  const { agent, targets, kinds, tenants, limits, max_affected_users, max_per_day, max_open, kpi_floor, from, until } =
    bounds;
  return [
    `${agent} may set ${targets.join(", ")} for ${tenants === "all" ? "all tenants" : tenants.join(", ")} without asking a person each time.`,
    `Kinds of changes: ${kinds.map(humanizeName).join(", ")}.`,
    ...describeLimits(limits),
    max_affected_users === undefined
      ? "Any number of users."
      : `At most ${formatPeople(max_affected_users)} affected by a change.`,
    `At most ${formatCount(max_per_day, "change")} a day (UTC), and ${formatNumber(max_open)} waiting to be applied.`,
    ...Object.entries(kpi_floor ?? {}).map(
      ([kpi, floor]) => `Suspended when ${formatTitle(kpi)} is worse than ${formatNumber(floor)}.`,
    ),
    "Only changes that can be undone and whose risk is not high. A rollback of such a change suspends the mandate.",
    `From ${from ? formatDateTime(from) : "its last signature"}${until ? ` until ${formatDateTime(until)}` : ""}.`,
  ];
}

function describeLimits(limits: Bounds["limits"]): string[] {
  const { schema, max_step: step, unit } = limits ?? {};
  if (!schema && !step) return ["Any value."];
  const sentences = schema ? [...describeSchema(schema as Readonly<Record<string, unknown>>, "Value")] : [];
  if (!step) return sentences;
  const distance = step.relative === undefined ? formatNumber(step.absolute!) : formatPercent(step.relative);
  const members = step.members ? `${step.members.join(", ")}: no more` : "No more";
  const measure = unit ? ` (${unit})` : "";
  return [
    ...sentences,
    `${members} than ${distance}${measure} away from what it was ${formatNumber(step.hours)} h before.`,
  ];
}

const BOUNDS = [
  "agent", "targets", "kinds", "tenants", "limits", "max_affected_users", "max_per_day", "max_open", "kpi_floor", "from", "until",
] as const; // prettier-ignore

/** Returns the statement to be signed: of a first signature with all bounds, of a later decision with the shown revision. */
export function makeSignableMandate(
  decision: MandateDecision,
  mandate: Mandate,
  { name, note }: { name: string; note: string },
  narrow?: object,
): Signable {
  const { mandate_id, revision, systems } = mandate;
  const bounds = BOUNDS.flatMap((bound) => (mandate[bound] === undefined ? [] : [[bound, mandate[bound]] as const]));
  const about =
    decision === "mandate" ? { ...Object.fromEntries(bounds), systems } : { revision, ...(narrow && { narrow }) };
  const facts = { decision, mandate_id, ...about, approver: name, note };
  return {
    key: JSON.stringify(facts),
    async makeStatement(manifest_hash, at) {
      const { origin } = await get<AuditPage>("api/product/audit", { limit: 1 });
      return toStatement(statementText({ origin, ...facts, manifest_hash, at }));
    },
  };
}

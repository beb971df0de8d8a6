/** ProductIntent: which product is governed, and by which rules. Read at start, never written by the service. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import type { Sha256 } from "../../kit/platform.ts";
import { findInexactNumber } from "../../kit/exact_numbers.ts";
import { JsonRejected, parseStrictJson } from "../../kit/strict_json.ts";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { isMisspelling } from "../../kit/nearest.ts";
import { KINDS, RISKS, STANDARD_KPIS } from "./change_terms.ts";
import { applyWhenRuleSchema, findAutomationProblem } from "./apply_when_rule.ts";
import { consentRuleSchemas, findUnreachableConsents } from "./consent_rules.ts";
import { nonEmptyText, list, strictObject, suggestWord, describeUnknownFields } from "./fields.ts";
import { approverOrGroup, integer, finiteNumber, dateOrTime, targetPattern, tenantList } from "./intent_parts.ts";
import { expandGroups, groupsSchema, type ReportIssue } from "./groups.ts";
import { mandatesRule } from "./mandates_rule.ts";
import { permissionsSchema } from "./permission_lists.ts";
import { promotionRules } from "./promotion_rule.ts";
import { stagesRule } from "./stages_rule.ts";
import { principalsSchema, reportImpostors } from "./principals.ts";
import { targetRulesSchema } from "./target_rules.ts";
import { listNamesWithKeys, type Signing, makeSigning } from "./signing.ts";

const kpiName = () =>
  z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a lower-case word of letters, digits and _")
    // A member of every object, such as `constructor`.
    .refine((name) => !(name in {}), "is a reserved word");

const kpiSchema = once(() =>
  strictObject({
    baseline: finiteNumber().describe("The value it starts from."),
    target: finiteNumber().describe("The value it should reach; up is good when it is not below the baseline."),
    weight: finiteNumber().positive("must be above 0").default(1).describe("Its weight in E, the effect."),
    deadline: dateOrTime()
      .optional()
      .describe("Deadline: a date (to the end of that UTC day) or a time; absent: none."),
    tenant: nonEmptyText()
      .max(200, "must have 200 characters at most")
      .optional()
      .describe("Tenant of which it is measured; absent: the whole product."),
  }),
);

/** An absent rule forbids nothing. In `minor` it is the reverse: only the named kinds and targets are covered. */
export const policySchema = once(() =>
  strictObject({
    minor: strictObject({
      kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`))
        .default([])
        .describe("Kinds that are covered."),
      targets: list(targetPattern()).default([]).describe("Targets that are covered; * stands for any characters."),
      tenants: tenantList().optional().describe("Tenants that are covered; absent: all."),
      max_affected_users: integer(0)
        .optional()
        .describe("Most users that a minor change may reach; absent: any number."),
      max_risk: z
        .enum(RISKS, `must be one of ${RISKS.join(", ")}`)
        .default("low")
        .describe("Highest risk of a minor change."),
      max_per_day: integer(0).optional().describe("Most minor changes on a UTC day; absent: any number."),
      agents: z.boolean("must be true or false").optional().describe("Whether an agent's proposal may be minor."),
      apply_when: z
        .boolean("must be true or false")
        .optional()
        .describe("Whether a change that applies by itself may be minor."),
    })
      .optional()
      .describe("Which changes need no consent; absent: none."),
    required_approvers: strictObject({
      standard: integer(1).default(1).describe("For a standard change."),
      major: integer(1).optional().describe("For a major change; absent: as many as for a standard one."),
    })
      .check(({ value: { standard, major = standard }, issues }) => {
        if (major >= standard) return;
        const message = `is ${major}, below ${standard} for a standard change: a proposer could lower the number by declaring a change major`;
        issues.push({ code: "custom", input: major, path: ["major"], message });
      })
      .transform(({ standard, major = standard }) => ({ standard, major }))
      .prefault({})
      .describe("How many distinct people must consent, by tier."),
    approvers: list(approverOrGroup()).optional().describe("Who may approve; absent: anybody."),
    groups: groupsSchema()
      .default({})
      .describe("People by group; group:<name> stands for them in every list of names."),
    permissions: permissionsSchema().prefault({}).describe("Who may do what apart from deciding, by action."),
    self_approval: z
      .boolean("must be true or false")
      .default(true)
      .describe("Whether a proposer may approve their own change."),
    signed_only: z
      .boolean("must be true or false")
      .optional()
      .describe("Whether only signed consents count; absent: yes as soon as anybody has keys."),
    consent_ttl_hours: finiteNumber()
      .positive("must be above 0")
      .optional()
      .describe("After how many hours a pending change expires; absent: never."),
    ...consentRuleSchemas(),
    apply_when: applyWhenRuleSchema(),
    on_conflict: z
      .enum(["report", "block"], "must be report or block")
      .default("report")
      .describe("What happens to a proposal while another change of its target is open."),
    forbidden_targets: list(targetPattern())
      .default([])
      .describe("Targets that may not be changed; * stands for any characters."),
    stages: stagesRule().optional(),
    mandates: mandatesRule().optional(),
    promotion: promotionRules(),
    targets: targetRulesSchema().default([]).describe("Rules for values, by target; all that match apply."),
    guardrails: list(
      strictObject({
        kpi: kpiName().describe("The KPI that it watches."),
        max_regression: finiteNumber()
          .min(0, "must be 0 or more")
          .describe("How much worse it may get, in units of the KPI."),
        action: z
          .enum(["alert", "rollback"], "must be alert or rollback")
          .describe("alert marks the change, rollback rolls it back."),
        targets: list(targetPattern())
          .min(1, "must name a target, or be left out")
          .optional()
          .describe("Watches every applied change of these targets; absent: those that name the KPI."),
        hours: finiteNumber()
          .positive("must be above 0")
          .default(24)
          .describe("For how many hours after its apply a change is watched."),
      }),
    )
      .default([])
      .describe("What happens when a KPI worsens after the newest watched apply."),
  }),
);

const createShape = () => ({
  product_id: nonEmptyText().describe("The product that is governed."),
  product_type: nonEmptyText()
    .optional()
    .describe("What sort of product; peers of the same sort learn from each other."),
  version: nonEmptyText().describe("Version of the intent, as its authors count."),
  approved_by: nonEmptyText().describe("Who puts it in force."),
  update_epoch: z
    .int("must be a whole number above 0")
    .positive("must be a whole number above 0")
    .describe(
      "Raise it with each change of the intent; a lower one than the log's, or the same with other content, is rejected.",
    ),
  kpis: z.record(kpiName(), kpiSchema(), "must be an object").default({}).describe("KPIs with their goals, by name."),
  policy: policySchema()
    .prefault({})
    .describe("The rules for changes; without any, nothing is minor and one consent is enough."),
  principals: principalsSchema().default({}).describe("Who is who, by name: people and agents."),
});
const fieldNames = once(() => Object.keys(createShape()));
/** Names of rules that have no effect at the top level, with their places. `deadline` and `tenant` may be fields of the product there. */
const misplacedNames = once(
  () =>
    new Map([
      ...Object.keys(policySchema().shape).map((name) => [name, `policy.${name}`] as const),
      ...Object.keys(kpiSchema().omit({ deadline: true, tenant: true }).shape).map(
        (name) => [name, `kpis.<name>.${name}`] as const,
      ),
      ["policies", "policy"] as const,
    ]),
);

/** Maximum size of a manifest, since a log stores every manifest that was in force. */
const MAX_MANIFEST_BYTES = 256 * 1024;

/** The top level of a manifest may have fields that the service does not read. */
const manifestSchema = once(() => z.looseObject(createShape(), "must be an object"));

/** A manifest whose rules can take effect. Groups in lists of names are replaced by their members. */
export const intentSchema = once(() =>
  manifestSchema().transform((stated, { issues }) => {
    const reportIssue: ReportIssue = (path, message) =>
      void issues.push({ code: "custom", input: stated, path, message });
    const value = { ...stated, policy: expandGroups(stated.policy, reportIssue) };
    // An unknown group leaves its list too short; that is reported once, as the unknown group.
    if (issues.length === 0) reportUnreachableRules(value, reportIssue);
    reportImpostors(stated, reportIssue);
    return value;
  }),
);

/** Reports rules that could never take effect. */
function reportUnreachableRules(
  { policy, kpis, principals }: z.output<z.ZodObject<ReturnType<typeof createShape>>>,
  reportIssue: ReportIssue,
): void {
  const { approvers, required_approvers, guardrails, signed_only } = policy;
  const approverNames = new Set(approvers);
  const namesWithKeys = listNamesWithKeys(principals);
  const signedOnly = signed_only ?? namesWithKeys.length > 0;
  const signers = namesWithKeys.filter((name) => !approvers || approverNames.has(name));
  for (const [tier, required] of Object.entries(required_approvers))
    if (approvers && required > approverNames.size)
      reportIssue(
        ["policy", "required_approvers", tier],
        `asks for ${required}, and policy.approvers names ${approverNames.size}`,
      );
    else if (signedOnly && required > signers.length)
      reportIssue(
        ["policy", "required_approvers", tier],
        `asks for ${required} signed consents, and ${signers.length} of those who may approve have keys (policy.signed_only)`,
      );
  for (const { path, message } of findUnreachableConsents(policy, signedOnly ? namesWithKeys : undefined))
    reportIssue(["policy", ...path], message);
  if (policy.mandates && !signedOnly)
    reportIssue(["policy", "mandates"], "needs policy.signed_only: only signatures make a mandate");
  const automationProblem = findAutomationProblem(policy);
  if (automationProblem) reportIssue(["policy", "permissions", "apply"], automationProblem);
  const kpiNames = listKpiNames({ kpis });
  guardrails.forEach(({ kpi }, index) => {
    if (!kpiNames.includes(kpi))
      reportIssue(["policy", "guardrails", index, "kpi"], `is no KPI of this intent: ${suggestWord(kpi, kpiNames)}`);
  });
}

/** A validated intent with its defaults; `policy.signing` says who must sign. */
export type Intent = z.output<ReturnType<typeof intentSchema>> & { policy: { signing: Signing } };
export type Policy = Intent["policy"];
export type KpiGoal = Intent["kpis"][string];
export type Guardrail = Policy["guardrails"][number];

/** The text is not a valid intent; the message names each field and its rule. */
export class IntentInvalid extends Error {
  override readonly name = "IntentInvalid";
}

/** An intent, its canonical JSON with every member, and the SHA-256 of that text. */
export interface LoadedIntent {
  intent: Intent;
  manifest: string;
  manifest_hash: string;
}

/** Reads an intent's JSON text. Errors: `IntentInvalid`, also for an unknown field of a rule unless it begins with `x-`. */
export function loadIntent(text: string, sha256: Sha256): LoadedIntent {
  let stated: unknown;
  try {
    stated = parseStrictJson(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof JsonRejected) {
      const { message, cause } = error;
      throw new IntentInvalid(`the product intent ${message}${cause instanceof Error ? `: ${cause.message}` : ""}`);
    }
    throw error;
  }
  const inexact = findInexactNumber(text);
  if (inexact !== undefined)
    throw new IntentInvalid(
      `${inexact} has a number with more digits than can be stored exactly; write it as a string`,
    );
  const parsed = intentSchema().safeParse(removeExtensions(stated), { reportInput: true });
  // Unknown fields are allowed at the top level, unless they look like misplaced or misspelt rules.
  const topLevelProblems = findTopLevelProblems(stated);
  if (!parsed.success || topLevelProblems.length > 0) {
    const ruleProblems = (parsed.error?.issues ?? []).map((issue) => {
      const field = issue.path.join(".") || "the product intent";
      if (issue.code === "invalid_key") return `${field}: the name ${issue.issues[0]?.message}`;
      const absent = issue.code === "invalid_type" && issue.input === undefined;
      return `${field} ${absent ? "is required" : issue.message}`;
    });
    throw new IntentInvalid([...topLevelProblems, ...ruleProblems].join("; "));
  }
  const manifest = canonicalJson(stated);
  if (new TextEncoder().encode(manifest).length > MAX_MANIFEST_BYTES)
    throw new IntentInvalid(`the product intent has more than ${MAX_MANIFEST_BYTES} bytes`);
  const { policy, principals } = parsed.data;
  const signing = makeSigning(principals, policy.signed_only, sha256);
  return { intent: { ...parsed.data, policy: { ...policy, signing } }, manifest, manifest_hash: sha256(manifest) };
}

function findTopLevelProblems(stated: unknown): string[] {
  if (containsMember(stated, "__proto__")) return ["the product intent must not name __proto__"];
  const fields = Object.keys(Object(stated)).filter(
    (field) => !fieldNames().includes(field) && !field.startsWith("x-"),
  );
  return fields.flatMap((field) => {
    if (isMisspelling(field, fieldNames())) return `the product intent ${describeUnknownFields([field], fieldNames())}`;
    const place = misplacedNames().get(field.toLowerCase());
    return place === undefined ? [] : `${field} is no field of the product intent itself: did you mean ${place}?`;
  });
}

const containsMember = (value: unknown, name: string): boolean =>
  typeof value === "object" &&
  value !== null &&
  (Object.hasOwn(value, name) || Object.values(value).some((inner) => containsMember(inner, name)));

/** Copies a manifest without the unknown fields that begin with `x-`. */
function removeExtensions(stated: unknown): unknown {
  const { error } = manifestSchema().safeParse(stated);
  const copy = structuredClone(stated);
  for (const issue of error?.issues ?? [])
    if (issue.code === "unrecognized_keys")
      for (const key of issue.keys.filter((field) => field.startsWith("x-")))
        Reflect.deleteProperty(resolvePath(copy, issue.path) as object, key);
  return copy;
}

const resolvePath = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((parent, key) => (parent as Record<PropertyKey, unknown>)[key], value);

/** Lists the KPIs that a feed may name under this intent. */
export const listKpiNames = (intent: Pick<Intent, "kpis">): string[] => [
  ...new Set([...STANDARD_KPIS, ...Object.keys(intent.kpis)]),
];

/** Signs a request of a scenario as its sender, if the endpoint accepts a signature. */
import type { ServiceAction } from "../../lib/changes/rules/service_action.ts";
import type { Decision } from "../../lib/changes/rules/statement.ts";
import type { Sign } from "./credentials.ts";

/** The fields of a request. */
export type Fields = Readonly<Record<string, unknown>>;

/** A decision, and the field that names its author. */
interface SignedDecision {
  decision: Decision | ServiceAction;
  author: "approver" | "proposer" | "actor";
}

/** The decision of a request, by endpoint. */
const DECISIONS: Readonly<Record<string, SignedDecision>> = {
  propose: { decision: "propose", author: "proposer" },
  "propose-crm-followup": { decision: "propose", author: "proposer" },
  approve: { decision: "approve", author: "approver" },
  deny: { decision: "deny", author: "approver" },
  revoke: { decision: "revoke", author: "approver" },
  review: { decision: "review", author: "approver" },
  withdraw: { decision: "withdraw", author: "proposer" },
  note: { decision: "note", author: "actor" },
  apply: { decision: "apply", author: "actor" },
  rollback: { decision: "rollback", author: "actor" },
  restore: { decision: "restore", author: "actor" },
  freeze: { decision: "freeze", author: "actor" },
  unfreeze: { decision: "unfreeze", author: "actor" },
  erase: { decision: "erase", author: "actor" },
  kpi: { decision: "feed_kpis", author: "actor" },
  "audit/accept-clock": { decision: "accept_clock", author: "actor" },
  "audit/accept-loss": { decision: "accept_loss", author: "actor" },
};

/** Fields of the request that the statement repeats. */
const STATEMENT_FIELDS = ["change_id", "note", "verdict", "item", "seen", "over_drift", "until", "length", "head"];

/**
 * Returns the fields with their author and a signature of the statement that the service returns. If it returns none, the request is
 * sent unsigned.
 */
export async function signRequest(
  path: string,
  fields: Fields,
  by: string,
  { sign, post }: { sign: Sign; post(path: string, fields: Fields): Promise<{ status: number; body: unknown }> },
): Promise<Fields> {
  const signed = findDecision(path, fields);
  if (!signed || "proof" in fields) return fields;
  const { [signed.author]: author = by } = fields;
  const authoredFields = { ...fields, [signed.author]: author };
  const answer = await post("/api/product/consent-statement", {
    approver: author,
    ...statementFields(signed, authoredFields),
  });
  if (answer.status !== 200) return fields;
  const { statement } = answer.body as { statement: string };
  return { ...authoredFields, proof: sign(statement), at: (JSON.parse(statement) as { at: string }).at };
}

function findDecision(path: string, { emergency }: Fields): SignedDecision | undefined {
  const name = path.replace("/api/product/", "");
  const signed = Object.hasOwn(DECISIONS, name) ? DECISIONS[name] : undefined;
  return signed?.decision === "approve" && emergency === true ? { ...signed, decision: "approve_emergency" } : signed;
}

function statementFields({ decision, author }: SignedDecision, fields: Fields): Fields {
  if (decision === "propose") return { decision, [isFollowup(fields) ? "followup" : "proposal"]: fields };
  const stated = Object.fromEntries(
    STATEMENT_FIELDS.filter((name) => name in fields).map((name) => [name, fields[name]]),
  );
  if (decision !== "feed_kpis") return { decision, ...stated };
  const { [author]: _, note: __, ...kpis } = fields;
  return { decision, ...stated, kpis };
}

/** Checks that a proposal is a CRM follow-up, whose request states no kind. */
const isFollowup = (fields: Fields): boolean => !("kind" in fields);

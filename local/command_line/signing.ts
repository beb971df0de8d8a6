/** Signs decisions with an SSH key, after showing the statement. */
import { homedir } from "node:os";
import type { ChangeDetail } from "../../lib/client/client.ts";
import { canonicalContent, type Content } from "../../lib/changes/rules/content.ts";
import {
  createChangeFacts,
  type Decision,
  isConsentDecision,
  statementText,
} from "../../lib/changes/rules/statement.ts";
import { createMandateFacts } from "../../lib/changes/mandates/mandate_facts.ts";
import type { MandateView } from "../../lib/changes/mandates/view.ts";
import { MANDATE_BOUNDS, type MandateDecision } from "../../lib/changes/rules/mandate.ts";
import type { ServiceAction } from "../../lib/changes/rules/service_action.ts";
import type { StageAction } from "../../lib/changes/rules/stage_action.ts";
import { sha256 } from "../node_ports.ts";
import { changeText } from "./change_text.ts";
import { NotDone, UsageError } from "./exit.ts";
import { formatJson, escapeInvisible } from "./text.ts";
import type { Session } from "./verb.ts";

/** Options of verbs that can sign. */
export const SIGNING = {
  "--key <path>": "SSH key to sign with; a .pub file signs through the SSH agent",
  "--yes": "sign without asking",
};

/** A signature and its time. */
export interface SignedProof {
  proof: { type: "ssh"; signature: string };
  at: string;
}

/** A decision on a change. */
interface ChangeDecision {
  decision: Decision;
  approver: string;
  note: string;
  /** Item of a late note. */
  item?: string | undefined;
  /** A rollback over a value that another program set. */
  over_drift?: true | undefined;
  /** Digests of the values that its targets had. */
  seen?: readonly string[] | undefined;
  /** Step and action of a decision on a rollout. */
  step?: number | undefined;
  action?: StageAction | undefined;
  change: ChangeDetail;
}

/** A proposal, which has no id yet. */
export interface SignedProposal {
  decision: "propose";
  approver: string;
  note: "";
  /** The fields of the API, and the content that results from them. */
  proposal: Readonly<Record<string, unknown>>;
  content: Content;
}

/** A decision on the service itself. */
interface ServiceDecision {
  decision: ServiceAction;
  actor: string;
  note: string;
  until?: string | undefined;
  length?: number | undefined;
  head?: string | undefined;
  /** The KPIs of a feed. */
  kpis?: Readonly<Record<string, number>> | undefined;
}

/** A decision on a mandate. */
interface MandateDecisionView {
  decision: MandateDecision;
  approver: string;
  note: string;
  mandate: MandateView;
  narrow?: object | undefined;
}

type Subject = ChangeDecision | SignedProposal | ServiceDecision | MandateDecisionView;

const NAMESPACE = "countersign-consent";

/**
 * Shows the statement, asks for confirmation unless `isConfirmed`, and signs it. Errors: `NotDone`, also where the service's statement
 * differs from what was shown.
 */
export async function sign(
  session: Session,
  subject: Subject,
  key: string,
  isConfirmed: boolean,
): Promise<SignedProof> {
  const at = new Date(session.now()).toISOString();
  const statement = await buildStatement(session, subject, at);
  session.say(`What ${key} will sign:\n${formatJson(JSON.parse(statement))}`);
  if (!isConfirmed && !(await session.confirm("Sign it?")))
    throw new NotDone("nothing was signed and nothing was sent");
  const path = key.replace(/^~(?=\/)/, homedir());
  const signature = await session.run("ssh-keygen", ["-Y", "sign", "-n", NAMESPACE, "-f", path], statement);
  if (!signature.startsWith("-----BEGIN SSH SIGNATURE-----")) throw new NotDone("ssh-keygen wrote no signature");
  return { proof: { type: "ssh", signature }, at };
}

/** Shows a change, and signs a decision on it. Returns the fields and the precondition (`If-Match`) of the request. */
export async function signDecision(
  session: Session,
  change_id: string,
  decided: Omit<ChangeDecision, "change" | "seen">,
  key: string,
  isConfirmed: boolean,
) {
  const params = { path: { change_id }, ...(isConsentDecision(decided.decision) && { query: { seen: true } }) };
  const change = await session.client.get("/api/product/changes/{change_id}", { params });
  if (change.change_id !== change_id) throw new NotDone(`the service shows ${change.change_id}; sign nothing`);
  session.say(`${changeText(change)}\n`);
  const seen = change.seen?.map(({ digest }) => digest);
  const proof = await sign(session, { ...decided, change, seen }, key, isConfirmed);
  const fields = { ...proof, ...(seen && { seen }) };
  return { fields, params: { header: { "If-Match": `"${change.revision}"` } } };
}

/** Builds the statement from the data that was shown, and requires that the service's statement is identical. */
async function buildStatement({ client }: Session, subject: Subject, at: string): Promise<string> {
  const { decision, note } = subject;
  const parts = "change" in subject ? describeChange(subject) : await describeOther(client, subject);
  const body = { decision, ...(note === "" ? {} : { note }), at, ...parts.request } as never;
  const { statement } = await client.post("/api/product/consent-statement", { body });
  const { manifest_hash } = await client.get("/api/product/intent");
  const expected = statementText({ ...parts.facts, note, manifest_hash, at });
  if (expected === statement) return statement;
  const both = `  shown   ${escapeInvisible(expected)}\n  to sign ${escapeInvisible(statement)}`;
  throw new NotDone(`the statement of the service does not match what it shows; nothing was signed\n${both}`);
}

function describeChange({ decision, approver, item, over_drift, seen, step, action, change }: ChangeDecision) {
  const { change_id, digest, audit_entries } = change;
  const facts = createChangeFacts(decision, change);
  const origin = audit_entries[0]?.origin;
  if (origin === undefined) throw new NotDone(`the log has no entry about ${change_id}, so nothing can be signed`);
  if (sha256(canonicalContent(change as unknown as Content)) !== digest)
    throw new NotDone(`${change_id} does not match its digest: sign nothing, and inform the operator of the service`);
  const optionalFacts = { item, over_drift, seen, step, action };
  return {
    request: { approver, change_id, ...optionalFacts },
    facts: { origin, decision, approver, ...optionalFacts, ...facts },
  };
}

async function describeOther(client: Session["client"], subject: Exclude<Subject, ChangeDecision>) {
  const { origin } = await client.get("/api/product/audit", { params: { query: { limit: 1 } } });
  if ("mandate" in subject) {
    const { decision, approver, mandate, narrow } = subject;
    const bounds = Object.fromEntries(
      MANDATE_BOUNDS.flatMap((bound) => (bound in mandate ? [[bound, mandate[bound]]] : [])),
    );
    const facts = createMandateFacts(decision, { ...mandate, bounds: bounds as never }, narrow);
    return { request: { approver, mandate_id: mandate.mandate_id, narrow }, facts: { origin, approver, ...facts } };
  }
  if ("content" in subject) {
    const { decision, approver, proposal, content } = subject;
    const digest = sha256(canonicalContent(content));
    return { request: { approver, proposal }, facts: { origin, digest, decision, approver } };
  }
  const { decision, actor, until, length, head, kpis } = subject;
  const optionalFacts = { length, head, kpis };
  return {
    request: { approver: actor, until, ...optionalFacts },
    facts: { origin, decision, actor, until: toUtc(until), ...optionalFacts },
  };
}

/** Converts a time to UTC, as in statements; other text stays, for the service to reject. */
const toUtc = (time: string | undefined): string | undefined =>
  time === undefined || Number.isNaN(Date.parse(time)) ? time : new Date(time).toISOString();

/** Reads the name of the signer, which is part of the statement. */
export function readName(fields: Readonly<Record<string, unknown>>, field: string): string {
  const name = fields[field];
  if (typeof name !== "string") throw new UsageError(`--key needs --${field}: the signed statement names the person`);
  return name;
}

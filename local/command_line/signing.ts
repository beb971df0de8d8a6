/** Has a decision signed with an SSH key, after showing what is signed. */
import { homedir } from "node:os";
import type { ChangeDetail } from "../../lib/client/client.ts";
import { canonicalContent, type Content } from "../../lib/changes/rules/content.ts";
import { changeFacts, type Decision, isConsentDecision, statementText } from "../../lib/changes/rules/statement.ts";
import { mandateFacts } from "../../lib/changes/mandates/mandate_facts.ts";
import type { MandateView } from "../../lib/changes/mandates/view.ts";
import { MANDATE_BOUNDS, type MandateDecision } from "../../lib/changes/rules/mandate.ts";
import type { ServiceAction } from "../../lib/changes/rules/service_action.ts";
import type { StageAction } from "../../lib/changes/rules/stage_action.ts";
import { sha256 } from "../node_ports.ts";
import { changeText } from "./change_text.ts";
import { NotDone, UsageError } from "./exit.ts";
import { shownJson, visible } from "./text.ts";
import type { Session } from "./verb.ts";

/** The options of whatever can be signed. */
export const SIGNING = {
  "--key <path>": "SSH key to sign with; a .pub file signs through the SSH agent",
  "--yes": "sign without asking",
};

/** Proof of the author of a decision. */
export interface Signed {
  proof: { type: "ssh"; signature: string };
  at: string;
}

/** A decision on a change. */
interface Decided {
  decision: Decision;
  approver: string;
  note: string;
  /** Item of a late note. */
  item?: string | undefined;
  /** A rollback over a value that another program set. */
  over_drift?: true | undefined;
  /** Digests of what its places held. */
  seen?: readonly string[] | undefined;
  /** The step and the act of a decision on a rollout. */
  step?: number | undefined;
  action?: StageAction | undefined;
  change: ChangeDetail;
}

/** A proposal, which has no id yet. */
export interface Proposed {
  decision: "propose";
  approver: string;
  note: "";
  /** In the fields of the API, and the content that comes of them. */
  proposal: Readonly<Record<string, unknown>>;
  content: Content;
}

/** An act on the service. */
interface Done {
  decision: ServiceAction;
  actor: string;
  note: string;
  until?: string | undefined;
  length?: number | undefined;
  head?: string | undefined;
  /** The KPIs of a feed. */
  kpis?: Readonly<Record<string, number>> | undefined;
}

/** A decision on a mandate, as it was shown. */
interface OnMandate {
  decision: MandateDecision;
  approver: string;
  note: string;
  mandate: MandateView;
  narrow?: object | undefined;
}

type Matter = Decided | Proposed | Done | OnMandate;

const NAMESPACE = "countersign-consent";

/**
 * Shows the statement, asks for confirmation unless switched off, and signs. Errors: `NotDone`, where it is not what was shown.
 */
export async function signed(session: Session, matter: Matter, key: string, isSure: boolean): Promise<Signed> {
  const at = new Date(session.now()).toISOString();
  const statement = await statementFor(session, matter, at);
  session.say(`What ${key} will sign:\n${shownJson(JSON.parse(statement))}`);
  if (!isSure && !(await session.confirm("Sign it?"))) throw new NotDone("nothing was signed and nothing was sent");
  const path = key.replace(/^~(?=\/)/, homedir());
  const signature = await session.run("ssh-keygen", ["-Y", "sign", "-n", NAMESPACE, "-f", path], statement);
  if (!signature.startsWith("-----BEGIN SSH SIGNATURE-----")) throw new NotDone("ssh-keygen wrote no signature");
  return { proof: { type: "ssh", signature }, at };
}

/** Shows a change and has a decision on it signed. Returns the fields and the condition that go with the decision. */
export async function signDecision(
  session: Session,
  change_id: string,
  decided: Omit<Decided, "change" | "seen">,
  key: string,
  isSure: boolean,
) {
  const params = { path: { change_id }, ...(isConsentDecision(decided.decision) && { query: { seen: true } }) };
  const change = await session.client.get("/api/product/changes/{change_id}", { params });
  if (change.change_id !== change_id) throw new NotDone(`the service shows ${change.change_id}; sign nothing`);
  session.say(`${changeText(change)}\n`);
  const seen = change.seen?.map(({ digest }) => digest);
  const proof = await signed(session, { ...decided, change, seen }, key, isSure);
  const fields = { ...proof, ...(seen && { seen }) };
  return { fields, params: { header: { "If-Match": `"${change.revision}"` } } };
}

/** The statement is made here of what was shown; the service's own must be the same to the byte. */
async function statementFor({ client }: Session, matter: Matter, at: string): Promise<string> {
  const { decision, note } = matter;
  const about = "change" in matter ? aboutChange(matter) : await aboutNoChange(client, matter);
  const body = { decision, ...(note === "" ? {} : { note }), at, ...about.asked } as never;
  const { statement } = await client.post("/api/product/consent-statement", { body });
  const { manifest_hash } = await client.get("/api/product/intent");
  const own = statementText({ ...about.facts, note, manifest_hash, at });
  if (own === statement) return statement;
  const both = `  shown   ${visible(own)}\n  to sign ${visible(statement)}`;
  throw new NotDone(`what the service wants signed is not what it shows; nothing was signed\n${both}`);
}

function aboutChange({ decision, approver, item, over_drift, seen, step, action, change }: Decided) {
  const { change_id, digest, audit_entries } = change;
  const facts = changeFacts(decision, change);
  const origin = audit_entries[0]?.origin;
  if (origin === undefined) throw new NotDone(`no entry of the log tells of ${change_id}, so nothing can be signed`);
  if (sha256(canonicalContent(change as unknown as Content)) !== digest)
    throw new NotDone(`${change_id} is not what its digest says: sign nothing, and tell who runs the service`);
  const more = { item, over_drift, seen, step, action };
  return { asked: { approver, change_id, ...more }, facts: { origin, decision, approver, ...more, ...facts } };
}

async function aboutNoChange(client: Session["client"], matter: Exclude<Matter, Decided>) {
  const { origin } = await client.get("/api/product/audit", { params: { query: { limit: 1 } } });
  if ("mandate" in matter) {
    const { decision, approver, mandate, narrow } = matter;
    const bounds = Object.fromEntries(
      MANDATE_BOUNDS.flatMap((bound) => (bound in mandate ? [[bound, mandate[bound]]] : [])),
    );
    const facts = mandateFacts(decision, { ...mandate, bounds: bounds as never }, narrow);
    return { asked: { approver, mandate_id: mandate.mandate_id, narrow }, facts: { origin, approver, ...facts } };
  }
  if ("content" in matter) {
    const { decision, approver, proposal, content } = matter;
    const digest = sha256(canonicalContent(content));
    return { asked: { approver, proposal }, facts: { origin, digest, decision, approver } };
  }
  const { decision, actor, until, length, head, kpis } = matter;
  const end = { length, head, kpis };
  return { asked: { approver: actor, until, ...end }, facts: { origin, decision, actor, until: inUtc(until), ...end } };
}

/** As a statement says it; what is no time is left for the service to refuse. */
const inUtc = (time: string | undefined): string | undefined =>
  time === undefined || Number.isNaN(Date.parse(time)) ? time : new Date(time).toISOString();

/** Reads the name of the signer, which is part of the statement. */
export function readName(fields: Readonly<Record<string, unknown>>, field: string): string {
  const name = fields[field];
  if (typeof name !== "string")
    throw new UsageError(`--key needs --${field}: what is signed says whose decision it is`);
  return name;
}

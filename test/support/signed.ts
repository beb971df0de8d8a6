/** Signed decisions, as clients make them, and consents that are forged by writing to the store. */
import { entryKey, nextEntry, readHead } from "../../lib/audit/chain.ts";
import { readRecord } from "../../lib/changes/records.ts";
import { toChange, type ChangeRecord } from "../../lib/changes/rules/record.ts";
import type { Proof } from "../../lib/changes/rules/proof.ts";
import type { ServiceAction } from "../../lib/changes/rules/service_action.ts";
import { evolve } from "../../lib/changes/rules/evolve.ts";
import type { Client, Reply } from "./client.ts";
import type { TestDeps } from "./deps.ts";
import type { Fields } from "./requests.ts";

/** Signs statements. */
export interface Signer {
  key: object;
  sign(statement: string): Proof;
}

/** Returns a principal of the kind person with the keys of these signers. */
export const person = (...signers: Signer[]) => ({ kind: "person", keys: signers.map(({ key }) => key) });

type Poster = Pick<Client, "post">;

/** Requests the statement to sign from the service. */
export async function requestStatement(api: Poster, fields: Fields): Promise<string> {
  const reply = await api.post("consent-statement", fields);
  if (reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body.statement;
}

/** Signs a statement and returns the fields of a request that contain the proof. */
export const proofFields = (signer: Signer, statement: string): Fields => ({
  proof: JSON.stringify(signer.sign(statement)),
  at: JSON.parse(statement).at,
});

/** Posts a signed action on the service. */
export async function postSignedAction(
  api: Poster,
  signer: Signer,
  action: ServiceAction,
  fields: ActionFields,
): Promise<Reply> {
  const { actor, ...rest } = fields;
  const path = action.startsWith("accept_") ? `audit/${action.replace("_", "-")}` : action;
  return api.post(path, {
    ...fields,
    ...proofFields(signer, await requestStatement(api, { decision: action, approver: actor, ...rest })),
  });
}

interface ActionFields extends Fields {
  actor: string;
}

/** Posts a signed decision on a change. */
export async function decide(
  api: Poster,
  signer: Signer,
  decision: "approve" | "deny" | "withdraw" | "revoke" | "review" | "note",
  fields: { change_id: string; approver: string; note?: string; verdict?: string; item?: string },
): Promise<Reply> {
  const { approver, ...rest } = fields;
  const statement = await requestStatement(api, { decision, ...fields });
  // The endpoints have different fields for the person who signs.
  const field = decision === "withdraw" ? "proposer" : decision === "note" ? "actor" : "approver";
  return api.post(decision, { ...rest, [field]: approver, ...proofFields(signer, statement) });
}

/** Writes a forged consent to log and record without the service: a complete, correctly chained entry. */
export async function forgeConsent({ store, sha256 }: TestDeps, change_id: string, detail: object): Promise<void> {
  await store.transact(async (tx) => {
    const head = (await readHead(tx))!;
    const { change, ...state } = (await readRecord(tx, change_id)) as ChangeRecord;
    const decision = {
      decision: "approved",
      status: "approved",
      digest: change.digest,
      target_owner: null,
      ...detail,
    } as const;
    const event = { event_type: "consent_decision", change_id, tenant: change.tenant_id, detail: decision } as const;
    const next = nextEntry(head, event, head.at, sha256);
    const evolved = evolve({ ...state, change }, { ...next.entry, detail: decision })!;
    tx.put("audit", entryKey(next.entry.id), next.entry);
    tx.put("meta", "chain", next.head);
    tx.put("changes", change_id, { ...evolved, change: toChange(evolved) });
  });
}

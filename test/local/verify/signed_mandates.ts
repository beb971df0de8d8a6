/** Entries about mandates with the intent under which they are judged, without real signatures. */
import type { RecordedEntry } from "../../../local/verify/entry_detail.ts";
import { parseIntent } from "../../../local/verify/intent.ts";
import { passkey, sshSigner } from "../../support/passkeys.ts";
import { person } from "../../support/signed.ts";

export type Detail = Record<string, unknown>;

const PENS = { ana: passkey(), bo: sshSigner(), fin: passkey(), ona: passkey(), cy: sshSigner("ssh-ed25519") };
/** The intent, with other rules of its policy if passed. A mandate needs the quorum of major changes, two, and the owners. */
export const intent = (over: object = {}) =>
  parseIntent({
    ...{ product_id: "p", version: "1", approved_by: "x", update_epoch: 1 },
    policy: {
      ...{ approvers: ["ana", "bo", "cy"], required_approvers: { standard: 1, major: 2 } },
      owners: [{ targets: ["price.*"], approvers: ["fin", "ona"], required: 2, tenants: ["t1"] }],
      ...over,
    },
    principals: {
      ...Object.fromEntries(Object.entries(PENS).map(([name, pen]) => [name, person(pen)])),
      // Either key of bo counts.
      bo: { kind: "person", keys: [PENS.bo.key, PENS.fin.key] },
      cy: { kind: "person", keys: [{ ...PENS.cy.key, unattended: true }] },
      ona: { ...person(PENS.ona), idp: ["finance"] },
    },
  });
/** Bounds of a mandate for which both owners of price.* in t1 must sign too. */
export const TARGETS = { targets: ["price.a", "ui.*"], tenants: ["t1"] };

/** Returns entries that count as signed by these people, each with their own key, and the intent. */
export function signEntries(names: readonly string[], detail: object = {}, over?: object) {
  const known = intent(over);
  const signed = new Map(names.map((name, at) => [at + 1, known.keys.get(name.toLowerCase())![0]!.id]));
  const entries = names.map((approver, at) => ({
    entry: { id: at + 1 },
    detail: { approver, proof: {}, idp: ["finance"], manifest_hash: "m", ...detail },
  })) as never[];
  return { known, entries, grounds: { signed, intents: new Map([["m", known]]) } };
}

export const AT = "2026-11-02T08:00:00.000Z";
/** An entry about the mandate m1, by ana under the intent m where the detail names no other. */
export const entry = (id: number, eventType: string, detail: Detail = {}, over: object = {}): RecordedEntry => ({
  entry: { id, eventType, origin: "o", changeId: "", timestamp: AT, ...over } as never,
  detail: { mandate_id: "m1", manifest_hash: "m", proof: {}, approver: "ana", ...detail },
});

export const BOUNDS = {
  agent: "agent:pricing",
  targets: ["price.*"],
  kinds: ["config"],
  tenants: ["t1"],
  max_per_day: 8,
  max_open: 3,
  max_affected_users: 10,
  from: "2026-11-01T00:00:00.000Z",
  until: "2026-12-01T00:00:00.000Z",
};
export const SYSTEMS = [{ name: "flags" }];

/** The statement of a decision, made here of what this page shows: nobody's word is taken for what is signed. */
import { canonicalContent } from "../../../lib/governance/rules/content.ts";
import { type Decision, statementText } from "../../../lib/governance/rules/statement.ts";
import type { ChangeDetail } from "../core/api_types.ts";
import { NotDone } from "../core/api.ts";
import { canCheck } from "./audit_check.ts";

/** What is signed, and what a passkey is asked to sign of it; without the latter where a page may not compute hashes. */
export interface Statement {
  text: string;
  challenge: Uint8Array<ArrayBuffer> | undefined;
}

/** Who decides what, under which intent, and when. */
export interface Said {
  decision: Decision;
  name: string;
  note: string;
  manifest_hash: string;
  at: string;
}

/** The statement of a decision on a change. Errors: `NotDone` where the digest is not that of the content that is shown. */
export async function statementOf(
  change: ChangeDetail,
  { decision, name, note, manifest_hash, at }: Said,
): Promise<Statement> {
  const { change_id, digest } = change;
  const origin = change.audit_entries[0]?.origin;
  if (origin === undefined) throw new NotDone("No entry of the log tells of this change, so nothing can be signed.");
  if (canCheck() && hexOf(await sha256(canonicalContent(change))) !== digest)
    throw new NotDone(
      "What this page shows is not what the change's digest says. Sign nothing, and tell who runs this.",
    );
  const text = statementText({ origin, change_id, digest, decision, approver: name, note, manifest_hash, at });
  return { text, challenge: canCheck() ? await sha256(text) : undefined };
}

const sha256 = async (text: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

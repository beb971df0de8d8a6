/** The statement of a decision, for those who would rather not make it themselves. */
import * as z from "zod";
import { type Answer, answer } from "../http/answer.ts";
import type { Call } from "../http/endpoint.ts";
import { readHead } from "../audit/chain.ts";
import { invalidField } from "../kit/errors.ts";
import { actorOf, requirePerson } from "./caller.ts";
import type { GovernanceDeps } from "./deps.ts";
import { findChange } from "./records.ts";
import { digestOf } from "./rules/content.ts";
import type { ProposeInput } from "./rules/command.ts";
import { proposedContent } from "./rules/propose.ts";
import { challengeOf, type Decision, statementText } from "./rules/statement.ts";
import { minorToday } from "./submit_proposal.ts";

/** What is answered. */
export const statementAnswer = z.object({
  /** What is signed, to the byte. */
  statement: z.string(),
  /** Its SHA-256 in base64url, for a passkey. */
  challenge: z.string(),
});

/** Which decision, and whose. */
export interface StatementInput {
  decision: Exclude<Decision, "review">;
  approver: string;
  change_id?: string | undefined;
  note?: string | undefined;
  at?: string | undefined;
  proposal?: ProposeInput | undefined;
}

/** Answers what would have to be signed now. Errors: 404 `change_not_found`, 400 where a field does not belong to the decision. */
export async function consentStatement(call: Call<GovernanceDeps>, input: StatementInput): Promise<Answer> {
  const { deps } = call;
  const { decision, approver, note = "", at = new Date(deps.clock.now()).toISOString() } = input;
  const head = await readHead(deps.store);
  if (!head) throw new Error("a statement needs an opened product runtime");
  const content = await contentOf(call, input);
  requirePerson(call, "approver", approver);
  const { manifest_hash } = deps.product!;
  const statement = statementText({ origin: head.origin, ...content, decision, approver, note, manifest_hash, at });
  return answer({ statement, challenge: challengeOf(statement, deps.sha256) });
}

async function contentOf(
  call: Call<GovernanceDeps>,
  { decision, approver, change_id, note, proposal }: StatementInput,
) {
  const { store, clock, product, sha256 } = call.deps;
  const refuse = (field: string, message: string) => {
    throw invalidField(field, message);
  };
  if (decision !== "propose") {
    if (proposal !== undefined) refuse("proposal", "belongs to the decision propose");
    if (change_id === undefined) throw invalidField("change_id", "is required");
    return { change_id, digest: (await findChange(store, change_id)).change.digest };
  }
  if (change_id !== undefined) refuse("change_id", "does not belong to a proposal, which has none yet");
  if (note) refuse("note", "does not belong to a proposal");
  if (proposal === undefined) throw invalidField("proposal", "is required");
  const input = { ...proposal, proposer: proposal.proposer ?? approver };
  if (input.proposer !== approver) refuse("proposal", "must have the approver as its proposer");
  const minor_today = await minorToday(store, new Date(clock.now()).toISOString());
  const { intent } = product!;
  return {
    digest: digestOf(proposedContent({ input, minor_today }, { intent, actor: actorOf(call, approver) }), sha256),
  };
}

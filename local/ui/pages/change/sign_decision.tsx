/** The signature of a decision on a change. */
import type { ChangeDetail } from "../../core/api_types.ts";
import { brief } from "../../core/format.ts";
import { type ChangeAction, CHANGE_ACTIONS } from "../../domain/change_actions.ts";
import { findSeen } from "../../domain/seen.ts";
import { shortly } from "../../domain/sentences.ts";
import { decisionOn } from "../../domain/statement.ts";
import { Signing, type SigningProps } from "../../parts/signing.tsx";
import { Sentence } from "../../parts/text.tsx";

/** Says who decides what, and has it signed. */
export function SignDecision({
  change,
  action,
  note,
  over_drift,
  ...signing
}: SigningProps & { change: ChangeDetail; action: ChangeAction; note: string; over_drift?: true }) {
  const { says, decision, fields } = CHANGE_ACTIONS[action];
  const decided = {
    decision: decision!,
    approver: signing.name,
    note,
    verdict: fields?.["verdict"],
    ...(decision === "stage" && { step: change.exposure?.step, action: fields?.["action"] }),
    seen: findSeen(decision, change),
    over_drift,
  };
  return (
    <Signing
      {...signing}
      matter={decisionOn(change, decided)}
      facts={[["Content", <code title={change.digest}>{brief(change.digest)}</code>]]}
    >
      {says}: <Sentence parts={shortly(change)} />
      {note === "" ? "." : ", with your note."}
    </Signing>
  );
}

/** Words the comments on a deployment that GitHub shows. */
import type { GateDecision } from "../../changes/rules/decide_gate.ts";
import { changePageAddress } from "../page_address.ts";

/** Characters of a comment that GitHub accepts. */
const MAX_CHARACTERS = 1_024;

const STATE_TEXT = {
  allowed: "Countersign: the release is consented to",
  waiting: "Countersign: the deployment waits for consent",
  refused: "Countersign: the deployment is refused",
} as const;

/** Describes a decision, with the address of the change's page, or the change's id if the console has no address. */
export function describeDecision(
  { state, change_id, reasons }: Omit<GateDecision, "record">,
  publicUrl: string | undefined,
): string {
  const findPage = (id: string): string => (publicUrl === undefined ? id : changePageAddress(publicUrl, id));
  const end = change_id === null ? "" : ` ${findPage(change_id)}`;
  const text = [STATE_TEXT[state], ...reasons].join(". ");
  const room = MAX_CHARACTERS - end.length;
  // A cut between the halves of a surrogate pair drops the first half too.
  const isShort = text.length <= room;
  return (isShort ? text : `${text.slice(0, room - 1).replace(/[\ud800-\udbff]$/, "")}…`) + end;
}

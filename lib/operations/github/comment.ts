/** Comments on a deployment, as GitHub shows them to those who wait for it. */
import type { GateDecision } from "../../changes/rules/decide_gate.ts";
import { changePageAddress } from "../page_address.ts";

/** Characters that GitHub takes. */
const MAX_CHARACTERS = 1_024;

const STATE_TEXT = {
  allowed: "Countersign: the release is consented to",
  waiting: "Countersign: the deployment waits for consent",
  refused: "Countersign: the deployment is refused",
} as const;

/** Words a decision, with the change's page where the console has an address. */
export function describeDecision(
  { state, change_id, reasons }: Omit<GateDecision, "record">,
  publicUrl: string | undefined,
): string {
  const pages =
    change_id === null ? [] : [publicUrl === undefined ? change_id : changePageAddress(publicUrl, change_id)];
  const end = pages.map((one) => ` ${one}`).join("");
  const text = [STATE_TEXT[state], ...reasons].join(". ");
  const room = MAX_CHARACTERS - end.length;
  const isShort = text.length <= room;
  return (isShort ? text : `${text.slice(0, room - 1).replace(/[\ud800-\udbff]$/, "")}…`) + end;
}

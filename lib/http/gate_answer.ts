/** The fields and the answer of questions for a release, which GET and POST share. */
import * as z from "zod";
import { type GateDecision, GATE_STATES } from "../changes/rules/decide_gate.ts";
import { HEAD_PATTERN } from "../changes/rules/release.ts";
import { line, target, word } from "../kit/fields.ts";
import { once } from "../kit/once.ts";
import { findChangePage } from "../operations/page_address.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { type Answer, answer } from "./answer.ts";
import type { Call } from "./endpoint.ts";

/** When a caller of `answer=status` asks again, in seconds. */
const RETRY_AFTER = "30";
const STATUS_OF = { allowed: 200, waiting: 503, refused: 403 } as const;

/** The fields of a question. */
export const gateFields = () => ({
  target: target().describe("The release, such as `deploy/<repository id>/<environment>`."),
  tenant_id: line(200).describe("The tenant."),
  head: z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "must be text") })
    .regex(HEAD_PATTERN, "must be a full commit id: 40 or 64 lower-case hex characters")
    .describe("The full commit id."),
  answer: word(["status"]).optional().describe("`status`: 200, 503 or 403 says the state too."),
});

export const gateOutput = once(() =>
  z
    .object({
      state: z.enum(GATE_STATES).describe("`waiting` may still become `allowed`."),
      allowed: z.boolean().describe("True for `allowed`."),
      change_id: z.string().nullable().describe("The change that releases the head."),
      page: z.string().nullable().describe("Its page in the console."),
      reasons: z.array(z.string()).describe("Why it is not allowed."),
    })
    .describe("The answer to a question for a release."),
);

/** Answers a question; `answer=status` as curl and other programs read it. */
export function gateAnswer(
  { state, change_id, reasons }: GateDecision,
  call: Call<OperationsDeps>,
  form: "status" | undefined,
): Answer {
  const page = change_id === null ? null : findChangePage(call, change_id);
  const status = form === "status" ? STATUS_OF[state] : 200;
  const headers: Record<string, string> = status === 503 ? { "retry-after": RETRY_AFTER } : {};
  return answer({ state, allowed: state === "allowed", change_id, page, reasons }, status, headers);
}

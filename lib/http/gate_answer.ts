/** Fields and answer of a request for a release decision, which GET and POST share. */
import * as z from "zod";
import { type GateDecision, GATE_STATES } from "../changes/rules/decide_gate.ts";
import { HEAD_PATTERN } from "../changes/rules/release.ts";
import { line, target, word } from "../kit/fields.ts";
import { once } from "../kit/once.ts";
import { findChangePage } from "../operations/page_address.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { type Answer, answer } from "./answer.ts";
import type { Call } from "./endpoint.ts";

/** Seconds until a caller of `answer=status` asks again. */
const RETRY_AFTER = "30";
const STATUS_BY_STATE = { allowed: 200, waiting: 503, refused: 403 } as const;

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

/** Answers a request; with `answer=status` by the HTTP status, which curl and other programs read. */
export function gateAnswer(
  { state, change_id, reasons }: GateDecision,
  call: Call<OperationsDeps>,
  form: "status" | undefined,
): Answer {
  const page = change_id === null ? null : findChangePage(call, change_id);
  const status = form === "status" ? STATUS_BY_STATE[state] : 200;
  const headers: Record<string, string> = status === 503 ? { "retry-after": RETRY_AFTER } : {};
  return answer({ state, allowed: state === "allowed", change_id, page, reasons }, status, headers);
}

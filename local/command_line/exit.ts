/** Exit codes and error messages of the program. */
import { CountersignError } from "../../lib/client/client.ts";

/** Exit codes and their meanings. */
export const EXITS = {
  done: [0, "done; of `wait`: approved, or applied already; of `gate`: allowed"],
  refused: [1, "not done: the service rejected it, or it failed here; of `audit verify`: the log is invalid"],
  usage: [2, "wrongly called: an unknown verb or option, or a value that the service does not accept"],
  not_found: [3, "no such change or mandate"],
  no_answer: [4, "no answer, or nothing can be done now: try again later"],
  unauthorized: [5, "a token is missing or wrong"],
  denied: [6, "of `wait`: denied, withdrawn, expired, revoked, or rolled back again; of `gate`: refused"],
  waiting: [7, "of `wait`: not decided within --timeout; of `gate`: still waiting"],
} as const satisfies Record<string, readonly [code: number, meaning: string]>;

/** Name of an exit code. */
export type Exit = keyof typeof EXITS;

/** The program was called wrongly; the message is for its caller. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The program itself could not, or must not, go on: because of a file, a signature, or an answer that it does not accept. */
export class NotDone extends Error {
  override readonly name = "NotDone";
}

/** Returns the exit code of an error, by name. */
export function exitFor(error: unknown): Exit {
  if (error instanceof UsageError) return "usage";
  if (!(error instanceof CountersignError)) return "refused";
  const { code, status } = error;
  if (code === "change_not_found" || code === "mandate_not_found") return "not_found";
  if (code === "invalid_field") return "usage";
  if (code === "unauthorized") return "unauthorized";
  // `adapter_failed` is a failure of the target system; the service itself has answered.
  const isFailing = code !== "adapter_failed" && status >= 500;
  return isFailing || code === "unreachable" || code === "unexpected_answer" ? "no_answer" : "refused";
}

/** Advice by the code of an error. */
const HINTS: Readonly<Record<string, string>> = {
  unauthorized:
    "give the admin token: SVC_ADMIN_TOKEN_FILE or --token-file, or an agent's: SVC_AGENT_TOKEN_FILE; for reads SVC_READ_TOKEN",
  proof_required: "sign it: --key ~/.ssh/id_ed25519, or the .pub file of a key that the agent holds",
  proposer_unknown: "sign it: --key ~/.ssh/id_ed25519, or give an agent's secret: SVC_AGENT_TOKEN_FILE",
  not_found: "say where the service is, with what stands before its paths: --url or SVC_URL",
  unreachable: "say where the service is: --url or SVC_URL",
  unexpected_answer: "say where the service is: --url or SVC_URL",
  adapter_failed: "countersign show <change_id> shows the cause",
  product_runtime_disabled: "the service governs no product yet; see its log",
};

/** Formats an error as lines for people; `optionFields` are the fields that are options. */
export function formatError(error: unknown, optionFields: readonly string[] = []): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof CountersignError)) return message;
  const { code, fields, request_id } = error;
  const invalidOptions = fields.filter(({ field }) => optionFields.includes(field));
  const options = invalidOptions.map(({ field, message }) => `  --${field.replaceAll("_", "-")}  ${message}`);
  // The service answers an unknown path with "there is nothing at …": the address is wrong. Any other 404 comes from an endpoint.
  const hint = code === "not_found" && !message.startsWith("there is nothing at") ? undefined : HINTS[code];
  return [
    `${message} (${code}${request_id === undefined ? "" : `, request ${request_id}`})`,
    // A single field is in the message already.
    ...(options.length > 1 ? options : []),
    ...(hint === undefined ? [] : [`  ${hint}`]),
  ].join("\n");
}

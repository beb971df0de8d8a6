/** Verb that asks whether a release is consented to. */
import { type Answer, createClient, CountersignError } from "../../../lib/client/client.ts";
import { OptionError, readSecret, readSecretFromFile } from "../../secrets.ts";
import { type Exit, exitFor, UsageError } from "../exit.ts";
import type { VerbCall, Session, Verb } from "../verb.ts";

type Decision = Answer<"/api/gate", "get">;
interface Question {
  target: string;
  tenant_id: string;
  head: string;
}

/** Exit codes by the state in the answer. */
const EXIT_BY_STATE = { allowed: "done", waiting: "waiting", refused: "denied" } as const satisfies Record<
  Decision["state"],
  Exit
>;

const INTERVAL_S = 30;

/** Asks if a release is consented to, and waits while the decision is open. */
export const gate: Verb = {
  usage: "gate <target>",
  operation: "GET /api/gate",
  summary: "Ask whether a release is consented to, before it is deployed",
  fields: ["tenant_id", "head"],
  options: {
    "--timeout <seconds>": "ask again for this time while the release waits; by default, ask once",
    "--interval <seconds>": `pause between questions [${INTERVAL_S}]`,
    "--record": "write the answer into the audit log, with the admin token",
    "--ci-token-file <path>":
      "file with the job's own token, which records the answer [SVC_CI_TOKEN_FILE, SVC_CI_TOKEN]",
  },
  async run(session, { args: { target = "" }, fields, options }) {
    const { tenant_id, head } = fields as Partial<Question>;
    if (tenant_id === undefined || head === undefined) throw new UsageError("--tenant-id and --head are required");
    const question = { target, tenant_id, head };
    const end = session.now() + readSeconds(options, "timeout", 0) * 1000;
    const interval = readSeconds(options, "interval", INTERVAL_S) * 1000;
    for (let lastText = ""; ;) {
      const answer = await askGate(session, question, options).catch((error: CountersignError) => error);
      const remainingMs = end - session.now();
      // Only a service that does not answer now is asked again.
      if (answer instanceof Error && (remainingMs <= 0 || exitFor(answer) !== "no_answer")) throw answer;
      const text = answer instanceof Error ? `no answer: ${answer.message}` : describe(answer);
      if (!(answer instanceof Error) && (answer.state !== "waiting" || remainingMs <= 0))
        return { text, json: answer, exit: EXIT_BY_STATE[answer.state] };
      if (text !== lastText) session.say(text);
      lastText = text;
      await new Promise((resolve) => setTimeout(resolve, Math.min(interval, remainingMs)));
    }
  },
};

/**
 * Asks once. With a CI token or `--record` the service records the question: with that token, or with the session's admin
 * token. A CI token is read each time, since it is short-lived and may be replaced.
 */
async function askGate(session: Session, question: Question, options: VerbCall["options"]): Promise<Decision> {
  const { client, url, fetch } = session;
  const token = readToken(session, options["ciTokenFile"]);
  if (token === undefined && options["record"] !== true)
    return requireDecision(await client.get("/api/gate", { params: { query: question } }), url);
  const recordingClient =
    token === undefined ? client : createClient({ baseUrl: url, headers: { Authorization: `Bearer ${token}` }, fetch });
  return requireDecision(await recordingClient.post("/api/gate", { body: question }), url);
}

/** Requires a valid decision: any other answer from this address must not allow a release. Errors: `CountersignError`. */
function requireDecision(answer: Decision, url: string): Decision {
  const { state, allowed, reasons } = (answer ?? {}) as Partial<Decision>;
  const isKnownState = state !== undefined && Object.hasOwn(EXIT_BY_STATE, state);
  if (isKnownState && allowed === (state === "allowed") && Array.isArray(reasons)) return answer;
  const sentence = `${url} answered something other than a decision: is this the address of the service?`;
  throw new CountersignError("unexpected_answer", sentence, 200, { body: answer });
}

function readToken({ env }: Session, file: VerbCall["options"][string]): string | undefined {
  try {
    return typeof file === "string" ? readSecretFromFile(file, "--ci-token-file") : readSecret(env, "SVC_CI_TOKEN");
  } catch (error) {
    if (error instanceof OptionError) throw new UsageError(error.message);
    throw error;
  }
}

function readSeconds(options: VerbCall["options"], name: string, fallback: number): number {
  const seconds = options[name] === undefined ? fallback : Number(options[name]);
  if (seconds >= 0 && seconds <= MAX_SECONDS) return seconds;
  throw new UsageError(`--${name} is a number of seconds, not ${String(options[name])}`);
}

/** About 23 days, within the maximum of Node's timers. */
const MAX_SECONDS = 2_000_000;

const describe = ({ state, change_id, page, reasons }: Decision): string =>
  [`${state}${change_id === null ? "" : `  ${change_id}`}`, ...reasons, ...(page === null ? [] : [page])].join("\n  ");

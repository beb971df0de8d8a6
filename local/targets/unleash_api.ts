/** Requests to the Admin API of Unleash. */
import { describeCause } from "../../lib/kit/fetch_failure.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { traceHeaders } from "../../lib/kit/trace.ts";
import { TargetRejected } from "../../lib/targets/port.ts";

/** The address of the server, and the credentials. */
export interface UnleashApiOptions {
  url: string;
  token: string;
  fetch?: typeof fetch;
}

/** Causes of a failure before the request was sent. */
const NOT_SENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_\w+|\w*CERT\w*)$/;

const ADMIN_TOKEN_REJECTED =
  "Unleash lets no admin token import flags; use a personal access token or one of a service account";

/** The request was not sent. */
export class NotSent extends Error {}

/** Returns the address without a slash at its end. Throws `TypeError` for one that cannot be used. */
export function parseUnleashUrl(url: string): string {
  // A text that is no URL is replaced by `none:`, whose protocol is rejected below.
  const { protocol, origin, pathname, username, password, search } = new URL(URL.canParse(url) ? url : "none:");
  if (protocol !== "https:" && protocol !== "http:") throw new TypeError("must be an https or http URL");
  if (username !== "" || password !== "" || search !== "")
    throw new TypeError("must have no user, password or query: the token shows who asks");
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** Makes the requests. A write throws `TargetRejected` or `NotSent` where it was not carried out, `Unanswered` where the result is not known. */
export function unleashApi({ url, token, fetch: send = fetch }: UnleashApiOptions) {
  const address = parseUnleashUrl(url);

  const request = async (method: string, path: string, body: unknown, isWrite: boolean, signal: AbortSignal) => {
    signal.throwIfAborted();
    const fail = (reason: string) => (isWrite ? new Unanswered(reason) : new Error(reason));
    const sendRequest = async () => {
      const response = await send(`${address}/api/admin${path}`, {
        method,
        redirect: "manual",
        signal,
        headers: {
          authorization: token,
          accept: "application/json",
          "content-type": "application/json",
          ...traceHeaders(),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, text: await response.text() };
    };
    const { status, text } = await sendRequest().catch((error: unknown) => {
      const cause = describeCause(error);
      throw NOT_SENT.test(cause)
        ? new NotSent(`Unleash cannot be reached (${cause})`)
        : fail(`Unleash did not answer (${signal.aborted ? "out of time" : "connection lost"})`);
    });
    if (status >= 500 || status === 408) throw fail(`Unleash answered ${status}`);
    return { status, text };
  };

  /** Returns the JSON of an answer; throws `TargetRejected` for any other status than success. */
  const parse = ({ status, text }: { status: number; text: string }): unknown => {
    if (status >= 200 && status < 300) return text === "" ? undefined : JSON.parse(text);
    throw new TargetRejected(describeRejection(status, text));
  };

  return {
    /** The address without credentials and trailing slash. */
    address,
    /** The message for an admin token, which cannot be used. */
    adminToken: ADMIN_TOKEN_REJECTED,

    /** Reads a resource; undefined where the server answers 404. */
    async get<T>(path: string, signal: AbortSignal): Promise<T | undefined> {
      const answer = await request("GET", path, undefined, false, signal);
      return answer.status === 404 ? undefined : (parse(answer) as T);
    },

    /** Reads by a request with a body. */
    read: async <T>(path: string, body: unknown, signal: AbortSignal): Promise<T> =>
      parse(await request("POST", path, body, false, signal)) as T,

    async write(method: "POST" | "DELETE", path: string, body: unknown, signal: AbortSignal): Promise<void> {
      parse(await request(method, path, body, true, signal));
    },
  };
}

/** Explains a status without the words of the answer, which may repeat the value. */
function describeRejection(status: number, text: string): string {
  if (status === 400 && text.includes("admin token")) return ADMIN_TOKEN_REJECTED;
  if (status === 401) return "Unleash does not accept the token (401)";
  if (status === 403)
    return "Unleash does not allow it: the token is of another type, or its user lacks a permission (403)";
  if (status === 413) return "the flag is too large for an import into Unleash (413)";
  if (status >= 300 && status < 400) return "Unleash answered with a redirect; configure its final address";
  return `Unleash rejects it (${status}${findErrorName(text)})`;
}

/** Returns a space and the name of an error, such as `BadDataError`; empty when there is none. */
function findErrorName(text: string): string {
  const name = /"name" *: *"(\w{1,40})"/.exec(text)?.[1];
  return name === undefined ? "" : ` ${name}`;
}

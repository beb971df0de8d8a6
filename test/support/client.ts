/** A client for tests of the HTTP API, with shortcuts for the life of a change. */
import type { Status } from "../../lib/changes/rules/change.ts";
import { type Fields, form, get, json, ORIGIN, raw } from "./requests.ts";

export type Fetch = (request: Request) => Promise<Response>;

/** A response that was read. `body` is the parsed JSON, or `null` where there is none. */
export interface Reply {
  status: number;
  // oxlint-disable-next-line no-explicit-any -- any JSON
  body: any;
  text: string;
  headers: Headers;
}

/** A proposal with the required fields only. */
export const PROPOSAL = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Show the banner" };

/** The specification's example of a body for `propose-crm-followup`. */
export const FOLLOWUP = { tenant_id: "t1", affected_users: 40, expected_delta_k: 1.5 };

export const ACTIONS = ["approve", "deny", "withdraw", "revoke", "apply", "rollback"] as const;
export type Action = (typeof ACTIONS)[number];

/** Statuses that a change can reach by requests. */
export type Reachable = Exclude<Status, "proposed">;

/** Returns a client that sends HTTP requests to a service. */
export function client(fetch: Fetch, origin: string = ORIGIN) {
  const send = async (request: Request): Promise<Reply> => {
    const response = await fetch(request);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
    return {
      status: response.status,
      body: isJson && text !== "" ? JSON.parse(text) : null,
      text,
      headers: response.headers,
    };
  };
  const post = (path: string, fields: Fields = {}, headers: HeadersInit = {}) =>
    send(form(path, fields, headers, origin));

  const requiredFields = (action: Action, change_id: string): Fields =>
    action === "approve" || action === "deny" || action === "revoke"
      ? { change_id, approver: "ana" }
      : action === "withdraw"
        ? { change_id, proposer: "pat" }
        : { change_id };
  const act = (action: Action, change_id: string, headers: HeadersInit = {}) =>
    post(action, requiredFields(action, change_id), headers);

  /** Proposes a change and returns it; throws when the service rejects the proposal. */
  const propose = async (overrides: Fields = {}): Promise<Reply["body"]> =>
    expectOk(await post("propose", { ...PROPOSAL, ...overrides }));

  const expectOk = (reply: Reply): Reply["body"] => {
    if (reply.status >= 300) throw new Error(`${reply.status} ${reply.text}`);
    return reply.body;
  };
  /** Sends an action and returns the body; throws unless it succeeds. */
  const must = async (action: Action, change_id: string) => expectOk(await act(action, change_id));

  /** Proposes a change, brings it to a status by requests, and returns its id. */
  const bring = async (status: Reachable, overrides: Fields = {}): Promise<string> => {
    const { change_id } = await propose(overrides);
    if (status === "denied") await must("deny", change_id);
    if (status === "approved" || status === "applied" || status === "rolled_back") await must("approve", change_id);
    if (status === "applied" || status === "rolled_back") await must("apply", change_id);
    if (status === "rolled_back") await must("rollback", change_id);
    return change_id;
  };

  return {
    origin,
    send,
    post,
    act,
    propose,
    bring,
    must,
    json: (path: string, body: unknown, headers: HeadersInit = {}) => send(json(path, body, headers, origin)),
    raw: (path: string, body: BodyInit | null, headers: HeadersInit = {}) => send(raw(path, body, headers, origin)),
    get: (path: string, headers: HeadersInit = {}) => send(get(path, headers, origin)),
    /** Reads a change. */
    change: async (change_id: string): Promise<Reply["body"]> =>
      expectOk(await send(get(`changes/${change_id}`, {}, origin))),
    /** Reads the entries of `audit` except `intent_in_force`, in chain order. */
    steps: async (query = ""): Promise<Reply["body"][]> =>
      expectOk(await send(get(`audit${query}`, {}, origin))).entries.filter(
        ({ event_type }: { event_type: string }) => event_type !== "intent_in_force",
      ),
    /** Reads audit entries, in chain order: the newest 1,000 unless the query selects others. */
    audit: async (query = ""): Promise<Reply["body"][]> =>
      expectOk(await send(get(`audit${query}`, {}, origin))).entries,
  };
}

export type Client = ReturnType<typeof client>;

/** Returns the event types of entries, in order. */
export const events = (entries: { event_type: string }[]): string[] => entries.map(({ event_type }) => event_type);

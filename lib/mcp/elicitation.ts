/**
 * Asks the client to open the page on which a person decides (URL elicitation). The client's `accept` means that the page was
 * opened, not that a person decided. So a client is asked at most once in 15 minutes for each change, and the tool then waits for
 * the decision.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isSameText } from "../kit/same_text.ts";
import { readMeta } from "./era.ts";
import { isObject, type Message } from "./jsonrpc.ts";
import type { Prompt, ToolCall } from "./tool.ts";

/** Validity of a request's state; within this time the same caller is not asked again for the same change. */
const STATE_TTL_MS = 15 * 60_000;
/** Maximum number of recorded requests; the oldest is forgotten first. */
const MAX_REQUESTS = 1_000;

/** Times of requests by caller and change, for each store of this process. */
const requests = new WeakMap<object, Map<string, number>>();

/** Returns true for a client that can open pages for people. */
function canOpenPages(message: Message): boolean {
  const capabilities = readMeta(message, "clientCapabilities");
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isObject(elicitation) && isObject(elicitation["url"]);
}

/**
 * Returns the result that asks the client to open a page; undefined if no page is needed, and for a client that cannot open pages,
 * was asked for this change already, or is answering such a request. `findPrompt` is called only if the client can open pages.
 */
export async function elicit(
  call: ToolCall,
  message: Message,
  findPrompt: () => Promise<Prompt | undefined>,
): Promise<object | undefined> {
  if (!canOpenPages(message)) return undefined;
  const prompt = await findPrompt();
  if (!prompt) return undefined;
  const { change_id, url } = prompt;
  const now = call.deps.clock.now();
  if (isOwnState(call, change_id, message.params["requestState"], now)) return undefined;
  if (!recordRequest(call, change_id, now)) return undefined;
  const params = { mode: "url", url, message: prompt.message };
  return {
    resultType: "input_required",
    inputRequests: { open_page: { method: "elicitation/create", params } },
    requestState: makeState(call, change_id, now + STATE_TTL_MS),
  };
}

/** Records a request; returns false if the caller was asked for this change within the last 15 minutes. */
function recordRequest({ deps, identity }: ToolCall, changeId: string, now: number): boolean {
  const times = requests.get(deps.store) ?? new Map<string, number>();
  requests.set(deps.store, times);
  const key = `${identity.agent ?? ""} ${changeId}`;
  const requestedAt = times.get(key);
  // The difference is absolute, so that a clock that is set back does not prevent requests for longer.
  if (requestedAt !== undefined && Math.abs(now - requestedAt) < STATE_TTL_MS) return false;
  // Deleted first, so that the new time is the last in the order of the map.
  times.delete(key);
  times.set(key, now);
  if (times.size > MAX_REQUESTS) times.delete(times.keys().next().value!);
  return true;
}

/** Creates a state, `<end in ms>.<HMAC>`. The HMAC's key is the hash of the caller's secret, which every process of the service has. */
function makeState(call: ToolCall, changeId: string, end: number): string {
  const { deps, identity } = call;
  const agent = deps.agents?.find(({ name }) => name === identity.agent);
  const text = `countersign-elicitation ${identity.agent ?? ""} ${changeId} ${end}`;
  return `${end}.${bytesToHex(hmac(sha256, utf8ToBytes(agent?.token_sha256 ?? ""), utf8ToBytes(text)))}`;
}

/** Returns true for a state that this service made for the caller and the change, and that is still valid. */
function isOwnState(call: ToolCall, changeId: string, state: unknown, now: number): boolean {
  if (typeof state !== "string") return false;
  // NaN for any other form, which no comparison accepts.
  const end = Number(/^(\d{1,15})\.[0-9a-f]{64}$/.exec(state)?.[1]);
  return end > now && end <= now + STATE_TTL_MS && isSameText(state, makeState(call, changeId, end));
}

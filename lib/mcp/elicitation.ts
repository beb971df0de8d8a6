/**
 * Asks the client to open the page on which a person decides (URL elicitation). `accept` means that the page was opened, not
 * that anybody decided, so a client is asked once for a change, and then the tool waits. Who decides, the page verifies.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isSameText } from "../kit/same_text.ts";
import { readMeta } from "./era.ts";
import { isObject, type Message } from "./jsonrpc.ts";
import type { Prompt, ToolCall } from "./tool.ts";

/** How long a state is taken back, and a change is not asked for again by the same caller. */
const STATE_TTL_MS = 15 * 60_000;
const MAX_REQUESTS = 1_000;

/** Callers and changes that were asked for, with the time; of this process, by its store. */
const requests = new WeakMap<object, Map<string, number>>();

/** Returns true where a client opens pages for people. */
function canOpenPages(message: Message): boolean {
  const capabilities = readMeta(message, "clientCapabilities");
  const elicitation = isObject(capabilities) ? capabilities["elicitation"] : undefined;
  return isObject(elicitation) && isObject(elicitation["url"]);
}

/**
 * Returns the result that asks for a page; undefined for a client that opens none, that was asked for this change, or that
 * answers such a request. `findPrompt` is called only where something may be asked.
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

/** Returns false where this caller was asked for this change within a quarter of an hour. */
function recordRequest({ deps, identity }: ToolCall, changeId: string, now: number): boolean {
  const times = requests.get(deps.store) ?? new Map<string, number>();
  requests.set(deps.store, times);
  const key = `${identity.agent ?? ""} ${changeId}`;
  const before = times.get(key);
  if (before !== undefined && Math.abs(now - before) < STATE_TTL_MS) return false;
  times.delete(key);
  times.set(key, now);
  if (times.size > MAX_REQUESTS) times.delete(times.keys().next().value!);
  return true;
}

/** `<end in ms>.<HMAC>`: the key is the hash of the caller's own secret, which every process of the service has. */
function makeState(call: ToolCall, changeId: string, end: number): string {
  const { deps, identity } = call;
  const agent = deps.agents?.find(({ name }) => name === identity.agent);
  const text = `countersign-elicitation ${identity.agent ?? ""} ${changeId} ${end}`;
  return `${end}.${bytesToHex(hmac(sha256, utf8ToBytes(agent?.token_sha256 ?? ""), utf8ToBytes(text)))}`;
}

function isOwnState(call: ToolCall, changeId: string, state: unknown, now: number): boolean {
  const end = typeof state === "string" ? Number(/^(\d{1,15})\.[0-9a-f]{64}$/.exec(state)?.[1]) : Number.NaN;
  return end > now && end <= now + STATE_TTL_MS && isSameText(state as string, makeState(call, changeId, end));
}

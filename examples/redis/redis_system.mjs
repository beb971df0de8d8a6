/** Keys of Redis 7 as a target system: a target is one key with JSON text. Written from docs/writing_a_target_system.md. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { ClientClosedError, ClientOfflineError, createClient, ErrorReply } from "@redis/client";
import { TargetRejected, Unanswered } from "countersign";

/** How long the key of an attempt exists. */
const ATTEMPT_TTL_SECONDS = 24 * 3600;
const ABSENT_VERSION = "none";

/**
 * Sets or deletes a key if it has the expected version and the attempt was not cancelled. Redis runs a script as one step.
 * KEYS: the key, the key of the attempt. ARGV: the expected version, and the new text (none: the key is deleted).
 */
const COMPARE_AND_SET = `
local current = redis.call("GET", KEYS[1])
local version = current and redis.sha1hex(current) or "${ABSENT_VERSION}"
if version ~= ARGV[1] or redis.call("EXISTS", KEYS[2]) == 1 then return {0, current} end
redis.call("SET", KEYS[2], "done", "EX", ${ATTEMPT_TTL_SECONDS})
if ARGV[2] then redis.call("SET", KEYS[1], ARGV[2], "KEEPTTL") else redis.call("DEL", KEYS[1]) end
return {1}`;

const computeVersion = (text) => (text === null ? ABSENT_VERSION : createHash("sha1").update(text).digest("hex"));

/** Returns the value of a key from its text, which is null where there is no key. */
function toTargetValue(text) {
  const version = computeVersion(text);
  if (text === null) return { version };
  try {
    return { value: JSON.parse(text), version, raw: text };
  } catch {
    throw new TargetRejected("the key holds no JSON; correct it in Redis");
  }
}

/** Replaces the message of an error of the client, which may contain the address. */
const describe = (error) =>
  error instanceof ErrorReply ? `Redis rejects it (${error.message.split(" ")[0]})` : "Redis does not answer";

/** Runs a command when there is a connection. Throws `Unanswered` if the command was sent and had no answer. */
async function send(client, signal, command) {
  signal.throwIfAborted();
  try {
    if (!client.isReady) await once(client, "ready", { signal });
  } catch {
    throw new Error("Redis cannot be reached");
  }
  const stop = new AbortController();
  const aborted = once(signal, "abort", { signal: stop.signal }).then(() => Promise.reject(new Error("out of time")));
  try {
    return await Promise.race([command(), aborted]);
  } catch (error) {
    if (error instanceof ErrorReply) throw error;
    const isSent = !(error instanceof ClientOfflineError || error instanceof ClientClosedError);
    throw isSent ? new Unanswered(describe(error)) : new Error(describe(error));
  } finally {
    aborted.catch(() => undefined);
    stop.abort();
  }
}

/**
 * Connects to a Redis server.
 *
 * @param {{ url: string; prefix: string; name?: string }} options `url`: `redis://user:password@host:port/database`;
 *   `prefix`: what all keys begin with
 * @returns {{ system: import("countersign").TargetSystem; close(): void }}
 */
export function redisSystem({ url, prefix, name = "redis" }) {
  // A queued command could be carried out long after its request has ended.
  const client = createClient({ url, disableOfflineQueue: true });
  client.on("error", () => undefined); // reported by the command that fails
  client.connect().catch(() => undefined);
  const { host, pathname } = new URL(url);
  const keyOf = ({ tenant_id, target }) => `${prefix}${tenant_id}:${target}`;
  const attemptKey = ({ attempt }) => `${prefix}:${attempt}`; // differs from `keyOf`, since no tenant is empty
  /** Sends a command that may be repeated, so that a missing answer is an ordinary error. */
  const sendRepeatable = (signal, command) =>
    send(client, signal, command).catch((error) => {
      throw new Error(describe(error));
    });

  const system = {
    name,
    guard: "atomic",
    check: ({ tenant_id }) => (tenant_id.includes(":") ? "the tenant contains a colon" : undefined),
    place: (entry) => `redis ${host}${pathname} ${keyOf(entry)}`,

    read: async (entry, signal) => toTargetValue(await sendRepeatable(signal, () => client.get(keyOf(entry)))),

    async compareAndSet(entry, next, expected, attempt, signal) {
      const keys = [keyOf(entry), attemptKey(attempt)];
      const text = next && [next.raw ?? JSON.stringify(next.value)];
      const run = () => client.eval(COMPARE_AND_SET, { keys, arguments: [expected.version, ...(text ?? [])] });
      try {
        const [done, current] = await send(client, signal, run);
        if (!done) return { done: false, conflict: toTargetValue(current ?? null) };
        return { done: true, version: computeVersion(text ? text[0] : null) };
      } catch (error) {
        if (error instanceof ErrorReply) return { done: false, rejected: describe(error) };
        throw error;
      }
    },

    /** Cancels the attempt if its key does not exist, so that a script that arrives later sets nothing. */
    async resolve(_entry, attempt, signal) {
      // Half of the lifetime is a margin, for example for clocks that differ.
      const mayHaveExpired = Date.now() - Date.parse(attempt.at) > (ATTEMPT_TTL_SECONDS / 2) * 1000;
      if (mayHaveExpired) return undefined;
      const expiration = { type: "EX", value: ATTEMPT_TTL_SECONDS };
      const cancel = () => client.set(attemptKey(attempt), "cancelled", { condition: "NX", GET: true, expiration });
      return (await sendRepeatable(signal, cancel)) === "done" ? "done" : "not_done";
    },

    ping: async (signal) => void (await sendRepeatable(signal, () => client.ping())),
  };
  return { system, close: () => client.destroy() };
}

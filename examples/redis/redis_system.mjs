/** Keys of Redis 7 as a target system: a target is one key with JSON text. Written from docs/writing_a_target_system.md. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { ClientClosedError, ClientOfflineError, createClient, ErrorReply } from "@redis/client";
import { TargetRejected, Unanswered } from "countersign";

/** How long an attempt is remembered. */
const REMEMBERED_SECONDS = 24 * 3600;
const ABSENT = "none";

/**
 * Sets a key, or deletes it, if it holds what was read and the attempt was not given up. Redis runs a script as one step.
 * KEYS: the key, the mark of the attempt. ARGV: the expected version, the next text where there is one.
 */
const COMPARE_AND_SET = `
local current = redis.call("GET", KEYS[1])
local version = current and redis.sha1hex(current) or "${ABSENT}"
if version ~= ARGV[1] or redis.call("EXISTS", KEYS[2]) == 1 then return {0, current} end
redis.call("SET", KEYS[2], "done", "EX", ${REMEMBERED_SECONDS})
if ARGV[2] then redis.call("SET", KEYS[1], ARGV[2], "KEEPTTL") else redis.call("DEL", KEYS[1]) end
return {1}`;

const versionOf = (text) => (text === null ? ABSENT : createHash("sha1").update(text).digest("hex"));

/** Returns what a key holds; `text` is null where there is no key. */
function toTargetValue(text) {
  const version = versionOf(text);
  if (text === null) return { version };
  try {
    return { value: JSON.parse(text), version, raw: text };
  } catch {
    throw new TargetRejected("the key holds no JSON; correct it in Redis");
  }
}

/** The messages of the client may name the address, so its errors are replaced. */
const describe = (error) =>
  error instanceof ErrorReply ? `Redis rejects it (${error.message.split(" ")[0]})` : "Redis does not answer";

/** Runs a command when there is a connection. Throws `Unanswered` where it was sent and had no answer. */
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
  // A command that waits for a connection could be carried out long after it was given up.
  const client = createClient({ url, disableOfflineQueue: true });
  client.on("error", () => undefined); // reported by the command that fails
  client.connect().catch(() => undefined);
  const { host, pathname } = new URL(url);
  const keyOf = ({ tenant_id, target }) => `${prefix}${tenant_id}:${target}`;
  const markOf = ({ attempt }) => `${prefix}:${attempt}`; // no tenant is empty
  /** Reads: nothing depends on a missing answer. */
  const ask = (signal, command) =>
    send(client, signal, command).catch((error) => {
      throw new Error(describe(error));
    });

  const system = {
    name,
    guard: "atomic",
    check: ({ tenant_id }) => (tenant_id.includes(":") ? "the tenant contains a colon" : undefined),
    place: (entry) => `redis ${host}${pathname} ${keyOf(entry)}`,

    read: async (entry, signal) => toTargetValue(await ask(signal, () => client.get(keyOf(entry)))),

    async compareAndSet(entry, next, expected, attempt, signal) {
      const keys = [keyOf(entry), markOf(attempt)];
      const text = next && [next.raw ?? JSON.stringify(next.value)];
      const run = () => client.eval(COMPARE_AND_SET, { keys, arguments: [expected.version, ...(text ?? [])] });
      try {
        const [done, current] = await send(client, signal, run);
        if (!done) return { done: false, conflict: toTargetValue(current ?? null) };
        return { done: true, version: versionOf(text ? text[0] : null) };
      } catch (error) {
        if (error instanceof ErrorReply) return { done: false, rejected: describe(error) };
        throw error;
      }
    },

    /** Gives the attempt up where it has left no mark: it then does nothing if it still comes. */
    async resolve(_entry, attempt, signal) {
      const isForgotten = Date.now() - Date.parse(attempt.at) > (REMEMBERED_SECONDS / 2) * 1000;
      if (isForgotten) return undefined;
      const expiration = { type: "EX", value: REMEMBERED_SECONDS };
      const giveUp = () => client.set(markOf(attempt), "given up", { condition: "NX", GET: true, expiration });
      return (await ask(signal, giveUp)) === "done" ? "done" : "not_done";
    },

    ping: async (signal) => void (await ask(signal, () => client.ping())),
  };
  return { system, close: () => client.destroy() };
}

/**
 * Receives the requests of Countersign's webhook adapter and carries them out on one system. A recipe accesses that system: it is an object
 * with `read` and `write`. Runs on Node 20 and needs no package.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual as isEqual } from "node:util";

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_AGE_SECONDS = 300;

/** Answered with its status; the message is recorded in the audit log, so it contains no secret and no value. */
export class RequestRejected extends Error {
  constructor(message, status = 422) {
    super(message);
    this.status = status;
  }
}

/** Thrown if the system holds another value or version than was read; nothing was written then. */
export class Conflict extends RequestRejected {
  constructor(message = "the target was changed by another program; look at it before you try again") {
    super(message, 409);
  }
}

/** Sends a request of a recipe. Returns a response of 2xx (GET: also 404); throws `Conflict` or `RequestRejected` for others. */
export async function request(url, { method = "GET", headers = {}, body, send = fetch } = {}) {
  const response = await send(url, { method, headers, body, redirect: "error", signal: AbortSignal.timeout(8000) });
  if (response.ok || (method === "GET" && response.status === 404)) return response;
  if (response.status === 409 || response.status === 412) throw new Conflict();
  // After 502 the service sends the request again, since the system may have carried it out.
  throw new RequestRejected(`the system answered ${response.status}`, response.status >= 500 ? 502 : 422);
}

/** Verifies the signature as Standard Webhooks 1.0 defines it. */
function hasValidSignature(secret, headers, body, nowMs) {
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice(6), "base64") : Buffer.from(secret);
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", key).update(content).digest();
  const actual = Buffer.from(String(headers["webhook-signature"]).replace(/^v1,/, ""), "base64");
  const isRecent = Math.abs(nowMs / 1000 - Number(headers["webhook-timestamp"])) < MAX_AGE_SECONDS;
  return isRecent && actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Stores the changes of each target, oldest first, in a JSON file that each write replaces. */
function createChangeFile(path) {
  const load = async () => {
    try {
      return JSON.parse(await readFile(path, "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return {};
      throw error;
    }
  };
  return {
    load: async (key) => (await load())[key] ?? [],
    async store(key, changes) {
      const all = { ...(await load()), [key]: changes };
      await writeFile(`${path}.new`, JSON.stringify(all), { mode: 0o600 });
      await rename(`${path}.new`, path);
    },
  };
}

const toAdapterValue = (value) => (value === undefined ? null : { value });

/**
 * Creates the four operations. `system.read(change)` returns `{ value, version }`, `value` undefined where the target holds
 * nothing; `system.write(change, value, read)` sets `value` (undefined: removes it) where the target still holds `read`, and
 * throws `Conflict` otherwise. What a change replaced is stored before the write, so every operation may be repeated.
 */
export function operations(system, path) {
  const file = createChangeFile(path);
  const isInEffect = ({ state }) => state !== "rolled_back";

  async function loadRecord(change) {
    const key = JSON.stringify([change.tenant_id, change.target.toLowerCase()]);
    const changes = await file.load(key);
    const record = changes.find(({ change_id }) => change_id === change.change_id);
    const inEffect = changes.filter(isInEffect);
    return {
      record,
      isLatest: inEffect.at(-1) === record,
      nextRecord: inEffect[inEffect.indexOf(record) + 1],
      changes,
      store: () => file.store(key, changes),
    };
  }

  return {
    async validate(change) {
      const reason = change.value === undefined ? "a value is needed" : system.check?.(change);
      if (reason !== undefined) return { ok: false, reason };
      const { value: before = null } = await system.read(change);
      return { ok: true, preview: { before, after: change.value } };
    },

    async apply(change) {
      const { record, isLatest, changes, store } = await loadRecord(change);
      const read = await system.read(change);
      if (record && isInEffect(record)) {
        // After a later change of the target, nothing is to be written for this one.
        const isDone = !isLatest || isEqual(read.value, change.value);
        if (!isDone && !isEqual(toAdapterValue(read.value), record.previous)) throw new Conflict();
        if (!isDone) await system.write(change, change.value, read);
        return { result: "applied", previous: record.previous };
      }
      const previous = toAdapterValue(read.value);
      // A change that was rolled back is applied again as the newest.
      if (record) changes.splice(changes.indexOf(record), 1);
      changes.push({ change_id: change.change_id, state: "applied", value: change.value, previous });
      await store();
      try {
        await system.write(change, change.value, read);
      } catch (error) {
        // The system may have carried out the write, so the record stays.
        if (!(error instanceof RequestRejected) || error.status === 502) throw error;
        // Nothing was written, so the record of the change is removed.
        changes.pop();
        await store();
        throw error;
      }
      return { result: "applied", previous };
    },

    async verify(change) {
      const { record, isLatest } = await loadRecord(change);
      const { value } = await system.read(change);
      const holds = toAdapterValue(value);
      if (!record) return { state: "absent", holds };
      if (!isInEffect(record)) return { state: "rolled_back", holds };
      if (!isLatest || isEqual(value, change.value)) return { state: "applied", holds };
      return { state: isEqual(holds, record.previous) ? "absent" : "unknown", holds };
    },

    async rollback(change) {
      const { record, isLatest, nextRecord, changes, store } = await loadRecord(change);
      if (!record && change.status === "applied") throw new Conflict("this receiver has no record of the change");
      if (!record || !isInEffect(record)) return { result: "rolled_back" };
      if (isLatest) {
        const read = await system.read(change);
        const isBefore = isEqual(toAdapterValue(read.value), record.previous);
        if (!isBefore && !isEqual(read.value, record.value)) throw new Conflict();
        if (!isBefore) await system.write(change, record.previous?.value, read);
      } else {
        // A rollback of the later change then restores what this one replaced.
        nextRecord.previous = record.previous;
      }
      record.state = "rolled_back";
      await store();
      return { result: isLatest ? "rolled_back" : "superseded" };
    },
  };
}

/** Creates the server of a recipe; requests are carried out one after another. */
export function receiver({ secret, system, path, now = Date.now }) {
  const carryOut = operations(system, path);
  let lastOperation = Promise.resolve();

  async function answer({ method, headers }, body) {
    if (method !== "POST" || !hasValidSignature(secret, headers, body, now()))
      throw new RequestRejected("not signed", 401);
    const { operation, change } = JSON.parse(body);
    if (!Object.hasOwn(carryOut, operation)) throw new RequestRejected("unknown operation");
    const result = lastOperation.then(() => carryOut[operation](change));
    lastOperation = result.catch(() => undefined);
    return result;
  }

  return createServer(async (request, response) => {
    const reply = (status, value) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    try {
      const chunks = [];
      let size = 0;
      for await (const chunk of request) {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) throw new RequestRejected("the request is too large", 413);
        chunks.push(chunk);
      }
      reply(200, await answer(request, Buffer.concat(chunks).toString()));
    } catch (error) {
      if (error instanceof RequestRejected) return reply(error.status, { error: error.message });
      console.error(error);
      reply(502, { error: "the system did not answer as expected" });
    }
  });
}

/** Starts the server if the module of the recipe is run as a program. `createSystem` gets the environment variables. */
export async function runRecipe(module, createSystem, { env, argv } = process) {
  if (argv[1] !== fileURLToPath(module)) return;
  const { SVC_ADAPTER_SECRET: secret, PORT = "8500", CHANGES = "changes.json" } = env;
  if (!secret) throw new Error("SVC_ADAPTER_SECRET is not set");
  receiver({ secret, system: await createSystem(env), path: CHANGES }).listen(Number(PORT), "127.0.0.1");
}

/** Creates a target system of keys in etcd, over its JSON gateway: a target is the JSON text of a key. */
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { traceHeaders } from "../../lib/kit/trace.ts";
import type { Attempt, Entry, SetManyResult, TargetSystem, TargetValue, Write } from "../../lib/targets/port.ts";
import { formatOperandId } from "../../lib/changes/rules/operands.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { sha256 } from "../node_ports.ts";
import { findUnparsedProblem, parseForeignText } from "./foreign_text.ts";

/** The address, and how an entry becomes a key. */
export interface EtcdTargetOptions {
  name: string;
  /** `http://host:2379`, without a path. */
  url: string;
  key: (entry: Entry) => string;
  /** The start of all keys; the keys `PREFIX.countersign/…` prove which writes were done. */
  prefix?: string;
  user?: string | undefined;
  /** A secret. */
  password?: string | undefined;
  fetch?: typeof fetch;
}

interface KeyValue {
  /** Base64. */
  value?: string | undefined;
  /** A 64-bit integer as text. */
  mod_revision: string;
}

interface Answer {
  header: { revision: string };
  kvs?: KeyValue[];
  succeeded?: boolean;
  responses?: { response_range?: { kvs?: KeyValue[] } }[];
  token?: string;
  error?: string;
}

const ABSENT: TargetValue = { version: "absent" };

/** Failures before a request is sent. */
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|.*CERT.*|ERR_TLS.*|EPROTO)$/;
/** Errors of an expired token, or of one from before a change of users and roles. */
const LOG_IN_AGAIN = /invalid auth token|revision of auth store is old|user name is empty/;

/** Nothing was set: etcd rejected the request, or it was never sent. */
class NotDone extends Error {
  override readonly name = "NotDone";
}

const encode = (text: string): string => Buffer.from(text).toString("base64");

/**
 * Converts a key's value; `raw` is the base64 of its bytes. The version is the key's revision and a part of the value's hash, since
 * a restored backup repeats revisions.
 */
function toTargetValue(keyValue: KeyValue | undefined): TargetValue {
  if (!keyValue) return ABSENT;
  const raw = keyValue.value ?? "";
  return { value: parseBytes(raw), version: `${keyValue.mod_revision} ${sha256(raw).slice(0, 16)}`, raw };
}

/** Parses JSON text; bytes that are not UTF-8 become `{ unparsed: base64 }`. */
function parseBytes(base64: string): unknown {
  try {
    return parseForeignText(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, "base64")),
    );
  } catch {
    return { unparsed: base64 };
  }
}

/** Creates the target system without connecting. Errors: malformed options. */
export function etcdTarget(options: EtcdTargetOptions): TargetSystem {
  const { name, key, prefix = "", user, password, fetch: send = fetch } = options;
  const origin = parseOrigin(options.url);
  const proofs = `${prefix}.countersign/`;

  let token: Promise<string> | undefined;
  const logIn = async (signal: AbortSignal): Promise<string> => {
    try {
      return (await post("/v3/auth/authenticate", { name: user, password }, signal)).token!;
    } catch (error) {
      token = undefined;
      throw new NotDone((error as Error).message, { cause: error });
    }
  };

  /** Sends a request. Errors: `NotDone` where etcd certainly did nothing. */
  const post = async (path: string, body: unknown, signal: AbortSignal, authorization?: string): Promise<Answer> => {
    signal.throwIfAborted();
    let status: number, text: string;
    try {
      const headers = {
        "content-type": "application/json",
        ...(authorization && { authorization }),
        ...traceHeaders(),
      };
      const response = await send(origin + path, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal,
        redirect: "error",
      });
      [status, text] = [response.status, await response.text()];
    } catch (error) {
      const { code = "no answer" } = ((error as Error).cause ?? {}) as { code?: string };
      if (NOT_SENT.test(code)) throw new NotDone(`etcd: ${code}`, { cause: error });
      throw new Error(`etcd did not answer: ${signal.aborted ? "time is up" : code}`, { cause: error });
    }
    const answer = parseAnswer(text);
    if (status === 200 && answer?.header) return answer;
    const message = `etcd answered ${status}: ${answer?.error ?? "not as etcd does"}`;
    // A request that timed out (408) may have been carried out.
    const isRejected = status >= 400 && status < 500 && status !== 408 && answer?.error !== undefined;
    throw isRejected ? new NotDone(message) : new Error(message);
  };

  /** Sends a request with a token; a token that is not valid any more is replaced once. */
  const call = async (path: string, body: unknown, signal: AbortSignal): Promise<Answer> => {
    if (user === undefined) return post(path, body, signal);
    const isNewToken = token === undefined;
    const usedToken = (token ??= logIn(signal));
    try {
      return await post(path, body, signal, await usedToken);
    } catch (error) {
      if (!(error instanceof NotDone) || !LOG_IN_AGAIN.test(error.message)) throw error;
      if (token === usedToken) token = undefined;
      if (isNewToken) throw error;
      return call(path, body, signal);
    }
  };

  const range = (keyText: string) => ({ request_range: { key: encode(keyText) } });
  const makeAbsentCondition = (keyText: string) => ({
    target: "VERSION",
    key: encode(keyText),
    result: "EQUAL",
    version: "0",
  });
  const proofKey = (attempt: Attempt) => proofs + formatOperandId(attempt);
  /** Key that `resolve` writes, so that a delayed request of the attempt fails. */
  const fenceKey = ({ change_id, attempt }: Attempt) => `${proofs}${change_id}/${attempt}`;
  const proof = (attempt: Attempt) => ({ key: encode(proofKey(attempt)), value: encode(attempt.attempt) });

  /** Conditions under which a key still holds what was expected. */
  const listConditions = ({ entry, expected }: Write): object[] => {
    const condition = { key: encode(key(entry)), result: "EQUAL" };
    if (expected.raw === undefined) return [makeAbsentCondition(key(entry))];
    return [
      { ...condition, target: "MOD", mod_revision: expected.version.split(" ")[0] },
      // A restored backup repeats revisions.
      { ...condition, target: "VALUE", value: expected.raw },
    ];
  };

  const render = (next: TargetValue): string => next.raw ?? encode(JSON.stringify(next.value));

  const put = ({ entry, next, expected }: Write): object => {
    const request = { key: encode(key(entry)) };
    if (!next) return { request_delete_range: request };
    // An existing key keeps its lease.
    return {
      request_put: { ...request, value: render(next), ...(expected.raw !== undefined && { ignore_lease: true }) },
    };
  };

  /** Lists one proof for each attempt, since etcd rejects a transaction that writes a key twice. */
  const listProofs = (writes: readonly Write[]): object[] => {
    const proofsByKey = new Map(writes.map(({ attempt }) => [proofKey(attempt), proof(attempt)]));
    return [...proofsByKey.values()].map((request) => ({ request_put: request }));
  };

  const setMany = async (writes: readonly Write[], signal: AbortSignal): Promise<SetManyResult> => {
    const { attempt } = writes[0]!;
    const transaction = {
      compare: [...writes.flatMap(listConditions), makeAbsentCondition(fenceKey(attempt))],
      success: [...writes.map(put), ...listProofs(writes)],
      failure: [...writes.map(({ entry }) => range(key(entry))), range(fenceKey(attempt))],
    };
    try {
      const { header, succeeded, responses } = await call("/v3/kv/txn", transaction, signal);
      if (succeeded) {
        const toVersion = ({ next }: Write): string =>
          toTargetValue(next && { value: render(next), mod_revision: header.revision }).version;
        return { done: true, versions: writes.map(toVersion) };
      }
      const keyValues = responses!.map((response) => response.response_range?.kvs?.[0]);
      // The last key is the fence.
      if (keyValues.at(-1)) return { done: false, rejected: "the attempt was given up before it reached etcd" };
      const current = keyValues.slice(0, -1).map(toTargetValue);
      const isExpected = ({ version, raw }: TargetValue, { expected }: Write): boolean =>
        version === expected.version && raw === expected.raw;
      const index = current.findIndex((one, at) => !isExpected(one, writes[at]!));
      return { done: false, index, conflict: current[index]! };
    } catch (error) {
      if (error instanceof NotDone) return { done: false, rejected: error.message };
      if (error === signal.reason) throw error;
      throw new Unanswered((error as Error).message, { cause: error });
    }
  };

  return {
    name,
    guard: "atomic",
    check: ({ value }) => findUnparsedProblem(value),
    place: (entry) => `etcd ${new URL(origin).host} ${JSON.stringify(key(entry))}`,

    async read(entry, signal) {
      const { kvs } = await call("/v3/kv/range", { key: encode(key(entry)) }, signal);
      return toTargetValue(kvs?.[0]);
    },

    setMany,
    compareAndSet: makeCompareAndSet(setMany),

    async resolve(_, attempt, signal) {
      const transaction = {
        compare: [{ target: "VALUE", result: "EQUAL", ...proof(attempt) }],
        success: [],
        failure: [{ request_put: { key: encode(fenceKey(attempt)) } }],
      };
      return (await call("/v3/kv/txn", transaction, signal)).succeeded ? "done" : "not_done";
    },

    ping: async (signal) => void (await call("/v3/kv/range", { key: encode(proofs) }, signal)),
  };
}

/** Parses the address. Errors: `TypeError` that does not quote it. */
export function parseOrigin(url: string): string {
  // Text that is no URL becomes `none:`, whose protocol is rejected below.
  const { protocol, origin, pathname, username, password } = new URL(URL.canParse(url) ? url : "none:");
  if (!/^https?:$/.test(protocol) || pathname !== "/" || username + password !== "")
    throw new TypeError("must read http://host:port; name user and password in fields of their own");
  return origin;
}

function parseAnswer(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}

/**
 * `Idempotency-Key`: the first 2xx answer under a key is kept in the transaction of the write it answers, for 24 hours,
 * and replayed to the letter. A failure is not kept. Records are named by day, so that old ones are found in order.
 */
import type { Asker } from "./admission.ts";
import type { Sha256 } from "../kit/platform.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import type { Store, Tx } from "../store/store.ts";
import type { Answer } from "./answer.ts";

declare module "../store/store.ts" {
  interface Collections {
    idempotency: Kept;
  }
}

const KEPT_MS = 24 * 3600 * 1000;
/** How far another instance's clock may be ahead: around midnight it keeps an answer under the next day. */
const AHEAD_MS = 3600 * 1000;
const COLLECTION = "idempotency";
/** As many as a transaction may delete, and as a cycle has time for. */
const SLICE = 50;
const MOST_FORGOTTEN = 1000;

/** A request's key and what it was used for. */
export interface IdempotencyKey {
  /** Hash over method, path, token, person and key. */
  scope: string;
  /** Hash over the body. */
  body: string;
}

interface Kept {
  body: string;
  at: number;
  answer: Answer;
}

/** The request's key, if it has one; 400 when it is malformed. */
export function idempotencyKey(
  request: Request,
  { person, agent }: Asker,
  body: string,
  sha256: Sha256,
): IdempotencyKey | undefined {
  const key = request.headers.get("idempotency-key");
  if (key === null) return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidField("Idempotency-Key", "must be 1 to 255 visible ASCII characters");
  const token = request.headers.get("x-svc-admin-token") ?? "";
  const scope = [request.method, new URL(request.url).pathname, token, person ?? "", key, ...(agent ? [agent] : [])];
  return { scope: sha256(JSON.stringify(scope)), body: sha256(body) };
}

const day = (now: number): string => new Date(now).toISOString().slice(0, 10);
const recordId = (key: IdempotencyKey, now: number): string => `${day(now)}:${key.scope}`;

/** The kept answer of an earlier request under this key; 422 when that request had another body. */
export async function replayed(tx: Tx, key: IdempotencyKey, now: number): Promise<Answer | undefined> {
  const days = new Set([now, now - KEPT_MS, now + AHEAD_MS].map((moment) => recordId(key, moment)));
  for (const stored of await tx.getMany(COLLECTION, [...days])) {
    const kept = stored?.value;
    if (!kept || now - kept.at > KEPT_MS) continue;
    if (kept.body !== key.body)
      throw new AppError(
        "idempotency_key_reused",
        "this Idempotency-Key was used with another body; use a new key for a new request",
      );
    return { ...kept.answer, headers: { ...kept.answer.headers, "idempotency-replayed": "true" } };
  }
  return undefined;
}

/** Keeps a 2xx answer under its key. */
export function keepAnswer(tx: Tx, key: IdempotencyKey, answer: Answer, now: number): void {
  const kept: Kept = { body: key.body, at: now, answer };
  tx.put(COLLECTION, recordId(key, now), kept);
}

/** Deletes up to a thousand answers whose time is over, in transactions of their own, and returns how many. */
export async function forgetOldAnswers(store: Store, now: number): Promise<number> {
  const expired = `${day(now - KEPT_MS)}:`;
  for (let forgotten = 0; ;) {
    const oldest = await store.list(COLLECTION, { limit: SLICE, keysOnly: true });
    const old = oldest.filter(({ id }) => id < expired);
    if (old.length > 0) await store.transact((tx) => old.forEach(({ id }) => tx.delete(COLLECTION, id)));
    forgotten += old.length;
    if (old.length < SLICE || forgotten >= MOST_FORGOTTEN) return forgotten;
  }
}

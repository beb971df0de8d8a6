/**
 * Stored answers to requests with an idempotency key. The first answer is stored in the transaction of its write, and replayed byte
 * for byte for 24 hours. Errors are not stored. Ids begin with the day, so that old answers are found in order.
 */
import { AppError } from "../kit/errors.ts";
import type { Reads, Store, Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    idempotency: StoredAnswer;
  }
}

const RETENTION_MS = 24 * 3600 * 1000;
/** Maximum lead of another instance's clock: around midnight it may store an answer under the next day. */
const MAX_CLOCK_LEAD_MS = 3600 * 1000;
const COLLECTION = "idempotency";
/** Deletions of one transaction. */
const BATCH_SIZE = 50;
/** Deletions of one cycle. */
const MAX_DELETED = 1000;

/** The key of a request and the hash of its body. */
export interface IdempotencyKey {
  /** Hash over the key, the caller and the endpoint. */
  scope: string;
  /** Hash over the body. */
  body: string;
}

/** An answer in the form of the protocol that stored it. */
export interface AnswerText {
  /** JSON. */
  text: string;
}

interface StoredAnswer {
  body: string;
  at: number;
  answer: AnswerText;
}

const formatDay = (now: number): string => new Date(now).toISOString().slice(0, 10);
const formatRecordId = (key: IdempotencyKey, now: number): string => `${formatDay(now)}:${key.scope}`;

/** Finds the answer to an earlier request under this key. Errors: 422 if the earlier request had another body. */
export async function findAnswer(
  reads: Pick<Reads, "getMany">,
  key: IdempotencyKey,
  now: number,
): Promise<AnswerText | undefined> {
  const times = [now, now - RETENTION_MS, now + MAX_CLOCK_LEAD_MS];
  const ids = new Set(times.map((time) => formatRecordId(key, time)));
  for (const record of await reads.getMany(COLLECTION, [...ids])) {
    const stored = record?.value;
    if (!stored || now - stored.at > RETENTION_MS) continue;
    if (stored.body !== key.body)
      throw new AppError(
        "idempotency_key_reused",
        "this Idempotency-Key was used with another body; use a new key for a new request",
      );
    return stored.answer;
  }
  return undefined;
}

/** Stores an answer under its key. */
export function saveAnswer(tx: Tx, key: IdempotencyKey, answer: AnswerText, now: number): void {
  const stored: StoredAnswer = { body: key.body, at: now, answer };
  tx.put(COLLECTION, formatRecordId(key, now), stored);
}

/** Deletes up to a thousand expired answers, in transactions of their own, and returns the number of them. */
export async function forgetOldAnswers(store: Store, now: number): Promise<number> {
  const firstRetainedId = `${formatDay(now - RETENTION_MS)}:`;
  for (let deleted = 0; ;) {
    const oldest = await store.list(COLLECTION, { limit: BATCH_SIZE, keysOnly: true });
    const expired = oldest.filter(({ id }) => id < firstRetainedId);
    if (expired.length > 0) await store.transact((tx) => expired.forEach(({ id }) => tx.delete(COLLECTION, id)));
    deleted += expired.length;
    if (expired.length < BATCH_SIZE || deleted >= MAX_DELETED) return deleted;
  }
}

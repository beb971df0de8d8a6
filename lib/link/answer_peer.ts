/** Answers requests of authenticated peers. */
import type * as z from "zod";
import { type ChainHead, entryKey, readHead } from "../audit/chain.ts";
import { FIRST_PREVIOUS_HASH } from "../audit/entry_hash.ts";
import type { LinkDeps } from "./deps.ts";
import type { ProductRuntime } from "../changes/runtime.ts";
import type { PeerIdentity } from "./handshake.ts";
import {
  type AcceptedLoss,
  type PeerAnswer,
  checkpointQuery,
  type CheckpointAnswer,
  evolutionQuery,
  type Message,
  pathQuery,
  shareQuery,
} from "./messages.ts";
import { findRelation, trustWeight } from "./trust.ts";
import { acceptInsights } from "./registry.ts";
import { readShared } from "./shared_insights.ts";

/** Source of checkpoints; without checkpoints, peers compare the heads of the chain. */
export interface CheckpointSource {
  /** Reads the newest checkpoint: `note` is the tlog-checkpoint of the first `length` entries; undefined without a checkpoint. */
  latest(): Promise<{ origin: string; length: number; note: string } | undefined>;
  /** Creates the consistency proof between two lengths, as base64 hashes. */
  consistency(from: number, to: number): Promise<readonly string[]>;
}

/** Dependencies of the answers. */
export interface AnswerDeps extends Pick<LinkDeps, "store" | "clock"> {
  product?: ProductRuntime | undefined;
  self: PeerIdentity;
  /** Calls an endpoint of this service. */
  fetch: (request: Request) => Promise<Response>;
  checkpoint?: CheckpointSource | undefined;
}

type AnswerFunction = (deps: AnswerDeps, peer: PeerIdentity, body: unknown) => Promise<PeerAnswer>;

const ANSWERS: Record<Message, AnswerFunction> = {
  async query_product_identity({ self, product }) {
    const { node_id = null, binding_mode = null } = product?.identity ?? {};
    return ok({ ...self, node_id, binding_mode });
  },

  query_product_evolution: createAnswer(evolutionQuery, async ({ store, self }, peer, { after, limit }) => {
    // A peer of an unrelated product gets no insights.
    const isRelated = trustWeight(findRelation(self, peer)) > 0;
    const page = isRelated ? await readShared(store, self, after, limit) : { insights: [], next: after, last: after };
    return ok({ product_id: self.product_id, product_type: self.product_type, ...page });
  }),

  share_evolution_insight: createAnswer(shareQuery, async ({ store, clock, self }, peer, { insights }) =>
    ok(await acceptInsights({ store }, { self, peer }, insights, clock.now())),
  ),

  query: createAnswer(pathQuery, async ({ fetch }, _peer, { path }) => {
    const response = await fetch(new Request(`http://localhost${path}`));
    return { status: response.status, body: await response.json() };
  }),

  get_checkpoint: createAnswer(checkpointQuery, async (deps, _peer, { from }) => {
    const answer = await readCheckpointAnswer(deps, from);
    return answer ? ok(answer) : errorAnswer(404, "no_log", "this node keeps no audit log");
  }),
};

/** Answers a request of a peer. An unknown message is answered with 400; the connection stays open. */
export async function answerPeer(
  deps: AnswerDeps,
  peer: PeerIdentity,
  { message, body }: { message: string; body: unknown },
): Promise<PeerAnswer> {
  if (!Object.hasOwn(ANSWERS, message))
    return errorAnswer(400, "unknown_message", "this node does not know the message");
  return ANSWERS[message as Message](deps, peer, body);
}

/** Creates an answer with an error: `{ error, code }`. */
export const errorAnswer = (status: number, code: string, error: string): PeerAnswer => ({
  status,
  body: { error, code },
});

const ok = (body: unknown): PeerAnswer => ({ status: 200, body });

/** Wraps an answer function so that it gets a validated body; an invalid one is answered with 400. */
function createAnswer<S extends z.ZodType>(
  schema: () => S,
  answer: (deps: AnswerDeps, peer: PeerIdentity, query: z.output<S>) => Promise<PeerAnswer>,
): AnswerFunction {
  return async (deps, peer, body) => {
    const parsed = schema().safeParse(body ?? {});
    if (parsed.success) return answer(deps, peer, parsed.data);
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`);
    return errorAnswer(400, "invalid_field", problems.join("; "));
  };
}

/** Reads the state of the log for a peer whose stored log has the length `from` (null: it has none); undefined without a log. */
async function readCheckpointAnswer(
  { store, checkpoint }: AnswerDeps,
  from: number | null,
): Promise<CheckpointAnswer | undefined> {
  const chain = await readHead(store);
  if (!chain) return undefined;
  const headAt = async (length: number) =>
    length === 0 ? FIRST_PREVIOUS_HASH : (await store.get("audit", entryKey(length)))?.value.current_hash;
  const newest = await checkpoint?.latest();
  const { origin, length } = newest ?? chain;
  const hasGrown = from !== null && from > 0 && from < length;
  return {
    origin,
    length,
    head: (await headAt(length)) ?? chain.head,
    head_at_from: from === null ? null : ((await headAt(from)) ?? null),
    checkpoint: newest?.note ?? null,
    proof: newest && hasGrown ? [...(await checkpoint!.consistency(from, length))] : null,
    loss: await findLoss(store, chain, length),
  };
}

/** Finds the last accepted loss of the log's end, if its entry is among the first `length`. */
async function findLoss(store: AnswerDeps["store"], chain: ChainHead, length: number): Promise<AcceptedLoss | null> {
  const id = chain.loss?.length ?? Infinity;
  const entry = id <= length ? (await store.get("audit", entryKey(id)))?.value : undefined;
  if (entry?.event_type !== "loss_accepted") return null;
  const loss = JSON.parse(entry.detail) as { length: number; known: { length: number; head: string }; actor: string };
  const { known } = loss;
  // If the head was not known, the detail has no hash or 64 zeros.
  const known_head = /^(?!0{64})[0-9a-f]{64}$/.test(known.head) ? known.head : null;
  return { entry: id, length: loss.length, known: known.length, known_head, actor: loss.actor };
}

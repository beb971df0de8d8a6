/** Who does something, how that is known, and the names that stand for the service itself. */
import { isAgent, type Principals } from "./principals.ts";

/** The intent's own consent to a minor change. */
export const POLICY_MINOR = "policy:minor";
/** The intent's time limit, which denies what nobody consents to. */
export const POLICY_EXPIRY = "policy:expiry";
/** The intent's guardrails, which roll back. */
export const POLICY_GUARDRAIL = "policy:guardrail";
/** The intent's `on_drift: restore`, which sets consented values again. */
export const POLICY_DRIFT = "policy:on_drift";

/** The rule of a rollout, which advances it, holds it or takes it back. */
export const POLICY_STAGES = "policy:stages";

/** The freeze that follows an accepted loss of the log's end. */
export const POLICY_LOSS = "policy:loss";

/** Recorded with every step. */
export interface Actor {
  actor: string | null;
  /**
   * `signature`: signed with a key of theirs, their presence verified; `signature_unattended`: signed with a key that signs
   * by itself; `proxy`: the name is the trusted proxy's or the host's word; `jwt`: the proxy's signed token names them; `agent`:
   * the agent came with its secret; `token`: said by a holder of the admin token; `claimed`: taken at its word; `null`: nobody is
   * named, or it is the service itself.
   */
  authenticated: "signature" | "signature_unattended" | "proxy" | "jwt" | "agent" | "token" | "claimed" | null;
  /** Groups of the identity provider that the intent asks of the actor, and that their token names. */
  idp?: readonly string[] | undefined;
}

/** The service itself, under one of its names or none. */
export const serviceActor = (actor: string | null = null): Actor => ({ actor, authenticated: null });

/** A person who signs the action. */
export const signerActor = (actor: string): Actor => ({ actor, authenticated: "signature" });

/** Ways in which more is known of a person than what a request claims. */
const VERIFIED_METHODS: ReadonlySet<unknown> = new Set(["signature", "signature_unattended", "proxy", "jwt"]);

/** Returns true where a signature, the proxy or an agent's secret vouches for the actor. */
export const isVerifiedActor = ({ authenticated }: Actor): boolean =>
  VERIFIED_METHODS.has(authenticated) || authenticated === "agent";

/** Returns true where the trusted proxy vouches for the name, by its header or its signed token. */
export const isNamedByProxy = ({ authenticated }: Pick<Actor, "authenticated">): boolean =>
  authenticated === "proxy" || authenticated === "jwt";

export const PROPOSER_KINDS = ["person", "agent", "model", "peer", "unknown"] as const;
/** Kind of a proposer. */
export type ProposerKind = (typeof PROPOSER_KINDS)[number];

/**
 * A model, a peer and an agent by their names, even where a client typed them; a person where the proxy or a signature says so.
 */
export function classifyProposer(
  proposer: string | null,
  { actor, principals = {} }: { actor?: Actor; principals?: Principals } = {},
): ProposerKind {
  if (proposer === null) return "unknown";
  if (isAgent(proposer, { principals })) return "agent";
  if (/^llm:/i.test(proposer)) return "model";
  if (/^peer:/i.test(proposer)) return "peer";
  return VERIFIED_METHODS.has(actor?.authenticated) ? "person" : "unknown";
}

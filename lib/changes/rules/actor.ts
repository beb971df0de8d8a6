/**
 * The actor of an event, how the service knows the name, and names under which the service acts; `POLICY_APPLY_WHEN`, a further
 * one, is in approver_name.ts.
 */
import { isAgent, type Principals } from "./principals.ts";

/** The intent's own consent to a minor change. */
export const POLICY_MINOR = "policy:minor";
/** The intent's time limit, which denies changes that get no consent in time. */
export const POLICY_EXPIRY = "policy:expiry";
/** The intent's guardrails, which roll changes back. */
export const POLICY_GUARDRAIL = "policy:guardrail";
/** The intent's `on_drift: restore`, which sets consented values again. */
export const POLICY_DRIFT = "policy:on_drift";

/** The rule of a rollout, which advances it, holds it or rolls it back. */
export const POLICY_STAGES = "policy:stages";

/** The freeze that follows an accepted loss of the log's end. */
export const POLICY_LOSS = "policy:loss";

/** The actor that each entry about a change records. */
export interface Actor {
  actor: string | null;
  /**
   * How the name is known. `signature`: signed with a key that verifies the person's presence; `signature_unattended`: signed
   * with a key that signs unattended; `proxy`: named by the trusted proxy or the host; `jwt`: named by the proxy's signed
   * token; `agent`: the agent sent its secret; `token`: stated by a holder of the admin token; `claimed`: only claimed by the
   * request; `null`: the service itself, or no name.
   */
  authenticated: "signature" | "signature_unattended" | "proxy" | "jwt" | "agent" | "token" | "claimed" | null;
  /** Groups of the identity provider that the intent requires of the actor and that the actor's token names. */
  idp?: readonly string[] | undefined;
}

/** Returns the service itself as actor, with or without one of its names. */
export const serviceActor = (actor: string | null = null): Actor => ({ actor, authenticated: null });

export const signerActor = (actor: string): Actor => ({ actor, authenticated: "signature" });

/** Methods that verify a person's name; a name that a request only claims is not verified. */
const VERIFIED_METHODS: ReadonlySet<unknown> = new Set(["signature", "signature_unattended", "proxy", "jwt"]);

/** Returns true if a signature, the proxy or an agent's secret vouches for the actor. */
export const isVerifiedActor = ({ authenticated }: Actor): boolean =>
  VERIFIED_METHODS.has(authenticated) || authenticated === "agent";

/** Returns true if the trusted proxy vouches for the name, by its header or its signed token. */
export const isNamedByProxy = ({ authenticated }: Pick<Actor, "authenticated">): boolean =>
  authenticated === "proxy" || authenticated === "jwt";

export const PROPOSER_KINDS = ["person", "agent", "model", "peer", "unknown"] as const;
export type ProposerKind = (typeof PROPOSER_KINDS)[number];

/**
 * Classifies a proposer. Models, peers and agents are known by the form of their names; a person only by a signature or the
 * proxy.
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

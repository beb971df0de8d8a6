/** The caller of a command, as identified by the endpoint. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import type { Replies } from "./replies.ts";
import { type Actor, serviceActor } from "./rules/actor.ts";
import { createGroupFacts } from "./rules/idp_groups.ts";
import { normalizeName } from "./rules/names.ts";
import { isAgent } from "./rules/principals.ts";

/** The person or agent behind a request. */
export interface Identity {
  /** Name from the host's log-in or the trusted proxy; `""` if they gave none, `undefined` without log-in and proxy. */
  person: string | undefined;
  /** The person's groups at the identity provider; present if the proxy's signed token names the person. */
  groups?: readonly string[] | undefined;
  /** Description of the person for errors, such as `the person who is logged in`. */
  personSource: string;
  /** The agent whose secret came with the request; then `person` is `undefined`. */
  agent?: string | undefined;
  /** True for an agent that may read only the changes that it proposed. */
  readsOwn?: true | undefined;
  /** True if the request carries the admin token. */
  hasToken: boolean;
}

/** Revisions of a change that the caller expects, and the text in which it stated them. */
export interface ExpectedRevisions {
  revisions: readonly number[];
  stated: string;
}

export interface Caller {
  deps: ChangesDeps;
  /** Absent for the service itself, in its cycle. */
  identity?: Identity | undefined;
  /** Absent: any revision. */
  expected?: ExpectedRevisions | undefined;
  /** Absent if no reply is stored. */
  replies?: Replies | undefined;
}

/** Returns the actor behind a caller; `stated` is the name that the request states. */
export function findActor({ identity, deps }: Pick<Caller, "identity" | "deps">, stated?: string): Actor {
  if (!identity) return serviceActor(stated);
  const { agent, person, groups, hasToken } = identity;
  if (agent !== undefined) return { actor: agent, authenticated: "agent" };
  const { principals = {} } = deps.product?.intent ?? {};
  if (person)
    return {
      actor: person,
      authenticated: groups ? "jwt" : "proxy",
      ...createGroupFacts(person, groups, { principals }),
    };
  const actor = stated ?? null;
  if (hasToken) return { actor, authenticated: "token" };
  return { actor, authenticated: actor === null ? null : "claimed" };
}

/**
 * Requires that the stated name is the caller's, if the caller's name is known. Errors: 403 `identity_mismatch`, also for an
 * agent's name without the agent's secret.
 */
export function requirePerson(
  { identity, deps }: Pick<Caller, "identity" | "deps">,
  field: string,
  stated: string | undefined,
): void {
  const { agent, person, personSource = "" } = identity ?? {};
  const verifiedName = agent ?? person;
  if (verifiedName !== undefined && stated !== undefined && normalizeName(verifiedName) !== normalizeName(stated)) {
    const required = agent === undefined ? personSource : `${agent}, whose secret this request carries`;
    throw new AppError("identity_mismatch", `${field} must be ${required}`, { field });
  }
  const { principals = {} } = deps.product?.intent ?? {};
  const name = stated ?? person;
  if (agent !== undefined || name === undefined || Object.keys(principals).length === 0) return;
  if (isAgent(name, { principals }))
    throw new AppError("identity_mismatch", `${name} is an agent's name, and needs the agent's own secret`, { field });
}

/** Returns the caller's name: an agent's, the proxy's or the stated one; null without any. Errors: 403 `identity_mismatch`. */
export function findCallerName(
  caller: Pick<Caller, "identity" | "deps"> & { identity: Identity },
  stated: string | undefined,
): string | null {
  requirePerson(caller, "person", stated);
  const { agent, person } = caller.identity;
  // `person` is "" if the log-in or the proxy gave no name.
  return stated ?? ((agent ?? person) || null);
}

/** Requires that a change is at a revision that the caller expects. Errors: 412 `version_mismatch`. */
export function requireRevision({ expected }: Pick<Caller, "expected">, revision: number): void {
  if (!expected || expected.revisions.includes(revision)) return;
  throw new AppError(
    "version_mismatch",
    `the change is at revision ${revision} now, not at ${expected.stated}; read it again before deciding`,
    { current_revision: revision },
  );
}

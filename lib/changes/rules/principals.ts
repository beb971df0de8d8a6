/** The people and agents that an intent names, with their keys and secrets. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { INVISIBLE } from "../../kit/invisible.ts";
import { isReservedName } from "../../kit/person_name.ts";
import { nonEmptyText, list, strictObject } from "./fields.ts";
import { KINDS } from "./change_terms.ts";
import { mapNameLists, type ReportIssue } from "./groups.ts";
import { integer, targetPattern, tenantList } from "./intent_parts.ts";
import { type Key, keySchema, listKeyIdentities } from "./keys.ts";
import { normalizeName } from "./names.ts";

/** A person, or an agent: a program that proposes under its own name. */
export type Principal =
  | { kind: "person"; keys?: Key[] | undefined; idp?: readonly string[] | undefined }
  | { kind: "agent"; token_sha256: string; may?: AgentLimits | undefined };

/** Limits of an agent: changes that it may propose and read, how many may be open, and how many it may propose on a UTC day. */
export interface AgentLimits {
  targets?: readonly string[] | undefined;
  tenants?: readonly string[] | undefined;
  kinds?: readonly string[] | undefined;
  read: "all" | "own";
  max_open: number;
  max_per_day: number;
}

/** Limits of an agent if the intent states none. */
const DEFAULT_LIMITS: AgentLimits = { read: "all", max_open: 100, max_per_day: 1000 };

/** SHA-256 of the empty text. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const principalSchema = () =>
  strictObject({
    kind: z
      .enum(["person", "agent"], "must be person or agent")
      .describe("A person decides; an agent is a program that proposes."),
    keys: list(keySchema()).optional().describe("Keys with which a person signs. A person who has keys must sign."),
    idp: list(nonEmptyText().max(200, "must have at most 200 characters"))
      .min(1, "must name a group, or be left out")
      .optional()
      .describe(
        "For a person: groups of the identity provider that a token must name; otherwise the person's decisions do not count. They grant nothing.",
      ),
    token_sha256: z
      .string("must be text")
      .regex(/^[0-9a-fA-F]{64}$/, "must be the 64 hex digits of the SHA-256 of the agent's secret")
      .transform((hex) => hex.toLowerCase())
      .optional()
      .describe("For an agent: SHA-256 (hex) of its secret."),
    may: strictObject({
      targets: list(targetPattern())
        .min(1, "must name a target, or be left out")
        .optional()
        .describe("Targets that it may change; absent: all."),
      kinds: list(z.enum(KINDS, `must be one of ${KINDS.join(", ")}`))
        .min(1, "must name a kind, or be left out")
        .optional()
        .describe("Kinds of changes that it may propose; absent: all."),
      tenants: tenantList().optional().describe("Tenants that it may propose for; absent: all."),
      read: z
        .enum(["all", "own"], "must be all or own")
        .default(DEFAULT_LIMITS.read)
        .describe("own: it reads only the changes that it proposed."),
      max_open: integer(0)
        .default(DEFAULT_LIMITS.max_open)
        .describe("How many of its changes may wait for consent or apply at a time."),
      max_per_day: integer(0)
        .default(DEFAULT_LIMITS.max_per_day)
        .describe("How many changes it may propose on a UTC day."),
    })
      .optional()
      .describe("For an agent: its limits."),
  })
    .check(({ value: { kind, keys, idp, token_sha256, may }, issues }) => {
      const report = (field: string, message: string) =>
        void issues.push({ code: "custom", input: field, path: [field], message });
      if (kind === "agent" && token_sha256 === undefined) report("token_sha256", "is required of an agent");
      if (token_sha256 === EMPTY_SHA256) report("token_sha256", "is the hash of an empty secret");
      if (kind === "agent" && keys !== undefined) report("keys", "are a person's; an agent gives no consent");
      if (kind === "agent" && idp !== undefined) report("idp", "are a person's groups; an agent decides nothing");
      if (kind === "person" && may !== undefined) report("may", "is an agent's; policy says what people may do");
      if (kind === "person" && token_sha256 !== undefined) report("token_sha256", "is an agent's; a person has keys");
    })
    .transform((principal) => principal as Principal);

const AGENT_NAME = /^agent:/;

/** Principals by normalized name. */
export const principalsSchema = once(() =>
  z
    .record(z.string(), principalSchema(), "must be an object")
    .check(({ value, issues }) => {
      const report = (name: string, message: string) =>
        void issues.push({ code: "custom", input: name, path: [name], message });
      const statedNames = new Map<string, string>();
      for (const [stated, { kind }] of Object.entries(value)) {
        const name = normalizeName(stated);
        const other = statedNames.get(name);
        statedNames.set(name, stated);
        if (other !== undefined) report(stated, `is the same name as ${other}`);
        if (name === "" || name.length > 200 || INVISIBLE.test(stated) || !stated.isWellFormed())
          report(stated, "must be a name of 1 to 200 visible characters");
        if (isReservedName(name) || name.startsWith("peer:"))
          report(stated, "must not begin with llm:, policy:, mandate:, idp:, group: or peer:");
        if (AGENT_NAME.test(name) && kind !== "agent")
          report(stated, "begins with agent: and must be of the kind agent");
      }
    })
    .transform((stated) =>
      Object.fromEntries(Object.entries(stated).map(([name, principal]) => [normalizeName(name), principal])),
    ),
);

/** The principals of an intent, by normalized name. */
export type Principals = z.output<ReturnType<typeof principalsSchema>>;

interface IntentPrincipals {
  principals: Principals;
}

/** Returns the principal of a name, however the name is spelled. */
export function findPrincipal(name: string, { principals }: IntentPrincipals): Principal | undefined {
  const normalizedName = normalizeName(name);
  return Object.hasOwn(principals, normalizedName) ? principals[normalizedName] : undefined;
}

/** Returns true for the name of an agent in the intent, and for any name that begins with `agent:`. */
export const isAgent = (name: string, intent: IntentPrincipals): boolean =>
  AGENT_NAME.test(normalizeName(name)) || findPrincipal(name, intent)?.kind === "agent";

/** Returns the limits of an agent; the defaults if the intent states none. */
export function findAgentLimits(name: string, intent: IntentPrincipals): AgentLimits {
  const principal = findPrincipal(name, intent);
  return (principal?.kind === "agent" && principal.may) || DEFAULT_LIMITS;
}

/** Lists the agents with the hashes of their secrets. */
export const listAgents = ({
  principals,
}: IntentPrincipals): { name: string; token_sha256: string; readsOwn?: true }[] =>
  Object.entries(principals).flatMap(([name, principal]) =>
    principal.kind === "agent"
      ? [{ name, token_sha256: principal.token_sha256, ...(principal.may?.read === "own" && { readsOwn: true }) }]
      : [],
  );

/** Returns the principals for an entry of the log: kinds and ids of keys. */
export const createPrincipalFacts = ({
  principals,
  policy,
}: IntentPrincipals & { policy: { signing: { keys: Readonly<Record<string, readonly { id: string }[]>> } } }): Record<
  string,
  { kind: string; keys: string[] }
> =>
  Object.fromEntries(
    Object.entries(principals).map(([name, principal]) => [
      name,
      { kind: principal.kind, keys: (policy.signing.keys[name] ?? []).map(({ id }) => id) },
    ]),
  );

/** Reports principals that share a key or secret, and agents in lists of people. */
export function reportImpostors(
  { principals, policy }: IntentPrincipals & { policy: object },
  report: ReportIssue,
): void {
  const nameByIdentity = new Map<string, string>();
  for (const [name, principal] of Object.entries(principals)) {
    const identities =
      principal.kind === "agent" ? [principal.token_sha256] : (principal.keys ?? []).flatMap(listKeyIdentities);
    for (const identity of new Set(identities)) {
      const other = nameByIdentity.get(identity);
      if (other !== undefined)
        report(
          ["principals", name],
          `has the same ${principal.kind === "agent" ? "token_sha256" : "key"} as ${other}: the service cannot tell them apart`,
        );
      nameByIdentity.set(identity, name);
    }
  }
  mapNameLists(policy, ["policy"], (names, path) => {
    names.forEach((name, index) => {
      if (isAgent(name, { principals })) report([...path, index], "is an agent: agents give no consent");
    });
    return names;
  });
}

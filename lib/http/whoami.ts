/** Describes the caller of a request and the actions that are allowed to them. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Call } from "./endpoint.ts";
import { hasAdminToken } from "./guards.ts";
import { findTokenGroups, findPerson, verifyPerson } from "./identity.ts";
import { findAgent, requireReader } from "./principals.ts";
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import { hasGroups } from "../changes/rules/idp_groups.ts";
import type { Intent } from "../changes/rules/intent.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { listPermittedNames } from "../changes/rules/permissions.ts";
import { canDecide } from "../changes/rules/policy.ts";
import { isAgent, findPrincipal } from "../changes/rules/principals.ts";

const ACTIONS = ["read", "propose", "withdraw", "approve", "deny", "apply", "rollback", "kpi"] as const;
type Action = (typeof ACTIONS)[number];

export const whoamiSchema = once(() =>
  z.object({
    name: z
      .string()
      .nullable()
      .meta({ description: "Caller; null if unnamed.", examples: ["ana@acme.example"] }),
    kind: z.enum(["person", "agent", "unknown"]).describe("Kind of caller."),
    authenticated: z
      .enum(["proxy", "jwt", "agent", "token"])
      .nullable()
      .describe("By the proxy, its signed token, an agent's secret or the admin token; null: not known."),
    may: z.array(z.enum(ACTIONS)).describe("Actions that the caller's rights allow."),
    keys: z
      .array(
        z.object({
          type: z.enum(["webauthn", "ssh"]).describe("A passkey or an SSH key."),
          credential_id: z
            .string()
            .optional()
            .meta({ description: "The passkey's id, base64url; absent for SSH.", examples: ["AQIDBAUGBwg"] }),
        }),
      )
      .describe("Keys of this person in the intent."),
  }),
);

/** Description of a caller. */
export type Whoami = z.infer<ReturnType<typeof whoamiSchema>>;

/** Describes the caller; an invalid credential makes them unknown. */
export async function describeCaller({ deps, request }: Pick<Call<ChangesDeps>, "deps" | "request">): Promise<Whoami> {
  const { product } = deps;
  const unknown: Whoami = { name: null, kind: "unknown", authenticated: null, may: [], keys: [] };
  let agent: string | undefined;
  let person: string | undefined;
  await verifyPerson(deps, request);
  try {
    agent = findAgent(request, deps)?.name;
    person = findPerson(deps, request);
  } catch (error) {
    if (error instanceof AppError) return unknown;
    throw error;
  }
  if (agent !== undefined)
    return { ...unknown, name: agent, kind: "agent", authenticated: "agent", may: ["read", "propose", "withdraw"] };
  const name = person || null;
  const hasToken = hasAdminToken(request, deps);
  const groups = findTokenGroups(request);
  const may = [
    ...(canReadAll(request, deps) ? ["read" as const] : []),
    ...listWrites({ deps, name, hasToken, person, groups }),
  ];
  // An agent is only recognized by its secret, so its name alone may do no more than read.
  if (name !== null && product && isAgent(name, product.intent))
    return { ...unknown, may: may.filter((action) => action === "read") };
  if (name === null) return { ...unknown, authenticated: hasToken ? "token" : null, may };
  // Only a signed token states groups, possibly none.
  return { name, kind: "person", authenticated: groups ? "jwt" : "proxy", may, keys: listKeys(name, deps) };
}

function canReadAll(request: Request, deps: ChangesDeps): boolean {
  try {
    requireReader(request, deps);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** Returns the names that an action is reserved for; undefined: every authorized caller. */
function listReservedNames(action: Action, intent: Intent): string[] | undefined {
  if (action === "kpi") return listPermittedNames("feed_kpis", intent);
  return action === "apply" || action === "rollback" ? listPermittedNames(action, intent) : undefined;
}

/** Lists the writes for which the caller has the token and the rights. */
function listWrites({
  deps: { product, adminToken, allowAnonymousWrites },
  name,
  hasToken,
  person,
  groups,
}: Pick<Call<ChangesDeps>, "deps"> & {
  person: string | undefined;
  name: string | null;
  hasToken: boolean;
  groups: readonly string[] | undefined;
}): Action[] {
  if (!product || !(adminToken ? hasToken : allowAnonymousWrites !== false)) return [];
  // Behind a proxy that names nobody, only a program that feeds KPIs may write.
  if (person !== undefined && name === null) return ["kpi"];
  const isInGroup = name === null || hasGroups(name, groups, product.intent);
  const mayDecide = name === null || (isInGroup && canDecide(name, product.intent));
  const isPermitted = (action: Action): boolean => {
    const names = listReservedNames(action, product.intent);
    return name === null || names === undefined || (isInGroup && names.includes(normalizeName(name)));
  };
  return ACTIONS.filter(
    (action) => action !== "read" && isPermitted(action) && (mayDecide || (action !== "approve" && action !== "deny")),
  );
}

function listKeys(name: string, { product }: ChangesDeps): Whoami["keys"] {
  const principal = product && findPrincipal(name, product.intent);
  const keys = principal?.kind === "person" ? (principal.keys ?? []) : [];
  return keys.map((key) =>
    key.type === "webauthn" ? { type: key.type, credential_id: key.credential_id } : { type: key.type },
  );
}

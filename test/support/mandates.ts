/** A service under an intent with mandates, an agent, and people who sign. */
import { portableSha256, systemClock } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import type { Reply } from "./client.ts";
import { DAY } from "./clock.ts";
import { restartDeps, type TestOptions } from "./deps.ts";
import { memoryTarget } from "./memory_target.ts";
import { passkey, sshSigner } from "./passkeys.ts";
import { json } from "./requests.ts";
import { app } from "../../handlers/index.ts";
import { service, makeService, type TestService } from "./service.ts";
import { person, type Signer } from "./signed.ts";

export const SIGNERS: Readonly<Record<string, Signer>> = {
  ana: passkey(),
  bo: sshSigner(),
  olga: passkey("EdDSA"),
  una: sshSigner("ssh-ed25519"),
};
export const SECRET = "the pricing agent's secret";
export const OTHER_SECRET = "the other agent's secret";
export const AS_AGENT = { authorization: `Bearer ${SECRET}` };
export const AS_OTHER = { authorization: `Bearer ${OTHER_SECRET}` };

export const PRINCIPALS = {
  ...Object.fromEntries(Object.entries(SIGNERS).map(([name, signer]) => [name, person(signer)])),
  "agent:pricing": {
    kind: "agent",
    token_sha256: portableSha256(SECRET),
    may: { max_open: 1000, max_per_day: 100_000 },
  },
  "agent:other": { kind: "agent", token_sha256: portableSha256(OTHER_SECRET) },
};

/** An intent with mandates, which two people must sign. */
export const MANDATE_INTENT = {
  principals: PRINCIPALS,
  kpis: { csat: { baseline: 4, target: 4.5 } },
  policy: {
    approvers: ["ana", "bo", "una"],
    required_approvers: { standard: 1, major: 2 },
    mandates: { targets: ["price.*"], apply_when: true },
    apply_when: ["manual", "approved"],
  },
};

/** Bounds of the pricing agent's mandate, without its end. */
export const BOUNDS = {
  agent: "agent:pricing",
  targets: ["price.*"],
  kinds: ["config"],
  tenants: ["t1"],
  limits: { max_step: { relative: 0.05, hours: 24 } },
  max_affected_users: 100,
  max_per_day: 10,
  max_open: 5,
};

/** A proposal inside the bounds of a mandate, for a target whose value is 100. */
export const PROPOSAL_WITHIN_BOUNDS = {
  tenant_id: "t1",
  kind: "config",
  target: "price.basic",
  value: 104,
  summary: "Raise the price",
  affected_users: 50,
  risk: "low",
  reversible: true,
};

/** Opens a service on a target system in memory and a client for mandates; `values` are the initial values of targets. */
export async function openWithMandates(
  options: TestOptions = {},
  values: Readonly<Record<string, unknown>> = { "price.basic": 100 },
) {
  const target = memoryTarget();
  const store = options.store ?? memoryStore();
  const inner = targetAdapter(target.system, { store, clock: options.clock ?? systemClock });
  const adapter = routingAdapter([{ name: "prices", match: ["price.*"], adapter: inner }], {
    hash: "1",
    systems: [{ name: "prices", type: "memory", address: "memory" }],
  });
  for (const [name, value] of Object.entries(values))
    target.overwrite({ tenant_id: "t1", target: name, kind: "config", value: null } as never, JSON.stringify(value));
  const api = await service({ adapter, intent: MANDATE_INTENT, ...options, store });
  return { target, adapter, ...mandateClient(api) };
}

/** Returns a client that drafts, signs and uses mandates. */
export function mandateClient(api: TestService) {
  const until = (days = 20): string => new Date(api.deps.clock.now() + days * DAY).toISOString();
  const fetch = app(api.deps);
  const send = async (path: string, body: object, headers: HeadersInit = {}): Promise<Reply> => {
    const response = await fetch(json(path, body, headers));
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text), headers: response.headers };
  };
  const draft = (bounds: object = {}): Promise<Reply> => send("mandates", { ...BOUNDS, until: until(), ...bounds });
  const statement = async (decision: string, approver: string, fields: object): Promise<string> => {
    const reply = await send("consent-statement", { decision, approver, ...fields });
    if (reply.status !== 200) throw new Error(reply.text);
    return reply.body.statement;
  };
  const PATHS: Readonly<Record<string, string>> = {
    mandate: "mandate-sign",
    mandate_narrow: "mandate-narrow",
    mandate_resume: "mandate-resume",
    mandate_revoke: "mandate-revoke",
  };
  /** Signs a decision on a mandate and sends it. */
  const decideOn = async (
    decision: string,
    mandate_id: string,
    approver: string,
    fields: object = {},
  ): Promise<Reply> => {
    const text = await statement(decision, approver, { mandate_id, ...fields });
    const { at } = JSON.parse(text) as { at: string };
    return send(PATHS[decision]!, { mandate_id, approver, ...fields, proof: SIGNERS[approver]!.sign(text), at });
  };
  /** Drafts a mandate, signs it as ana and bo, and returns its id. */
  const activate = async (bounds: object = {}): Promise<string> => {
    const { mandate_id } = (await draft(bounds)).body;
    await decideOn("mandate", mandate_id, "ana");
    const signed = await decideOn("mandate", mandate_id, "bo");
    if (signed.body.state !== "active") throw new Error(signed.text);
    return mandate_id;
  };
  return {
    api,
    send,
    until,
    draft,
    statement,
    decideOn,
    activate,
    propose: (fields: object = {}, headers: HeadersInit = AS_AGENT) =>
      send("propose", { ...PROPOSAL_WITHIN_BOUNDS, ...fields }, headers),
    apply: (change_id: string) => send("apply", { change_id, actor: "ana" }),
    mandate: async (id: string) => (await api.get(`mandates/${id}`)).body,
    restart: async (options: TestOptions = {}) => mandateClient(makeService(await restartDeps(api.deps, options))),
  };
}

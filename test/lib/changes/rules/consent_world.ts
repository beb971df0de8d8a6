/** Draws random rules for scenarios of consent, for the model and as an intent. */
import { HOUR_MS } from "../../../../lib/kit/days.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { IntentInvalid, type LoadedIntent } from "../../../../lib/changes/rules/intent.ts";
import { signingKeyId } from "../../../../lib/changes/rules/key_material.ts";
import { makeIntent, type Manifest } from "../../../support/intents.ts";
import { type numbers } from "../../../support/numbers.ts";
import { sshSigner, type SshSigner } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";
import { ITSELF, type Rules, type Scope } from "./consent_model.ts";

export type Random = ReturnType<typeof numbers>;

export const NAMES = ["ana", "bo", "cy", "dee"];
/** Spellings of these names in requests. */
export const SPELT = ["ana", "Ana", "bo", "CY", "cy", "dee"];
export const TARGETS = ["a", "b"];

/** Two keys of each person, of which the intent lists one or none. */
const KEYS = Object.fromEntries(NAMES.map((name) => [name, [sshSigner(), sshSigner()].map(identified)]));
/** Signers by key id. */
export const PENS: ReadonlyMap<string, SshSigner> = new Map(
  Object.values(KEYS).flatMap((pens) => pens.map(({ id, pen }) => [id, pen])),
);

function identified(pen: SshSigner): { id: string; pen: SshSigner } {
  return { id: signingKeyId(pen.key, portableSha256), pen };
}

/** Draws the key for a request: mostly the listed one of the name, sometimes any of its keys or none. */
export function someKey(name: string, { keys }: Rules, random: Random): string | undefined {
  const own = name.toLowerCase();
  const chance = random(8);
  if (chance === 0) return undefined;
  return chance === 1 ? KEYS[own]![random(2)]!.id : keys[own];
}

const some = (random: Random): string[] => NAMES.filter(() => random(2) === 0);

const iso = (ms: number): string => new Date(ms).toISOString();
const hours = (ttl: number | undefined) => (ttl === undefined ? undefined : ttl / HOUR_MS);

function drawRules(random: Random, now: number): Rules {
  const named = some(random);
  const approvers = random(2) === 0 || named.length === 0 ? undefined : named;
  const owning = some(random);
  const urgent = some(random);
  const keyed = random(2) === 0 ? [] : random(2) === 0 ? NAMES : some(random);
  return {
    approvers,
    required: 1 + random(Math.min(3, approvers?.length ?? 3)),
    self_approval: random(2) === 0,
    owners:
      random(2) === 0 || owning.length === 0
        ? []
        : [{ target: TARGETS[random(2)]!, approvers: owning, required: 1 + random(owning.length) }],
    break_glass:
      random(2) === 0 || urgent.length === 0 ? undefined : { approvers: urgent, required: 1 + random(urgent.length) },
    forbidden: random(8) === 0 ? TARGETS[random(2)] : undefined,
    minor: random(3) === 0,
    on_stale: random(2) === 0 ? "block" : "report",
    consent_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    approval_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    denied: random(3) === 0 ? [[now, now + (1 + random(5)) * HOUR_MS]] : [],
    keys: Object.fromEntries(keyed.map((name) => [name, KEYS[name]![random(2)]!.id])),
    signed_only: keyed.length > 0 && random(2) === 0,
  };
}

const toManifest = (rules: Rules): Manifest => ({
  principals: {
    ...Object.fromEntries(Object.entries(rules.keys).map(([name, id]) => [name, person(PENS.get(id)!)])),
    ...Object.fromEntries(
      Object.entries(rules.agents ?? {}).map(([name, may]) => [
        name,
        { kind: "agent", token_sha256: portableSha256(createSecret(name)), may },
      ]),
    ),
  },
  policy: {
    approvers: rules.approvers,
    required_approvers: { standard: rules.required, major: rules.required },
    self_approval: rules.self_approval,
    owners: rules.owners.map(({ target, ...rest }) => ({ ...rest, targets: [target] })),
    break_glass: rules.break_glass,
    forbidden_targets: rules.forbidden ? [rules.forbidden] : [],
    minor: rules.minor ? { kinds: ["config"], targets: TARGETS, ...rules.minor_may } : undefined,
    apply_when: rules.automatic,
    on_stale: rules.on_stale,
    consent_ttl_hours: hours(rules.consent_ttl),
    approval_ttl_hours: hours(rules.approval_ttl),
    windows: { deny: rules.denied.map(([from, to]) => ({ from: iso(from), to: iso(to) })) },
    signed_only: rules.signed_only,
    permissions: rules.operators ? { apply: rules.operators, rollback: rules.operators } : {},
    targets: rules.limit ? [toTargetRule(rules.limit)] : [],
  },
});

const toTargetRule = ({ target, maximum, step, ms }: NonNullable<Rules["limit"]>): object => ({
  match: [target],
  schema: { type: "integer", maximum },
  max_step: { absolute: step, hours: ms / HOUR_MS },
});

export const AGENTS = ["agent:one", "agent:two"];
export const TENANTS = ["t1", "t2"];
export const KINDS = ["config", "feature_flag"];

/** Returns the secret that proves the name of an agent. */
export const createSecret = (agent: string): string => `the secret of ${agent}`;

/** Draws the scope of an agent; most lists are left out. */
function someScope(random: Random): Scope {
  const part = (all: string[]) => (random(3) === 0 ? [all[random(all.length)]!] : undefined);
  const [targets, kinds, tenants] = [part(TARGETS), part(KINDS), part(TENANTS)];
  return { targets, kinds, tenants, max_open: 1 + random(4), max_per_day: 1 + random(5) };
}

const WAYS: NonNullable<Rules["automatic"]>[] = [["approved"], ["scheduled"], ["approved", "scheduled"]];

/** Draws rules about operators, value limits, automatic applies and agents. */
export function someLimits(random: Random): Partial<Rules> {
  const automatic = random(4) === 0 ? undefined : WAYS[random(WAYS.length)];
  return {
    operators: random(4) === 0 ? ["ops", NAMES[random(NAMES.length)]!, ...(automatic ? [ITSELF] : [])] : undefined,
    automatic,
    minor_may: { apply_when: random(2) === 0, agents: random(2) === 0 },
    agents: random(3) === 0 ? undefined : Object.fromEntries(AGENTS.map((agent) => [agent, someScope(random)])),
    ...someLimit(random),
  };
}

const someLimit = (random: Random): Pick<Rules, "limit"> => ({
  limit:
    random(2) === 0
      ? { target: TARGETS[random(2)]!, maximum: 14 + random(4), step: 1 + random(3), ms: (1 + random(30)) * HOUR_MS }
      : undefined,
});

/** Draws rules until they make a valid intent; returns both. */
export function randomRules(
  random: Random,
  now: number,
  more: (random: Random) => Partial<Rules> = () => ({}),
): { rules: Rules; manifest: Manifest; loaded: LoadedIntent } {
  for (;;) {
    const rules = { ...drawRules(random, now), ...more(random) };
    const manifest = toManifest(rules);
    try {
      return { rules, manifest, loaded: makeIntent(manifest) };
    } catch (error) {
      if (!(error instanceof IntentInvalid)) throw error;
    }
  }
}

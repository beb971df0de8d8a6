/** Draws random rules for scenarios of consent, for the model and as an intent. */
import { HOUR_MS } from "../../../../lib/kit/days.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { IntentInvalid, type LoadedIntent } from "../../../../lib/changes/rules/intent.ts";
import { signingKeyId } from "../../../../lib/changes/rules/key_material.ts";
import { makeIntent, type Manifest } from "../../../support/intents.ts";
import { type seededIntegers } from "../../../support/seeded_integers.ts";
import { sshSigner, type SshSigner } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";
import { AUTOMATIC_ACTOR, type Rules, type Scope } from "./consent_model.ts";

/** Draws an integer from 0 to its argument minus 1. */
export type Random = ReturnType<typeof seededIntegers>;

/** Names as an intent lists them: in lower case. */
export const NAMES = ["ana", "bo", "cy", "dee"];
/** These names as requests spell them. */
export const SPELLED_NAMES = ["ana", "Ana", "bo", "CY", "cy", "dee"];
export const TARGETS = ["a", "b"];

/** Two keys of each person, of which the intent lists one or none. */
const KEYS = Object.fromEntries(NAMES.map((name) => [name, [sshSigner(), sshSigner()].map(withKeyId)]));
/** Signers by key id. */
export const SIGNERS: ReadonlyMap<string, SshSigner> = new Map(
  Object.values(KEYS).flatMap((signers) => signers.map(({ id, signer }) => [id, signer])),
);

function withKeyId(signer: SshSigner): { id: string; signer: SshSigner } {
  return { id: signingKeyId(signer.key, portableSha256), signer };
}

/** Draws the key for a request: mostly the listed one of the name, sometimes any of its keys or none. */
export function drawKey(name: string, { keys }: Rules, random: Random): string | undefined {
  const listedName = name.toLowerCase();
  const chance = random(8);
  if (chance === 0) return undefined;
  return chance === 1 ? KEYS[listedName]![random(2)]!.id : keys[listedName];
}

const drawNames = (random: Random): string[] => NAMES.filter(() => random(2) === 0);

function drawNamesWithKey(random: Random): string[] {
  if (random(2) === 0) return [];
  return random(2) === 0 ? NAMES : drawNames(random);
}

const iso = (ms: number): string => new Date(ms).toISOString();
const toHours = (ttl: number | undefined) => (ttl === undefined ? undefined : ttl / HOUR_MS);

function drawRules(random: Random, now: number): Rules {
  const approverNames = drawNames(random);
  const approvers = random(2) === 0 || approverNames.length === 0 ? undefined : approverNames;
  const owners = drawNames(random);
  const emergencyApprovers = drawNames(random);
  const namesWithKey = drawNamesWithKey(random);
  return {
    approvers,
    required: 1 + random(Math.min(3, approvers?.length ?? 3)),
    self_approval: random(2) === 0,
    owners:
      random(2) === 0 || owners.length === 0
        ? []
        : [{ target: TARGETS[random(2)]!, approvers: owners, required: 1 + random(owners.length) }],
    break_glass:
      random(2) === 0 || emergencyApprovers.length === 0
        ? undefined
        : { approvers: emergencyApprovers, required: 1 + random(emergencyApprovers.length) },
    forbiddenTarget: random(8) === 0 ? TARGETS[random(2)] : undefined,
    allowsMinor: random(3) === 0,
    on_stale: random(2) === 0 ? "block" : "report",
    consent_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    approval_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    deniedPeriods: random(3) === 0 ? [[now, now + (1 + random(5)) * HOUR_MS]] : [],
    keys: Object.fromEntries(namesWithKey.map((name) => [name, KEYS[name]![random(2)]!.id])),
    signed_only: namesWithKey.length > 0 && random(2) === 0,
  };
}

const toManifest = (rules: Rules): Manifest => ({
  principals: {
    ...Object.fromEntries(Object.entries(rules.keys).map(([name, id]) => [name, person(SIGNERS.get(id)!)])),
    ...Object.fromEntries(
      Object.entries(rules.agents ?? {}).map(([name, may]) => [
        name,
        { kind: "agent", token_sha256: portableSha256(agentSecret(name)), may },
      ]),
    ),
  },
  policy: {
    approvers: rules.approvers,
    required_approvers: { standard: rules.required, major: rules.required },
    self_approval: rules.self_approval,
    owners: rules.owners.map(({ target, ...rest }) => ({ ...rest, targets: [target] })),
    break_glass: rules.break_glass,
    forbidden_targets: rules.forbiddenTarget ? [rules.forbiddenTarget] : [],
    minor: rules.allowsMinor ? { kinds: ["config"], targets: TARGETS, ...rules.minorOptions } : undefined,
    apply_when: rules.allowedApplyWhen,
    on_stale: rules.on_stale,
    consent_ttl_hours: toHours(rules.consent_ttl),
    approval_ttl_hours: toHours(rules.approval_ttl),
    windows: { deny: rules.deniedPeriods.map(([from, to]) => ({ from: iso(from), to: iso(to) })) },
    signed_only: rules.signed_only,
    permissions: rules.operators ? { apply: rules.operators, rollback: rules.operators } : {},
    targets: rules.limit ? [toTargetRule(rules.limit)] : [],
  },
});

const toTargetRule = ({ target, maximum, step, periodMs }: NonNullable<Rules["limit"]>): object => ({
  match: [target],
  schema: { type: "integer", maximum },
  max_step: { absolute: step, hours: periodMs / HOUR_MS },
});

export const AGENTS = ["agent:one", "agent:two"];
export const TENANTS = ["t1", "t2"];
export const KINDS = ["config", "feature_flag"];

/** Returns the secret that proves the name of an agent. */
export const agentSecret = (agent: string): string => `the secret of ${agent}`;

/** Draws the scope of an agent; most lists are absent. */
function drawScope(random: Random): Scope {
  const part = (all: string[]) => (random(3) === 0 ? [all[random(all.length)]!] : undefined);
  const [targets, kinds, tenants] = [part(TARGETS), part(KINDS), part(TENANTS)];
  return { targets, kinds, tenants, max_open: 1 + random(4), max_per_day: 1 + random(5) };
}

const APPLY_WHEN_MODES: NonNullable<Rules["allowedApplyWhen"]>[] = [
  ["approved"],
  ["scheduled"],
  ["approved", "scheduled"],
];

/** Draws rules about operators, value limits, automatic applies and agents. */
export function drawExtraRules(random: Random): Partial<Rules> {
  const allowedApplyWhen = random(4) === 0 ? undefined : APPLY_WHEN_MODES[random(APPLY_WHEN_MODES.length)];
  return {
    // With automatic applies, an intent is valid only if its operators include their actor.
    operators:
      random(4) === 0
        ? ["ops", NAMES[random(NAMES.length)]!, ...(allowedApplyWhen ? [AUTOMATIC_ACTOR] : [])]
        : undefined,
    allowedApplyWhen,
    minorOptions: { apply_when: random(2) === 0, agents: random(2) === 0 },
    agents: random(3) === 0 ? undefined : Object.fromEntries(AGENTS.map((agent) => [agent, drawScope(random)])),
    ...drawLimit(random),
  };
}

const drawLimit = (random: Random): Pick<Rules, "limit"> => ({
  limit:
    random(2) === 0
      ? {
          target: TARGETS[random(2)]!,
          maximum: 14 + random(4),
          step: 1 + random(3),
          periodMs: (1 + random(30)) * HOUR_MS,
        }
      : undefined,
});

/** Draws rules until they make a valid intent; `drawMore` adds rules to those of consent. */
export function drawValidRules(
  random: Random,
  now: number,
  drawMore: (random: Random) => Partial<Rules> = () => ({}),
): { rules: Rules; manifest: Manifest; loaded: LoadedIntent } {
  for (;;) {
    const rules = { ...drawRules(random, now), ...drawMore(random) };
    const manifest = toManifest(rules);
    try {
      return { rules, manifest, loaded: makeIntent(manifest) };
    } catch (error) {
      if (!(error instanceof IntentInvalid)) throw error;
    }
  }
}

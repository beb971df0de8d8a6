/** Random rules for histories of consent: as the model reads them, and as an intent says them. */
import { HOUR_MS } from "../../../../lib/kit/days.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { IntentInvalid, type LoadedIntent } from "../../../../lib/changes/rules/intent.ts";
import { keyIdOf } from "../../../../lib/changes/rules/key_material.ts";
import { intentOf, type Manifest } from "../../../support/intents.ts";
import { type numbers } from "../../../support/numbers.ts";
import { sshPen, type SshPen } from "../../../support/passkeys.ts";
import { person } from "../../../support/signed.ts";
import type { Rules } from "./consent_model.ts";

export type Random = ReturnType<typeof numbers>;

export const NAMES = ["ana", "bo", "cy", "dee"];
/** The same people, as requests may spell them. */
export const SPELT = ["ana", "Ana", "bo", "CY", "cy", "dee"];
export const TARGETS = ["a", "b"];

/** Everybody has two keys, of which the intent lists one or none; the pens by the ids that entries have of them. */
const KEYS = Object.fromEntries(NAMES.map((name) => [name, [sshPen(), sshPen()].map(identified)]));
export const PENS: ReadonlyMap<string, SshPen> = new Map(
  Object.values(KEYS).flatMap((pens) => pens.map(({ id, pen }) => [id, pen])),
);

function identified(pen: SshPen): { id: string; pen: SshPen } {
  return { id: keyIdOf(pen.key, portableSha256), pen };
}

/** A key that somebody may try: mostly the one that stands under the name, sometimes one taken away, or none. */
export function someKey(name: string, { keys }: Rules, random: Random): string | undefined {
  const own = name.toLowerCase();
  const chance = random(8);
  if (chance === 0) return undefined;
  return chance === 1 ? KEYS[own]![random(2)]!.id : keys[own];
}

const some = (random: Random): string[] => NAMES.filter(() => random(2) === 0);

const iso = (ms: number): string => new Date(ms).toISOString();
const hours = (ttl: number | undefined) => (ttl === undefined ? undefined : ttl / HOUR_MS);

function drawn(random: Random, now: number): Rules {
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

const manifestOf = (rules: Rules): Manifest => ({
  principals: Object.fromEntries(Object.entries(rules.keys).map(([name, id]) => [name, person(PENS.get(id)!)])),
  policy: {
    approvers: rules.approvers,
    required_approvers: { standard: rules.required, major: rules.required },
    self_approval: rules.self_approval,
    owners: rules.owners.map(({ target, ...rest }) => ({ ...rest, targets: [target] })),
    break_glass: rules.break_glass,
    forbidden_targets: rules.forbidden ? [rules.forbidden] : [],
    minor: rules.minor ? { kinds: ["config"], targets: TARGETS } : undefined,
    on_stale: rules.on_stale,
    consent_ttl_hours: hours(rules.consent_ttl),
    approval_ttl_hours: hours(rules.approval_ttl),
    windows: { deny: rules.denied.map(([from, to]) => ({ from: iso(from), to: iso(to) })) },
    signed_only: rules.signed_only,
    permissions: rules.operators ? { apply: rules.operators, rollback: rules.operators } : {},
    targets: rules.limit ? [limitOf(rules.limit)] : [],
  },
});

const limitOf = ({ target, maximum, step, ms }: NonNullable<Rules["limit"]>): object => ({
  match: [target],
  schema: { type: "integer", maximum },
  max_step: { absolute: step, hours: ms / HOUR_MS },
});

/** Rules on who applies, and on which numbers. */
export const someLimits = (random: Random): Pick<Rules, "limit" | "operators"> => ({
  operators: random(4) === 0 ? ["ops", NAMES[random(NAMES.length)]!] : undefined,
  limit:
    random(2) === 0
      ? { target: TARGETS[random(2)]!, maximum: 14 + random(4), step: 1 + random(3), ms: (1 + random(30)) * HOUR_MS }
      : undefined,
});

/** Rules, and the intent that says them: drawn until they are ones that an intent may say. */
export function randomRules(
  random: Random,
  now: number,
  more: (random: Random) => Partial<Rules> = () => ({}),
): { rules: Rules; manifest: Manifest; loaded: LoadedIntent } {
  for (;;) {
    const rules = { ...drawn(random, now), ...more(random) };
    const manifest = manifestOf(rules);
    try {
      return { rules, manifest, loaded: intentOf(manifest) };
    } catch (error) {
      if (!(error instanceof IntentInvalid)) throw error;
    }
  }
}

/** Creates differences between two intents; the same difference for several targets becomes one sentence. */
import { describeTargetClasses, type TargetClass, type Universe } from "./universe.ts";

/** `wider`: more may be done, by more people or with less consent; `narrower`: less; `other`: neither. */
export type Effect = "wider" | "narrower" | "other";

/** One difference. */
export interface Difference {
  effect: Effect;
  /** The field of the intent that causes the difference. */
  field: string;
  /** Order in which differences of one effect are shown, from 0, the gravest. */
  gravity: number;
  text: string;
}

/** A difference for one class of targets; `{}` in its text stands for all classes with the same difference. */
export type TargetDifference = Omit<Difference, "gravity" | "field">;

/** Lists the differences for all classes of targets; classes with the same difference are joined. */
export function compareTargets(
  field: string,
  gravity: number,
  universe: Universe,
  compare: (target: TargetClass) => TargetDifference | readonly TargetDifference[] | undefined,
): Difference[] {
  const byText = new Map<string, { effect: Effect; targets: TargetClass[] }>();
  for (const target of universe.targets)
    for (const { effect, text } of [compare(target) ?? []].flat()) {
      const { targets } = byText.get(text) ?? { targets: [] };
      byText.set(text, { effect, targets: [...targets, target] });
    }
  return [...byText].map(([text, { effect, targets }]) => ({
    effect,
    field,
    gravity,
    text: text.replace("{}", describeTargetClasses(targets, universe)),
  }));
}

/** Returns the effect of a changed limit: a larger number is wider. For a quorum, callers swap the two numbers. */
export const compareNumbers = (old: number, next: number): Effect => (next > old ? "wider" : "narrower");

/** Groups names by the effect that a changed permission has on them. */
export function groupByEffect(
  names: readonly string[],
  [old, next]: readonly [old: (name: string) => boolean, next: (name: string) => boolean],
): [effect: Effect, names: string[]][] {
  const namesWithEffect = (effect: Effect) =>
    names.filter((name) => old(name) !== next(name) && next(name) === (effect === "wider"));
  return (["wider", "narrower"] as const)
    .map((effect): [Effect, string[]] => [effect, namesWithEffect(effect)])
    .filter(([, changed]) => changed.length > 0);
}

/** Checks that a rule does not throw. */
export function isAccepted(rule: () => void): boolean {
  try {
    rule();
    return true;
  } catch {
    return false;
  }
}

/** Creates a difference that is the same for all targets. */
export const createDifference = (field: string, gravity: number, effect: Effect, text: string): Difference => ({
  effect,
  field,
  gravity,
  text,
});

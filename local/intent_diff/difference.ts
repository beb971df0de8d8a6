/** Differences between two intents, and how the same difference of many places becomes one sentence. */
import { describePlaces, type Place, type Universe } from "./universe.ts";

/** `wider`: more may be done, by more people or with less consent; `narrower`: less; `other`: neither. */
export type Effect = "wider" | "narrower" | "other";

/** One difference. */
export interface Difference {
  effect: Effect;
  /** The rule behind it, as a field of the intent. */
  field: string;
  /** Order in which differences are shown; 1, the gravest, decides whether a change is possible at all. */
  gravity: number;
  text: string;
}

/** A difference at one place; `{}` in the text stands for the places that have the same. */
export type AtPlace = Omit<Difference, "gravity" | "field">;

/** Lists the differences at all places; where several places have the same, it is one difference that names them. */
export function atPlaces(
  field: string,
  gravity: number,
  universe: Universe,
  ask: (place: Place) => AtPlace | readonly AtPlace[] | undefined,
): Difference[] {
  const found = new Map<string, { effect: Effect; places: Place[] }>();
  for (const place of universe.places)
    for (const { effect, text } of [ask(place) ?? []].flat()) {
      const same = found.get(text) ?? { effect, places: [] };
      found.set(text, { effect, places: [...same.places, place] });
    }
  return [...found].map(([text, { effect, places }]) => ({
    effect,
    field,
    gravity,
    text: text.replace("{}", describePlaces(places, universe)),
  }));
}

/** The effect of a limit that may be absent: a larger number is wider. */
export const compareNumbers = (old: number, next: number): Effect => (next > old ? "wider" : "narrower");

/** Returns names in a group for each effect that a change of a permission has on them. */
export function byEffect(
  names: readonly string[],
  [old, next]: readonly [(name: string) => boolean, (name: string) => boolean],
): [Effect, string[]][] {
  const of = (effect: Effect) =>
    names.filter((name) => old(name) !== next(name) && next(name) === (effect === "wider"));
  return (["wider", "narrower"] as const)
    .map((effect): [Effect, string[]] => [effect, of(effect)])
    .filter(([, changed]) => changed.length > 0);
}

/** Returns true where a rule does not throw. */
export function passes(rule: () => void): boolean {
  try {
    rule();
    return true;
  } catch {
    return false;
  }
}

/** A difference that is the same for all places. */
export const difference = (field: string, gravity: number, effect: Effect, text: string): Difference => ({
  effect,
  field,
  gravity,
  text,
});

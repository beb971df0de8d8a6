/** What one answer is made of is looked up once, by however many of its parts it is needed. */
export interface Glance {
  /** What was looked up under this name; `look` does so the first time. */
  once<T>(name: string, look: () => Promise<T>): Promise<T>;
  /** All that is asked for from now on is looked up anew: something has moved meanwhile. */
  forget(): void;
}

/** A glance at nothing yet. */
function createGlance(): Glance {
  const seen = new Map<string, Promise<unknown>>();
  return {
    once<T>(name: string, look: () => Promise<T>): Promise<T> {
      const known = seen.get(name) ?? look();
      seen.set(name, known);
      return known as Promise<T>;
    },
    forget: () => seen.clear(),
  };
}

/** The same dependencies, with a glance of their own: for all that makes one answer, and no longer than that. */
export const atOneGlance = <D extends { glance?: Glance | undefined }>(deps: D): D =>
  deps.glance ? deps : (Object.create(deps, { glance: { value: createGlance(), enumerable: true } }) as D);

/** A promise was not kept. */
export class Disagreement extends Error {
  override readonly name = "Disagreement";
}

/** Throws unless it holds; `said` tells what is not as promised. Works under any test runner. */
export function agree(holds: boolean, said: string): asserts holds {
  if (!holds) throw new Disagreement(said);
}

/** The error of a contract case: the subject does not do what the contract requires. */
export class Disagreement extends Error {
  override readonly name = "Disagreement";
}

/** Throws a `Disagreement` with `message` unless `condition` is true. Works under any test runner. */
export function agree(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Disagreement(message);
}

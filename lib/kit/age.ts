/**
 * Returns true if at least `milliseconds` have passed since `at`, or `at` is `""` (never). A moment in the future counts as
 * passed too: a clock that was set back must not delay work.
 */
export function hasElapsed(at: string, milliseconds: number, now: number): boolean {
  const age = at === "" ? milliseconds : now - Date.parse(at);
  return age < 0 || age >= milliseconds;
}

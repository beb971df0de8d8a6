/**
 * Returns whether a moment, `""` for never, is that long ago, or in the future: a clock that was set back must not delay
 * work until it caught up.
 */
export function hasElapsed(at: string, milliseconds: number, now: number): boolean {
  const age = at === "" ? milliseconds : now - Date.parse(at);
  return age < 0 || age >= milliseconds;
}

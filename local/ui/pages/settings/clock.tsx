import { useEffect } from "preact/hooks";
import { clockBehind, get, Refused } from "../../core/api.ts";

/** Looks whether the clock is far behind the log, so that it is said before a write is refused for it. */
export function ClockCheck() {
  useEffect(() => {
    const gone = new AbortController();
    const told = (checks: Checks | undefined): void => void (checks?.clock && clockBehind.set(!checks.clock.ok));
    get<{ checks: Checks }>("readyz", {}, gone.signal).then(
      ({ checks }) => told(checks),
      (error: unknown) => told(error instanceof Refused ? (error.refusal["checks"] as Checks) : undefined),
    );
    return () => gone.abort();
  }, []);
  return null;
}

interface Checks {
  clock?: { ok: boolean };
}

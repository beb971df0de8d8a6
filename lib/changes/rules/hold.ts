/** Freezes and windows: they block an apply that has all its consents, and never a rollback. */
import { AppError } from "../../kit/errors.ts";
import { type Freeze, freezeSchema } from "./freeze.ts";
import { findActiveFreeze } from "./current_state.ts";
import type { Policy } from "./intent.ts";
import type { ChangeEntry } from "./list_entries.ts";
import { findClosure, selectWindows } from "./windows.ts";

/** A condition that blocks an apply, as a gate and as an error. */
export interface Hold {
  gate: "freeze" | "window" | "promotion";
  code: "frozen" | "outside_window" | "promotion_not_ready";
  message: string;
  details: object;
}

/**
 * Lists the freeze and the closed window that block the apply of a change at `now`, in milliseconds since the epoch; without a
 * change, those that block every apply. The holds of `promotion` come from `listPromotionHolds`.
 */
export function listHolds(policy: Policy, freeze: Freeze | undefined, now: number, change?: ChangeEntry): Hold[] {
  const closure = findClosure(selectWindows(policy.windows, change), now);
  return [
    ...listFreezeHolds(freeze, now),
    ...(closure
      ? [
          {
            gate: "window" as const,
            code: "outside_window" as const,
            message: `nothing is applied now: ${closure.reason}; ${closure.opens_at === null ? "no opening is in sight" : `the next opening is at ${closure.opens_at}`}`,
            details: { ...closure },
          },
        ]
      : []),
  ];
}

/** Returns the active freeze as a hold; empty without one. */
export function listFreezeHolds(freeze: Freeze | undefined, now: number): Hold[] {
  const activeFreeze = findActiveFreeze(freeze, now);
  return activeFreeze ? [createFreezeHold(activeFreeze)] : [];
}

/** Says who froze the service and until when, without the note. */
export const describeFreeze = ({ actor, until }: Pick<Freeze, "actor" | "until">): string =>
  `the service is frozen by ${actor} ${until === null ? "until somebody lifts it" : `until ${until}`}`;

function createFreezeHold(freeze: Freeze): Hold {
  const { note } = freeze;
  // The note is quoted, so that nobody mistakes it for words of the service.
  const message = `${describeFreeze(freeze)}${note === "" ? "" : `: ${JSON.stringify(note)}`}`;
  return { gate: "freeze", code: "frozen", message, details: { freeze: freezeSchema().parse(freeze) } };
}

/** Requires that nothing blocks the apply. Errors: 409 `frozen`, `outside_window` or `promotion_not_ready`. */
export function requireNoHold([hold]: readonly Hold[]): void {
  if (hold) throw new AppError(hold.code, hold.message, { ...hold.details });
}

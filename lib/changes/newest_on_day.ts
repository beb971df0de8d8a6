/** Finds the newest entry of a UTC day in a walk through the log, newest first. */
import type { AuditEntry } from "../audit/entry.ts";
import type { NextEntry } from "./evidence.ts";

/** Returns the newest entry of a moment's UTC day. If the clock was set back, the walk yields entries of later days first. */
export async function findNewestOnDay(
  at: string,
  walkSince: (moment: string) => NextEntry,
): Promise<AuditEntry | undefined> {
  const day = at.slice(0, 10);
  const next = walkSince(`${day}T00:00:00.000Z`);
  let entry = await next();
  while (entry && entry.timestamp.slice(0, 10) !== day) entry = await next();
  return entry;
}

/** Examples of what can be asked here. */
import type { Asking } from "./asking.ts";

/** Three questions with names and targets that are on record. */
export function examplesOf({ seen, say }: Pick<Asking, "seen" | "say">): string {
  const [newest] = seen.rows;
  const person = seen.rows.find(({ proposer }) => proposer !== null)?.proposer ?? null;
  return say.examples({ target: newest?.target ?? null, tenant: newest?.tenant_id ?? null, person });
}

/** Words of a question that were read and that an answer is not about: it names them, so that none is dropped in silence. */
import type { Plan } from "./plan.ts";
import type { Question } from "./read.ts";
import type { Sense } from "./senses.ts";

/** What is true of every change to which that happened. */
const IMPLIED: Readonly<Partial<Record<Sense, readonly Sense[]>>> = {
  rolled_back: ["applied", "approved", "live"],
  applied: ["approved"],
  live: ["applied", "approved"],
  lapsed: ["approved", "expired"],
  revoked: ["approved", "withdrawn"],
  withdrawn: ["revoked"],
  expired: ["lapsed"],
  ready: ["approved", "applied"],
  pending: ["approved"],
};
/** Words that change what is asked for; the others say how it is asked. */
const TELLING: ReadonlySet<Sense> = new Set<Sense>([
  ...(["approved", "denied", "applied", "rolled_back", "expired", "lapsed", "withdrawn", "revoked", "failed"] as const),
  ...(["drifted", "refused", "ready", "met", "missed", "regressed", "inconclusive", "early", "log", "kpis"] as const),
  ...(["unfed", "goals", "tasks", "peers", "frozen", "windows", "guardrails", "emergency", "irreversible"] as const),
  ...(["duration", "attempts"] as const),
]);

/** The words that stand neither in the query nor among what an answer tells of; `senses`: what it tells of beside the query. */
export function unusedIn({ tokens }: Question, plan: Plan, senses: readonly Sense[]): string[] {
  const used = new Set<Sense>([...senses, ...plan.used]);
  for (const sense of [...used]) for (const implied of IMPLIED[sense] ?? []) used.add(implied);
  return tokens.flatMap((token) =>
    token.type === "sense" && token.senses.every((sense) => TELLING.has(sense) && !used.has(sense))
      ? [token.words]
      : [],
  );
}

/** Mandates that need attention: a signature, a resumption, or a successor before they end. */
import * as z from "zod";
import type { ChangesDeps } from "../changes/deps.ts";
import { listMandates } from "../changes/mandates/list.ts";
import { MANDATE_STATES } from "../changes/rules/mandate.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { DAY_MS } from "../kit/days.ts";

export const dueMandate = z
  .object({
    mandate_id: z.string().describe("Its id."),
    agent: z.string().describe("Its agent."),
    state: z.enum(MANDATE_STATES).describe("Its state."),
    until: z.string().describe("Its end."),
    reason: z.string().nullable().describe("Reason of its suspension; null otherwise."),
    waits_for_you: z.boolean().describe("True if the person's signature is missing."),
  })
  .describe("A mandate that is suspended, ends soon or is not signed yet.");

/** Maximum number of open mandates that are examined, oldest first. */
const MAX_EXAMINED = 100;
const SOON_MS = 3 * DAY_MS;

/** Lists mandates that are suspended, end within three days, or are not signed yet. */
export async function listMandatesDue(deps: ChangesDeps, person: string | null): Promise<z.infer<typeof dueMandate>[]> {
  if (!deps.product!.intent.policy.mandates) return [];
  const { mandates } = await listMandates(deps, { limit: MAX_EXAMINED, isOpen: true });
  const soon = deps.clock.now() + SOON_MS;
  return mandates
    .filter(({ state, until }) => state !== "active" || Date.parse(until) <= soon)
    .map(({ mandate_id, agent, state, until, suspension, missing }) => ({
      mandate_id,
      agent,
      state,
      until,
      reason: suspension?.reason ?? null,
      waits_for_you: person !== null && missing.some(({ of }) => of.includes(normalizeName(person))),
    }));
}

/** The fields by which clients narrow a list of changes, beside status and tenant. */
import type * as z from "zod";
import { PROPOSER_KINDS } from "../../governance/rules/actor.ts";
import { KINDS, RESOLUTIONS, RISKS, type Status, TIERS } from "../../governance/rules/change.ts";
import { VERDICTS } from "../../governance/rules/outcome.ts";
import { flag, freeText, line, time, word } from "../../http/form.ts";
import { once } from "../../kit/once.ts";
import type { ChangeFilter } from "./filter.ts";
import { EVENTS, ROLES } from "./row.ts";

export const filterFields = once(() => ({
  person: line(200).optional().describe("Only changes that this person has to do with, as role says."),
  role: word(ROLES).optional().describe("What person is to them; either in any way. Absent: either."),
  proposer_kind: word(PROPOSER_KINDS).optional().describe("Only changes of this kind of proposer."),
  kind: word(KINDS).optional().describe("Only changes of this kind."),
  target: line(200).optional().describe("Only changes of this target; * stands for any characters."),
  risk: word(RISKS).optional().describe("Only changes of this risk."),
  tier: word(TIERS).optional().describe("Only changes of this tier."),
  kpi: line(64).optional().describe("Only changes that name this KPI."),
  resolution: word(RESOLUTIONS).optional().describe("Only denied changes that ended so."),
  verdict: word(VERDICTS).optional().describe("Only changes whose outcome has this verdict."),
  drifted: flag().optional().describe("Only changes that the host shows no more, or only others."),
  emergency: flag().optional().describe("Only changes approved in an emergency, or only others."),
  text: freeText(200)
    .refine((text) => /[\p{L}\p{N}]/u.test(text), "must hold a letter or a digit")
    .optional()
    .describe("Words of summary, rationale or target, or a whole id."),
  event: word(EVENTS).optional().describe("What from and to are about. Absent: proposed."),
  from: time().optional().describe("Only changes to which that happened then or later."),
  to: time().optional().describe("Only changes to which it happened before."),
}));

type Fields = z.output<z.ZodObject<ReturnType<typeof filterFields>>> & {
  status?: Status | undefined;
  tenant_id?: string | undefined;
};

/** Whether anything is asked for beside status and tenant. */
export const isFiltered = (input: Fields): boolean =>
  (Object.keys(filterFields()) as (keyof ReturnType<typeof filterFields>)[]).some((name) => input[name] !== undefined);

/** The query that these fields ask. */
export function filterOf({ person, role = "either", event, from, to, ...rest }: Fields): ChangeFilter {
  const dated = event !== undefined || from !== undefined || to !== undefined;
  return {
    ...rest,
    ...(person !== undefined && { person: { name: person, as: role } }),
    ...(dated && { period: { of: event ?? "proposed", from, to } }),
  };
}

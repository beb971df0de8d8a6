/** Lists changes that match all filters, newest first. */
import type * as z from "zod";
import type { ChangesDeps } from "../changes/deps.ts";
import { previewExpiry } from "../changes/expire_changes.ts";
import { PROPOSER_KINDS } from "../changes/rules/actor.ts";
import { type Change, KINDS, RESOLUTIONS, RISKS, type Status, TIERS } from "../changes/rules/change.ts";
import { hasTenant, listGovernedEntries } from "../changes/rules/list_entries.ts";
import { isListedName } from "../changes/rules/names.ts";
import { VERDICTS } from "../changes/rules/outcome.ts";
import { isRecord } from "../changes/rules/record.ts";
import { matchesPattern } from "../changes/rules/target_pattern.ts";
import { parseRecord } from "../changes/rules/stored_record.ts";
import { flag, freeText, line, time, word } from "../kit/fields.ts";
import { invalidField } from "../kit/errors.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { once } from "../kit/once.ts";
import { parseQuery } from "./parse.ts";
import { findDenier, isRule, listApprovers, type Row } from "./row.ts";
import { runQuery } from "./run.ts";

/** Events to which a period can refer; `consented`: a person approved, even if that did not reach the quorum. */
const EVENTS = ["proposed", "consented", "decided", "approved", "denied", "applied", "rolled_back", "closed"] as const;
type Event = (typeof EVENTS)[number];

/** Roles of a person in a change; `either`: any of them. */
const ROLES = ["proposer", "asker", "approver", "denier", "decider", "either"] as const;
type Role = (typeof ROLES)[number];

export const filterFields = once(() => ({
  person: line(200).optional().describe("Only changes that this person has to do with, as role says."),
  role: word(ROLES).optional().describe("Role of the person; either: any. Absent: either."),
  proposer_kind: word(PROPOSER_KINDS).optional().describe("Only changes of this kind of proposer."),
  kind: word(KINDS).optional().describe("Only changes of this kind."),
  target: line(200).optional().describe("Only changes of this target; * stands for any characters."),
  risk: word(RISKS).optional().describe("Only changes of this risk."),
  tier: word(TIERS).optional().describe("Only changes of this tier."),
  kpi: line(64).optional().describe("Only changes that name this KPI."),
  resolution: word(RESOLUTIONS).optional().describe("Only denied changes that ended so."),
  verdict: word(VERDICTS).optional().describe("Only changes whose outcome has this verdict."),
  drifted: flag().optional().describe("True: only drifted changes; false: only others."),
  emergency: flag().optional().describe("Only changes approved in an emergency, or only others."),
  text: freeText(200)
    .refine((text) => /[\p{L}\p{N}]/u.test(text), "must hold a letter or a digit")
    .optional()
    .describe("Beginnings of words in its texts or names, or an id."),
  event: word(EVENTS).optional().describe("Event of from and to. Absent: proposed."),
  from: time().optional().describe("Only changes to which that happened then or later."),
  to: time().optional().describe("Only changes to which it happened before."),
}));

type Filter = z.output<z.ZodObject<ReturnType<typeof filterFields>>> & {
  status?: Status | undefined;
  tenant_id?: string | undefined;
};

/** Returns true for a list with filters other than status. */
export const isFiltered = (filter: Filter): boolean =>
  filter.tenant_id !== undefined ||
  (Object.keys(filterFields()) as (keyof Filter)[]).some((name) => filter[name] !== undefined);

/** Reads a page of the changes that match all filters, at most 1 MiB. `before`: the `next` of the previous page. Errors: 400 `invalid_field`. */
export async function findChanges(
  deps: ChangesDeps,
  { before, limit, ...filter }: Filter & { limit: number; before?: string | undefined },
): Promise<{ changes: Change[]; total: number; next: string | null }> {
  if (filter.role !== undefined && filter.person === undefined) throw invalidField("person", "is needed with role");
  const query = parseQuery(buildQuery(filter), { now: deps.clock.now(), zone: "UTC" });
  const where = (row: Row): boolean => matchesFilter(row, filter);
  const options = { limit, after: before, cursorField: "before", zone: "UTC", caller: null, where } as const;
  const found = await runQuery(deps, query, options);
  const changes: Change[] = [];
  let bytes = 0;
  for (const { change_id } of found.rows) {
    const [stored] = await deps.store.texts("changes", [change_id]);
    const record = stored && parseRecord(stored);
    bytes += stored?.text.length ?? 0;
    if (record && isRecord(record)) changes.push((await previewExpiry(deps, [record]))[0]!.change);
    if (bytes > PAGE_BYTES && change_id !== found.rows.at(-1)!.change_id)
      return { changes, total: found.total, next: change_id };
  }
  return { changes, total: found.total, next: found.next };
}

/** Builds the query for the filters that cannot be tested on a row alone: words, verdict and drift. */
function buildQuery({ verdict, drifted, text }: Filter): string {
  const words = text === undefined ? [] : toSearchWords(text);
  const terms = [verdict && `verdict:${verdict}`, drifted !== undefined && `${drifted ? "" : "-"}is:drifted`];
  return [...words, ...terms, "sort:proposed"].filter(Boolean).join(" ");
}

/** Converts a text to words of a query: ids, numbers and Chinese unchanged, other words as beginnings of words. */
function toSearchWords(text: string): string[] {
  if (/^\s*chg_\S+\s*$/.test(text)) return [text.trim()];
  const words = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => (/^\p{N}+$|\p{Script=Han}/u.test(word) ? word : `${word}*`));
}

function matchesFilter(row: Row, filter: Filter): boolean {
  const { change } = row;
  const { person, role = "either", event, from, to, target, tenant_id, emergency } = filter;
  const hasEqualFields = (["status", "proposer_kind", "kind", "risk", "tier", "kpi", "resolution"] as const).every(
    (name) => filter[name] === undefined || filter[name] === change[name],
  );
  if (!hasEqualFields) return false;
  if (target !== undefined && !listGovernedEntries(change).some((entry) => matchesPattern(entry.target, target)))
    return false;
  if (tenant_id !== undefined && !hasTenant(change, tenant_id)) return false;
  if (person !== undefined && !listPeople(row, role).some((name) => isListedName(name, person))) return false;
  const isEmergency = change.approvals.some((approval) => approval.emergency === true);
  if (emergency !== undefined && isEmergency !== emergency) return false;
  if (event === undefined && from === undefined && to === undefined) return true;
  const isInPeriod = (at: string): boolean => at >= (from ?? "") && (to === undefined || at < to);
  return listEventTimes(row, event ?? "proposed", person).some(isInPeriod);
}

/** Lists the people with a role in a change. The intent and mandates are not people. */
function listPeople(row: Row, role: Role): string[] {
  const { proposer, asked_by, approver, resolution } = row.change;
  const people: Record<Exclude<Role, "either">, (string | null | undefined)[]> = {
    proposer: [proposer],
    asker: [asked_by],
    approver: listApprovers(row),
    denier: [findDenier(row)],
    decider: [...listApprovers(row), findDenier(row), resolution === "revoked" ? approver : null],
  };
  const names = role === "either" ? Object.values(people).flat() : people[role];
  return names.filter((name): name is string => typeof name === "string" && name !== "" && !isRule(name));
}

/** Lists the moments of an event, RFC 3339. `by` limits decisions to those of one person. */
function listEventTimes({ change }: Row, event: Event, by?: string): string[] {
  const { status, resolution, approvals, approver, created_at, decided_at, applied_at, rolled_back_at } = change;
  const isBy = (name: string | null): boolean => by === undefined || isListedName(name ?? "", by);
  const consents = approvals.filter((approval) => isBy(approval.approver)).map(({ at }) => at);
  const denied = status === "denied" ? decided_at : null;
  // A change whose approval was revoked or expired was approved at its last consent.
  const earlierApproval = resolution === "revoked" || resolution === "lapsed" ? (approvals.at(-1)?.at ?? null) : null;
  const times: Record<Event, (string | null)[]> = {
    proposed: [created_at],
    consented: consents,
    decided: by === undefined ? [decided_at] : [...consents, isBy(approver) ? denied : null],
    approved: [denied === null && status !== "pending_consent" && status !== "proposed" ? decided_at : earlierApproval],
    denied: [denied],
    applied: [applied_at],
    rolled_back: [rolled_back_at],
    closed: [denied ?? rolled_back_at],
  };
  return times[event].filter((at): at is string => at !== null);
}

/** What happened in a week, change by change and person by person. */
import type { Entry } from "../../follow/entries.ts";
import type { Change } from "../../governance/rules/change.ts";
import { code, list } from "../markdown.ts";
import { doerOf } from "../query/event_query.ts";
import { briefOf, moment, nameOf, stepOf, who, words } from "./told.ts";
import { capped, NAMED, type WeekSeen } from "./week_seen.ts";

const GROUPS: readonly [string, (change: Change) => boolean][] = [
  ["Applied", ({ status }) => status === "applied"],
  ["Rolled back", ({ status }) => status === "rolled_back"],
  ["Approved, not applied", ({ status }) => status === "approved"],
  ["Waiting for consent", ({ status }) => status === "pending_consent" || status === "proposed"],
  ["Denied, withdrawn or revoked", ({ resolution }) => resolution !== "expired" && resolution !== "lapsed"],
  ["Expired or lapsed", () => true],
];

/** Every change that something happened to, grouped by how it stands now, with what happened to it in the week. */
export function changesTold({ entries, changes }: WeekSeen): (string | undefined)[] {
  const steps = new Map<string, Entry[]>();
  for (const entry of entries)
    if (entry.change_id !== "") steps.set(entry.change_id, [...(steps.get(entry.change_id) ?? []), entry]);
  const left = [...steps].flatMap(([id, done]) => {
    const change = changes.get(id)?.change;
    return change ? [{ change, line: `${nameOf(change)}: ${done.map(stepOf).join("; ")}` }] : [];
  });
  const blocks: (string | undefined)[] = [];
  const told = new Set<Change>();
  for (const [title, isOne] of GROUPS) {
    const group = left.filter(({ change }) => !told.has(change) && isOne(change));
    for (const { change } of group) told.add(change);
    if (group.length > 0) blocks.push(`### ${title}: ${group.length}`, list(capped(group.map(({ line }) => line))));
  }
  return blocks.length > 0 ? blocks : ["No change was touched."];
}

const FAILED = ["change_apply_failed", "change_rollback_failed", "change_rolled_back", "change_drifted"];

/** What went wrong in the week, and why. */
export function failuresTold({ entries, changes }: WeekSeen): string {
  const failed = entries.flatMap((entry) => {
    const change = changes.get(entry.change_id)?.change;
    return change && FAILED.includes(entry.event_type) ? [`${briefOf(change)}: ${stepOf(entry)}`] : [];
  });
  return list(capped(failed)) ?? "Nothing failed, was rolled back or drifted.";
}

/** Proposals that were refused, freezes and emergencies; `undefined` where there were none. */
export function exceptionsTold({ entries, changes }: WeekSeen): string | undefined {
  const told = entries.flatMap((entry) => {
    const { event_type, timestamp, tenant, facts } = entry;
    const change = changes.get(entry.change_id)?.change;
    const name = change ? briefOf(change) : code(entry.change_id);
    const by = doerOf(entry) === null ? "" : ` by ${who(doerOf(entry)!)}`;
    const note = facts.note?.trim() ? `: ${words(facts.note)}` : "";
    switch (event_type) {
      case "proposal_refused":
        return facts.target === undefined
          ? `${facts.count ?? 0} further proposals of ${facts.day ?? "a day before"} were refused`
          : `refused: a proposal on ${code(facts.target)} of ${who(tenant)}${by} ${moment(timestamp)} (${facts.code})`;
      case "service_frozen":
        return `frozen${by} ${moment(timestamp)}${facts.until ? ` until ${moment(facts.until)}` : ""}${note}`;
      case "service_unfrozen":
        return `unfrozen${by} ${moment(timestamp)}${note}`;
      case "consent_decision":
        return facts.emergency ? `emergency: ${name}: ${stepOf(entry)}` : [];
      case "emergency_reviewed":
        return `emergency: ${name}: ${stepOf(entry)}`;
      default:
        return [];
    }
  });
  return list(capped(told));
}

/** What each person did to which targets, the busiest first. */
export function decidersTold({ entries, changes }: WeekSeen): string | undefined {
  const done = new Map<string, Map<string, string[]>>();
  for (const entry of entries) {
    const doer = doerOf(entry);
    const change = changes.get(entry.change_id)?.change;
    const verb = verbOf(entry);
    if (doer === null || doer.startsWith("policy:") || !change || verb === undefined) continue;
    const verbs = done.get(doer) ?? new Map<string, string[]>();
    verbs.set(verb, [...(verbs.get(verb) ?? []), code(change.target)]);
    done.set(doer, verbs);
  }
  const count = (verbs: Map<string, string[]>): number => [...verbs.values()].flat().length;
  const people = [...done].sort((a, b) => count(b[1]) - count(a[1]) || (a[0] < b[0] ? -1 : 1));
  return list(
    capped(
      people.map(
        ([name, verbs]) =>
          `${who(name)}: ${[...verbs].map(([verb, targets]) => `${verb} ${capped(targets, NAMED).join(", ")}`).join("; ")}`,
      ),
    ),
  );
}

function verbOf({ event_type, facts }: Entry): string | undefined {
  switch (event_type) {
    case "change_proposed":
      return "proposed";
    case "consent_decision":
      return facts.decision;
    case "change_applied":
      return "applied";
    case "change_rolled_back":
      return "rolled back";
    case "emergency_reviewed":
      return "reviewed";
    default:
      return undefined;
  }
}

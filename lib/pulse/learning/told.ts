/** How reports name changes, people and moments. A line that quotes a change names its id: an erasure finds it by that. */
import type { Entry } from "../../follow/entries.ts";
import { POLICY_GUARDRAIL } from "../../governance/rules/actor.ts";
import type { Change } from "../../governance/rules/change.ts";
import { label } from "../../kit/quote.ts";
import { code, quoted } from "../markdown.ts";
import { doerOf } from "../query/event_query.ts";

const SUMMARY = 120;
const NOTE = 200;

/** Prose of somebody's; of a long one its beginning. */
export const words = (text: string, most = NOTE): string => quoted(text, most);

/** A change by its target, tenant and summary, with its id. */
export const nameOf = ({ change_id, target, tenant_id, summary }: Change): string =>
  `${code(target)} of ${who(tenant_id)}, ${words(summary, SUMMARY)} (${code(change_id)})`;

/** A change by its target and tenant, with its id. */
export const briefOf = ({ change_id, target, tenant_id }: Change): string =>
  `${code(target)} of ${who(tenant_id)} (${code(change_id)})`;

/** A person, a tenant or a program by name; quoted where it could be read as more than a name, or as markup. */
export const who = (name: string): string => (label(name) === name && !/[*_]/.test(name) ? name : quoted(name));

/** `2026-11-12 14:00`, in UTC. */
export const moment = (at: string | number): string => new Date(at).toISOString().slice(0, 16).replace("T", " ");

/** What an entry says was done, by whom, when, and why. */
export function stepOf(entry: Entry): string {
  const { event_type, timestamp, facts } = entry;
  const doer = doerOf(entry);
  const by = doer === null || doer.startsWith("policy:") ? "" : ` by ${who(doer)}`;
  const note = facts.note?.trim() ? `: ${words(facts.note)}` : "";
  return `${doneIn(entry)}${by} ${moment(timestamp)}${facts.error ? `: ${words(facts.error)}` : note}${whyOf(entry)}`;

  function doneIn({ facts: { status, decision, emergency, verdict, state, progress } }: Entry): string {
    switch (event_type) {
      case "change_proposed":
        return status === "approved" ? "proposed, and approved by the intent's rule for minor changes," : "proposed";
      case "consent_decision":
        return `${decision ?? "decided"}${emergency ? " in an emergency" : ""}${status === "pending_consent" && progress ? ` (${progress}, ${lackOf(progress)})` : ""}`;
      case "emergency_reviewed":
        return `emergency reviewed, ${verdict === "accepted" ? "accepted" : "not accepted"},`;
      case "change_drifted":
        return `drifted (${state ?? "unknown"} on the host)`;
      default:
        return event_type.replace("change_", "").replaceAll("_", " ");
    }
  }
}

/** The reason why a consent did not decide: too few of them, or another rule that asks for its own, as owners do. */
function lackOf(progress: string): string {
  const [given, required] = progress.split(" of ").map(Number);
  return given! < required! ? "more are required" : "a consent that another rule requires is missing";
}

/** The guardrail's evidence, where one ordered it. */
function whyOf({ facts }: Entry): string {
  const { by, evidence } = facts as Entry["facts"] & {
    evidence?: Partial<Record<"kpi" | "baseline" | "value", unknown>>;
  };
  if (by !== POLICY_GUARDRAIL) return "";
  const { kpi, baseline, value } = evidence ?? {};
  return `: the guardrail saw ${code(String(kpi))} go from ${Number(baseline)} to ${Number(value)}, worse`;
}

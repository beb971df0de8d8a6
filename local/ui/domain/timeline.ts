/** The life of a change, told from its audit entries. */
import type { AuditEntry } from "../core/api_types.ts";
import type { Part } from "./sentences.ts";
import { type Shape, type Tone, words } from "./statuses.ts";

/** One step: what happened, by whom, with which note. */
export interface Step {
  id: number;
  at: string;
  what: Part[];
  /** How it is known whose doing it was, where that was proven. */
  proven: Part[];
  note: string;
  shape: Shape;
  tone: Tone;
}

type Facts = Record<string, unknown>;

/** The facts of an entry; empty where its detail is not an object. */
export function factsOf({ detail }: Pick<AuditEntry, "detail">): Facts {
  try {
    const facts: unknown = JSON.parse(detail);
    return typeof facts === "object" && facts !== null && !Array.isArray(facts) ? (facts as Facts) : {};
  } catch {
    return {};
  }
}

const textOf = (given: unknown): string => (typeof given === "string" ? given : "");

function person(given: unknown, otherwise: string): Part {
  const name = textOf(given);
  if (name === "") return otherwise;
  return name.startsWith("policy:") ? "The intent's own rule" : { given: name };
}

/** The steps, in the order of the entries. */
export const stepsOf = (entries: readonly AuditEntry[]): Step[] => entries.map(stepOf);

function stepOf(entry: AuditEntry): Step {
  const facts = factsOf(entry);
  const step = (what: Part[], shape: Shape, tone: Tone, note = ""): Step => ({
    id: entry.id,
    at: entry.timestamp,
    what,
    proven: provenBy(facts),
    note,
    shape,
    tone,
  });
  const note = textOf(facts["note"]);
  switch (entry.event_type) {
    case "change_proposed": {
      const asked = textOf(facts["tier_asked"]);
      const tier = textOf(facts["tier"]);
      const instead = asked !== "" && asked !== tier ? `, asked for as ${asked}` : "";
      const asker = textOf(facts["asked_by"]);
      return step(
        [
          person(facts["proposer"], "Somebody"),
          ...(asker === "" ? [] : [", asked by ", person(asker, ""), ","]),
          ` proposed it as a ${tier} change${instead}`,
        ],
        "ring",
        "quiet",
      );
    }
    case "consent_decision":
      return consentStep(facts, step);
    case "change_applied":
      return step([...done(facts, "applied it", "was applied"), onHost(facts)], "full", "good", note);
    case "change_rolled_back":
      return step([...done(facts, "rolled it back", "was rolled back"), onHost(facts)], "back", "warn", note);
    case "change_apply_failed":
    case "change_rollback_failed": {
      const operation = entry.event_type === "change_apply_failed" ? "The apply" : "The rollback";
      const left = `; the host product shows ${textOf(facts["host"]) || "nothing known"}`;
      return step([`${operation} failed in ${textOf(facts["stage"])}${left}`], "bang", "bad", textOf(facts["error"]));
    }
    case "emergency_reviewed":
      return step(
        [
          person(facts["approver"], "Somebody"),
          ` reviewed the emergency: ${textOf(facts["verdict"]).replace("_", " ")}`,
        ],
        "check",
        facts["verdict"] === "accepted" ? "good" : "bad",
        note,
      );
    case "content_erased":
      return step([person(facts["actor"], "Somebody"), " erased its content"], "dash", "quiet", note);
    case "note_added":
      return step(
        [person(facts["actor"], "Somebody"), ` added a late ${textOf(facts["item"])}`],
        "dash",
        "quiet",
        note,
      );
    case "change_drifted":
      return step([`The host product no longer shows it: ${textOf(facts["state"])}`], "bang", "bad");
    case "record_rebuilt":
      return step(["What was stored of it was not what the log tells, and was made anew"], "bang", "bad");
    default:
      return step([entry.event_type], "dash", "quiet");
  }
}

function consentStep(facts: Facts, step: (what: Part[], shape: Shape, tone: Tone, note: string) => Step): Step {
  const who = person(facts["approver"], "Somebody");
  const note = textOf(facts["note"]);
  const progress = textOf(facts["progress"]);
  switch (facts["decision"]) {
    case "approved":
      return step(
        [
          who,
          ` approved it${facts["emergency"] === true ? " in an emergency" : ""}${progress === "" ? "" : `, ${progress}`}`,
        ],
        "check",
        "good",
        note,
      );
    case "withdrawn":
      return step([who, " withdrew it"], "cross", "quiet", note);
    case "revoked":
      return step([who, " took their consent back; it is closed"], "cross", "bad", note);
    case "lapsed":
      return step(["Nobody applied it in time; it lapsed"], "cross", "quiet", note);
    case "expired":
      return step(["Nobody consented in time; it expired"], "cross", "quiet", note);
    case "denied":
      return step([who, " denied it"], "cross", "bad", note);
    default:
      return step(["A decision was recorded"], "dash", "quiet", note);
  }
}

/** A signature proves whose key it was, and that they were there; not what they understood. */
function provenBy(facts: Facts): Part[] {
  const who = textOf(facts["approver"]) || textOf(facts["proposer"]) || textOf(facts["actor"]);
  if (facts["authenticated"] === "signature")
    return ["Given with ", { given: who }, "’s key, their presence verified."];
  if (facts["authenticated"] === "signature_unattended")
    return ["Signed unattended, by a key of ", { given: who }, " that signs by itself: nobody need have been there."];
  return [];
}

/** Entries of older versions name who asked only where the service vouches for it. */
function done(facts: Facts, active: string, passive: string): Part[] {
  const who = textOf(facts["actor"]) || textOf(facts["by"]);
  return [person(who, "It"), who === "" ? ` ${passive}` : ` ${active}`];
}

function onHost(facts: Facts): Part {
  const adapter = facts["adapter"] as { name?: unknown; result?: unknown } | null | undefined;
  if (!adapter) return "; there is no adapter, so the record alone changed";
  return `; the ${textOf(adapter.name)} adapter says ${words(textOf(adapter.result))}`;
}

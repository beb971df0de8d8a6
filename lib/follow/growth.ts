/** The rows of the growth log that come of entries. */
import { POLICY_GUARDRAIL } from "../governance/rules/actor.ts";
import { worsenedWords } from "../governance/rules/kpi_words.ts";
import type { Entry } from "./entries.ts";
import { type Follower, type Following, MOST_A_STEP } from "./follower.ts";
import { addRow, type Notice } from "./growth_row.ts";
import type { Ring } from "./ring.ts";

interface State {
  rows: Ring;
}

export const growth: Follower<State> = {
  name: "growth",
  collections: ["growth_rows", "growth_rows_kinds"],
  start: { rows: { seq: 0, count: 0 } },
  follow(on, entry, step) {
    const told = toldBy(on, entry);
    if (told instanceof Promise || told.length > 0) return tell(on, entry, step, told);
  },
};

async function tell(
  on: Following<State>,
  entry: Entry,
  step: string,
  told: Told[] | Promise<Told[]>,
): Promise<string | void> {
  const rows = await told;
  for (let index = Number(step); index < rows.length; index++) {
    if (!on.room(MOST_A_STEP)) return String(index);
    const place = { position: entry.id, tick: await on.tickAt(entry.id) };
    const notice = { at: entry.timestamp, ref: entry.change_id || null, ...rows[index]! };
    on.state = { rows: await addRow(on.tx, "growth_rows", on.state.rows, place, notice) };
  }
}

/** The state in which a failed operation left the host, in a sentence. */
const HOST_WORDS: Readonly<Record<string, string>> = {
  applied: "The host holds the change.",
  rolled_back: "The host holds what it held before.",
  absent: "The host holds nothing of the change.",
  unknown: "The host did not say what it holds.",
};

type Told = Omit<Notice, "at">;

function toldBy(on: Following<State>, entry: Entry): Told[] | Promise<Told[]> {
  const { event_type, change_id: id, facts } = entry;
  switch (event_type) {
    case "consent_decision":
      if (facts.review_hours !== undefined)
        return [{ kind: "emergency", title: `${id} was approved in an emergency`, detail: facts.note ?? "" }];
      if (facts.decision === "lapsed")
        return [{ kind: "change_lapsed", title: `${id} lapsed without an apply`, detail: facts.note ?? "" }];
      if (facts.decision !== "expired") return [];
      return [{ kind: "change_expired", title: `${id} expired without consent`, detail: facts.note ?? "" }];
    case "change_rolled_back": {
      const guarded = facts.by === POLICY_GUARDRAIL;
      const detail = guarded
        ? "A guardrail of the intent ordered it."
        : `Requested by ${facts.actor ?? "a caller who gave no name"}.`;
      return [{ kind: "rolled_back", title: `${id} was rolled back`, detail }];
    }
    case "change_apply_failed":
    case "change_rollback_failed": {
      const operation = event_type === "change_apply_failed" ? "apply" : "rollback";
      const title = `${operation} of ${id} failed in ${facts.stage}`;
      return [{ kind: "operation_failed", title, detail: HOST_WORDS[facts.host ?? ""] ?? HOST_WORDS.unknown! }];
    }
    case "change_drifted": {
      return on
        .change(id)
        .then(({ target }) => [
          { kind: "drift", title: `The host no longer shows ${id}`, detail: `${target} is ${facts.state}.` },
        ]);
    }
    case "emergency_reviewed": {
      const found = facts.verdict === "accepted" ? "accepted" : "not accepted";
      return [{ kind: "emergency", title: `The emergency of ${id} was ${found}`, detail: facts.note ?? "" }];
    }
    case "note_added":
      return [
        { kind: "late_note", title: `${facts.actor} added a late ${facts.item} to ${id}`, detail: facts.note ?? "" },
      ];
    case "service_frozen": {
      const until = facts.until ? ` until ${facts.until}` : "";
      return [{ kind: "freeze", title: `${facts.actor} froze the service${until}`, detail: facts.note ?? "" }];
    }
    case "service_unfrozen":
      return [{ kind: "freeze", title: `${facts.actor} lifted the freeze`, detail: facts.note ?? "" }];
    case "clock_accepted":
      return [
        {
          kind: "clock",
          title: `${facts.actor} accepted the clock as it is`,
          detail: facts.note || `Entries before it are dated up to ${facts.last}.`,
        },
      ];
    case "loss_accepted":
      return [
        { kind: "loss", title: `${facts.actor} accepted that the log lost its end`, detail: facts.message ?? "" },
      ];
    case "proposal_refused":
      return [refused(facts)];
    case "kpi_refreshed":
      return (facts.tripped ?? []).map(({ change_id, kpi, baseline, value, action }) => ({
        kind: "guardrail",
        title: `${kpi} ${worsenedWords(baseline, value)} after ${change_id}`,
        detail:
          action === "rollback" ? "The intent orders its rollback in the next cycle." : "The intent orders an alert.",
        ref: change_id,
      }));
    default:
      return [];
  }
}

function refused({ target, proposer, code, count, day }: Entry["facts"]): Told {
  const kind = "proposal_refused";
  if (count !== undefined)
    return {
      kind,
      title: `${count} more proposals were refused on ${day}`,
      detail: "They have no entries of their own.",
    };
  const who = proposer?.startsWith("llm:") ? "A model's draft" : "A proposal";
  const why =
    code === "forbidden_target"
      ? `${target} is under the intent's forbidden_targets; it cannot be changed through this service`
      : (code ?? "");
  return { kind, title: `${who} on ${target} was refused`, detail: why };
}

/** Badges of statuses, and names in words. */
import type { Change, Status, OutcomeVerdict } from "../core/api_types.ts";

/** Shape of an icon, since colour is never the only difference. */
export type Shape = "ring" | "quarter" | "half" | "full" | "back" | "cross" | "check" | "bang" | "dash";
export type Tone = "quiet" | "wait" | "good" | "bad" | "warn";

/** A word with its shape and tone. */
export interface Badge {
  word: string;
  shape: Shape;
  tone: Tone;
}

const STATUS: Readonly<Record<Status, Badge>> = {
  proposed: { word: "Proposed", shape: "ring", tone: "wait" },
  pending_consent: { word: "Waits for consent", shape: "quarter", tone: "wait" },
  approved: { word: "Approved, not applied", shape: "half", tone: "wait" },
  applied: { word: "Applied", shape: "full", tone: "good" },
  rolled_back: { word: "Rolled back", shape: "back", tone: "warn" },
  denied: { word: "Denied", shape: "cross", tone: "quiet" },
};

const RESOLUTION = {
  denied: "Denied",
  withdrawn: "Withdrawn",
  expired: "Expired",
  revoked: "Consent taken back",
  lapsed: "Lapsed", // approved, and not applied in time
} as const;

/** The badge of a change; an applied one with drift has its own. */
export function statusBadge(change: Pick<Change, "status" | "resolution"> & { drift?: unknown }): Badge {
  const { status, resolution, drift } = change;
  if (status === "applied" && drift) return DRIFTED;
  return resolution ? { ...STATUS.denied, word: RESOLUTION[resolution] } : STATUS[status];
}

/** The current value differs from the applied one. */
const DRIFTED: Badge = { word: "Changed outside Countersign", shape: "bang", tone: "bad" };

/** An emergency consent waits for its review. */
export const REVIEW_DUE: Badge = { word: "Review due", shape: "bang", tone: "warn" };

export const VERDICT: Readonly<Record<OutcomeVerdict, Badge>> = {
  met: { word: "Met", shape: "check", tone: "good" },
  missed: { word: "Missed", shape: "half", tone: "warn" },
  regressed: { word: "Regressed", shape: "bang", tone: "bad" },
  inconclusive: { word: "Inconclusive", shape: "dash", tone: "quiet" },
  too_early: { word: "Too early", shape: "quarter", tone: "quiet" },
};

/** Returns an id in words: of a field, an event, a projection (`follow_waiting`) or a target system (`target:flags`). */
export const humanizeName = (name: string): string =>
  name
    .replace(/^follow_/, "projection ")
    .replace(/^target:/, "target system ")
    .replaceAll("_", " ")
    .replace(/\b(?:nrr|csat|kpis?)\b/g, (word) => ABBREVIATIONS[word] ?? word);

const ABBREVIATIONS: Readonly<Record<string, string>> = { nrr: "NRR", csat: "CSAT", kpi: "KPI", kpis: "KPIs" };

/** Returns a sentence of the service with names such as `nrr_quarterly` as words. */
export const humanizeSentence = (sentence: string): string =>
  sentence.replace(/\b[a-z0-9]+(?:_[a-z0-9]+)+\b/g, humanizeName);

export const formatTitle = (name: string): string => {
  const words = humanizeName(name);
  return SPECIAL_TITLES[words] ?? words.charAt(0).toUpperCase() + words.slice(1);
};

const SPECIAL_TITLES: Readonly<Record<string, string>> = { ui: "Console", llm: "Language model", mcp: "MCP" };

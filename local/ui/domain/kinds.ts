/** Kinds of changes, and their values as text. */
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import type { Kind } from "../core/api_types.ts";
import { formatJson } from "../core/format.ts";
import { findJsonFault } from "./json_fault.ts";
import { isPatch } from "./text_diff.ts";

/** Texts of the proposal form for each kind. */
export const KINDS: Readonly<Record<Kind, { meaning: string; target: string; hint: string }>> = {
  config: {
    meaning: "Sets a setting of the product.",
    target: "limits.uploads",
    hint: 'Any JSON: 25, "text", {"max": 25}. Left empty, the change sets nothing.',
  },
  feature_flag: {
    meaning: "Switches a feature on or off.",
    target: "ui.new_banner",
    hint: "What the flag becomes: true or false.",
  },
  workflow: {
    meaning: "Changes how a process runs.",
    target: "support.triage",
    hint: 'The workflow\'s settings as JSON, for example {"enabled": true, "after_days": 3}.',
  },
  code_patch: {
    meaning: "Changes the product's code.",
    target: "pricing/rounding",
    hint: "The patch as text. It is sent to the adapter unchanged, and never run here.",
  },
  experiment: {
    meaning: "Tries something on a part of the users.",
    target: "onboarding.short_form",
    hint: 'Shares in percent: {"variants": {"control": 80, "treatment": 20}}.',
  },
};

/** Formats a value for editing: JSON, or the text of a patch; "" for undefined. */
export function formatValue(kind: Kind, value: unknown): string {
  if (value === undefined) return "";
  // The text of a patch is shown only if it would be read as the same value: a patch may be valid JSON.
  const text = kind === "code_patch" && isPatch(value) ? value.patch : formatJson(value);
  const { json } = parseValue(kind, text);
  return json !== undefined && canonicalJson(JSON.parse(json)) === canonicalJson(value) ? text : formatJson(value);
}

/** Returns true for a flag's value that a choice of on and off can show. */
export const isSwitchValue = (kind: Kind, text: string): boolean =>
  kind === "feature_flag" && ["", "true", "false"].includes(text);

/** Describes a value in a few words: a flag is on or off, anything else is JSON. */
export const describeValue = (kind: Kind, value: unknown): string =>
  kind === "feature_flag" && typeof value === "boolean" ? (value ? "on" : "off") : JSON.stringify(value);

/** Parses a typed value: its JSON text, undefined if none is typed; `fault` explains invalid text. */
export function parseValue(kind: Kind, text: string): { json: string | undefined; fault?: string } {
  if (text.trim() === "") return { json: undefined };
  try {
    JSON.parse(text);
    return { json: text };
  } catch {
    if (kind === "code_patch") return { json: JSON.stringify({ patch: text }) };
    return { json: undefined, fault: findJsonFault(text) ?? "This is not JSON." };
  }
}

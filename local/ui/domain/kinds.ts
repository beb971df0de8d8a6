/** The kinds of change: what each is for, and what its value looks like. */
import { canonicalJson } from "../../../lib/kit/canonical_json.ts";
import type { Kind } from "../core/api_types.ts";
import { pretty } from "../core/format.ts";
import { findJsonFault } from "./json_fault.ts";

/** How the value of a kind is given. */
export type ValueForm = "json" | "switch" | "patch" | "split";

/** A kind for people who propose. */
export interface KindOf {
  title: string;
  meaning: string;
  target: string;
  value: ValueForm;
  hint: string;
}

export const KINDS: Readonly<Record<Kind, KindOf>> = {
  config: {
    title: "Config",
    meaning: "Sets a setting of the product.",
    target: "limits.uploads",
    value: "json",
    hint: 'Any JSON: 25, "text", {"max": 25}. Left empty, the change sets nothing.',
  },
  feature_flag: {
    title: "Feature flag",
    meaning: "Switches a feature on or off.",
    target: "ui.new_banner",
    value: "switch",
    hint: "What the flag becomes.",
  },
  workflow: {
    title: "Workflow",
    meaning: "Changes how a process runs.",
    target: "support.triage",
    value: "json",
    hint: 'The workflow\'s settings as JSON, for example {"enabled": true, "after_days": 3}.',
  },
  code_patch: {
    title: "Code patch",
    meaning: "Changes the product's code.",
    target: "pricing/rounding",
    value: "patch",
    hint: "The patch as text. It is carried to the adapter as it is, and never run here.",
  },
  experiment: {
    title: "Experiment",
    meaning: "Tries something on a part of the users.",
    target: "onboarding.short_form",
    value: "split",
    hint: "The share of users who get the new variant.",
  },
};

/** What was typed for the value. */
export interface ValueDraft {
  text: string;
  enabled: "on" | "off" | "";
  percent: string;
  /** A value that its kind has no field for: it is typed as JSON. */
  as_json?: true;
}

/** Nothing typed yet. */
export const EMPTY_VALUE: ValueDraft = { text: "", enabled: "", percent: "" };

/** How the value of a draft is given. */
export const formOf = (kind: Kind, { as_json }: ValueDraft): ValueForm => (as_json ? "json" : KINDS[kind].value);

/** What would have to be typed for a value; undefined is none. */
export function valueDraftOf(form: ValueForm, given: unknown): ValueDraft {
  if (given === undefined) return EMPTY_VALUE;
  const { patch, variants } = (given ?? {}) as { patch?: unknown; variants?: { treatment?: unknown } };
  const typed: ValueDraft = {
    text: form === "patch" && typeof patch === "string" ? patch : pretty(given),
    enabled: given === true ? "on" : given === false ? "off" : "",
    percent: String(variants?.treatment ?? ""),
  };
  const { json } = valueOf(form, typed);
  const isSame = json !== undefined && canonicalJson(JSON.parse(json)) === canonicalJson(given);
  return isSame ? typed : { ...EMPTY_VALUE, text: pretty(given), as_json: true };
}

/** The value as JSON text, `undefined` where none is given; `fault` says what is wrong with it. */
export function valueOf(form: ValueForm, draft: ValueDraft): { json: string | undefined; fault?: string } {
  switch (form) {
    case "switch":
      return { json: draft.enabled === "" ? undefined : String(draft.enabled === "on") };
    case "patch":
      return { json: draft.text === "" ? undefined : JSON.stringify({ patch: draft.text }) };
    case "split": {
      if (draft.percent.trim() === "") return { json: undefined };
      const percent = Number(draft.percent);
      if (!(percent > 0 && percent <= 100)) return { json: undefined, fault: "must be above 0 and at most 100" };
      return { json: JSON.stringify({ variants: { control: 100 - percent, treatment: percent } }) };
    }
    case "json":
      if (draft.text.trim() === "") return { json: undefined };
      try {
        JSON.parse(draft.text);
        return { json: draft.text };
      } catch {
        return { json: undefined, fault: findJsonFault(draft.text) ?? "This is not JSON." };
      }
  }
}

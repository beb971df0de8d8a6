/** The file that holds the product intent. */
import { readFile } from "node:fs/promises";
import { findContradictions } from "../lib/changes/rules/contradictions.ts";
import { loadIntent } from "../lib/changes/rules/intent.ts";
import { describeRules } from "../lib/changes/rules/describe_rules.ts";
import { about } from "./about.ts";
import { sha256 } from "./node_ports.ts";
import type { Environment } from "./secrets.ts";

/** The text of an intent that may come into force. Errors: a sentence that names the option, the file and the rule. */
export const readIntent = async (path: string): Promise<string> =>
  (await loadIntentFile(path, `--product-intent ${path}`)).text;

/** Loads an intent from a file, with the text of that. Errors: a sentence that begins with `subject` and names the rule. */
export const loadIntentFile = (path: string, subject: string) =>
  about(
    subject,
    readFile(path, "utf8").then((text) => ({ text, ...loadIntent(text, sha256) })),
  );

/** The report of a check. */
export interface Checked {
  /** The rules, and what came of the scenarios, for people. */
  text: string;
  passed: boolean;
}

/** Against what an intent is checked. */
export interface CheckOptions {
  /** A file of scenarios to play under it. */
  scenarios?: string | undefined;
  /** A store: its scheduled changes and running rollouts may lack a consent under the intent. */
  state?: string | undefined;
  storeName?: string | undefined;
}

/** Checks an intent that may come into force. Errors: as `readIntent`, also of the scenarios' file and of the store. */
export async function checkIntent(
  path: string,
  { scenarios, state, storeName: given }: CheckOptions = {},
  env: Environment = {},
): Promise<Checked> {
  const { intent, manifest, manifest_hash } = await loadIntentFile(path, `--check-intent ${path}`);
  const { product_id, version, update_epoch, approved_by } = intent;
  const lines = [
    `${product_id} ${version}, epoch ${update_epoch}, approved by ${approved_by}`,
    `manifest_hash ${manifest_hash}`,
    ...describeRules(intent).map((rule) => `- ${rule}`),
    ...findContradictions(intent).map((contradiction) => `! ${contradiction}`),
  ];
  if (state !== undefined) {
    // A start checks nothing of the kind.
    const { listLacking } = await import("./check_store.ts");
    const lacking = await about("--state", listLacking(intent, state, { given }, env));
    lines.push(
      ...lacking.map(({ change_id, reason }) => `! ${change_id} lacks a consent under this intent: ${reason}`),
    );
  }
  if (scenarios === undefined) return { text: `${lines.join("\n")}\n`, passed: true };
  // Only a check plays scenarios, so no start loads what they need.
  const { testIntent } = await import("./scenarios/test_intent.ts");
  const { text, passed } = await about(`--scenarios ${scenarios}`, testIntent(manifest, scenarios));
  return { text: `${lines.join("\n")}\n\n${text}\n`, passed };
}

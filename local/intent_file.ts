/** Reads and checks the file of the product intent. */
import { readFile } from "node:fs/promises";
import { findContradictions } from "../lib/changes/rules/contradictions.ts";
import { loadIntent } from "../lib/changes/rules/intent.ts";
import { describeRules } from "../lib/changes/rules/describe_rules.ts";
import { prefixErrors } from "./prefix_errors.ts";
import { sha256 } from "./node_ports.ts";
import type { Environment } from "./secrets.ts";

/** Reads the text of a valid intent. Errors: a sentence that names the option, the file and the rule. */
export const readIntent = async (path: string): Promise<string> =>
  (await loadIntentFile(path, `--product-intent ${path}`)).text;

/** Loads an intent and its text from a file. Errors: a sentence that begins with `subject` and names the rule. */
export const loadIntentFile = (path: string, subject: string) =>
  prefixErrors(
    subject,
    readFile(path, "utf8").then((text) => ({ text, ...loadIntent(text, sha256) })),
  );

/** Result of checking an intent. */
export interface IntentCheckResult {
  /** The rules, and the results of the scenarios, for people. */
  text: string;
  passed: boolean;
}

/** Data that an intent is checked with. */
export interface CheckOptions {
  /** A file of scenarios to play under the intent. */
  scenarios?: string | undefined;
  /** A store whose scheduled changes and running rollouts may lack a consent under the intent. */
  state?: string | undefined;
  storeName?: string | undefined;
}

/** Checks an intent before it comes into force. Errors: as `readIntent`, also for the scenarios' file and the store. */
export async function checkIntent(
  path: string,
  { scenarios, state, storeName }: CheckOptions = {},
  env: Environment = {},
): Promise<IntentCheckResult> {
  const { intent, manifest, manifest_hash } = await loadIntentFile(path, `--check-intent ${path}`);
  const { product_id, version, update_epoch, approved_by } = intent;
  const lines = [
    `${product_id} ${version}, epoch ${update_epoch}, approved by ${approved_by}`,
    `manifest_hash ${manifest_hash}`,
    ...describeRules(intent).map((rule) => `- ${rule}`),
    ...findContradictions(intent, Date.now()).map((contradiction) => `! ${contradiction}`),
  ];
  if (state !== undefined) {
    // Imported only when needed, since a start does not check a store.
    const { listUnconsentedInStore } = await import("./check_store.ts");
    const unconsented = await prefixErrors(
      "--state",
      listUnconsentedInStore(intent, state, { fromOption: storeName }, env),
    );
    lines.push(
      ...unconsented.map(({ change_id, reason }) => `! ${change_id} lacks a consent under this intent: ${reason}`),
    );
  }
  if (scenarios === undefined) return { text: `${lines.join("\n")}\n`, passed: true };
  // Imported only when needed, since a start plays no scenarios.
  const { testIntent } = await import("./scenarios/test_intent.ts");
  const { text, passed } = await prefixErrors(`--scenarios ${scenarios}`, testIntent(manifest, scenarios));
  return { text: `${lines.join("\n")}\n\n${text}\n`, passed };
}

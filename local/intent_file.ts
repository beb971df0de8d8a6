/** The file that holds the product intent. */
import { readFile } from "node:fs/promises";
import { contradictionsIn } from "../lib/changes/rules/contradictions.ts";
import { loadIntent } from "../lib/changes/rules/intent.ts";
import { rulesInForce } from "../lib/changes/rules/rules_in_force.ts";
import { about } from "./about.ts";
import { sha256 } from "./node_ports.ts";

/** The text of an intent that may come into force. Errors: a sentence that names the option, the file and the rule. */
export const readIntent = async (path: string): Promise<string> => (await loaded(path, "--product-intent")).text;

const loaded = (path: string, option: string) =>
  about(
    `${option} ${path}`,
    readFile(path, "utf8").then((text) => ({ text, ...loadIntent(text, sha256) })),
  );

/** What an intent would bring into force, for people. Errors: as `readIntent`. */
export async function checkIntent(path: string): Promise<string> {
  const { intent, manifest_hash } = await loaded(path, "--check-intent");
  const { product_id, version, update_epoch, approved_by } = intent;
  const lines = [
    `${product_id} ${version}, epoch ${update_epoch}, approved by ${approved_by}`,
    `manifest_hash ${manifest_hash}`,
    ...rulesInForce(intent).map((rule) => `- ${rule}`),
    ...contradictionsIn(intent).map((contradiction) => `! ${contradiction}`),
  ];
  return `${lines.join("\n")}\n`;
}

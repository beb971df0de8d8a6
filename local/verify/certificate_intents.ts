/** Reads the intents of a certificate, and matches them with the decisions that name them. */
import { hash as computeHash } from "node:crypto";
import { readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { type Intent, parseIntent } from "./intent.ts";
import { type JsonObject, parseObject } from "./json.ts";
import { type AddFinding, findRequiredSigner } from "./change_life.ts";

/** Reads intents; `hashes` are those of all texts that are JSON objects, also of intents that no service would load. */
export function readIntents(
  texts: readonly string[],
  addFinding: AddFinding,
): { intents: Map<string, Intent>; hashes: Set<string> } {
  const intents = new Map<string, Intent>();
  const hashes = new Set<string>();
  for (const text of texts) {
    const manifest = parseObject(text);
    if (!manifest) {
      addFinding(null, "intent", "an intent in this file is not a JSON object");
      continue;
    }
    const hash = computeHash("sha256", text, "hex");
    hashes.add(hash);
    try {
      intents.set(hash, parseIntent(manifest));
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      addFinding(
        null,
        "intent",
        `the service would not load the intent ${hash} in this file: its ${error.message} is not valid`,
      );
    }
  }
  return { intents, hashes };
}

/** Requires that decisions name each intent in the file, and, if `accepted` is not empty, that they name only accepted ones. */
export function requireNamedIntents(
  life: readonly RecordedEntry[],
  intents: ReadonlySet<string>,
  accepted: readonly string[],
  addFinding: AddFinding,
): void {
  const namedHashes = new Set(life.map(({ detail }) => readManifestHash(detail)));
  for (const manifest of intents)
    if (!namedHashes.has(manifest))
      addFinding(null, "intent", `no decision was made under the intent ${manifest} in this file`);
  if (accepted.length === 0) return;
  for (const { entry, detail } of life)
    if (!accepted.includes(readManifestHash(detail)))
      addFinding(
        entry.id,
        "intent",
        `it was decided under the intent ${readManifestHash(detail)}, which is not accepted`,
      );
}

/**
 * Lists the hashes of intents that are needed to check decisions and are not available. The proposal of a minor change is such a
 * decision, since the intent consents to it.
 */
export function listMissingIntents(
  life: readonly RecordedEntry[],
  intents: ReadonlySet<string>,
  { tier }: JsonObject,
): string[] {
  const needed = life.filter(
    (step) =>
      findRequiredSigner(step) ||
      step.detail["proof"] !== undefined ||
      step.entry.eventType === "change_applied" ||
      (step.entry.eventType === "change_proposed" && tier === "minor"),
  );
  const namedHashes = new Set(needed.map(({ detail }) => readManifestHash(detail)));
  return [...namedHashes].filter((manifest) => !intents.has(manifest));
}

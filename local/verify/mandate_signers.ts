/** Checks the signatures of a mandate: it needs the quorum of major changes, and owners of each target that it covers. */
import { readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import { type Intent, toLowerAscii, canDecide, type OwnerRule } from "./intent.ts";
import { stringOrUndefined, type JsonObject } from "./json.ts";
import { type Key, normalizeName } from "./policy.ts";

/** Intents by hash, and the ids of signing keys by entry id. */
export interface SigningEvidence {
  intents: ReadonlyMap<string, Intent>;
  signed: ReadonlyMap<number, string>;
}

/** Explains which signatures are missing under an intent; undefined where none is. */
export function findMissingSignatures(
  entries: readonly RecordedEntry[],
  bounds: JsonObject,
  intent: Intent,
  { signed }: SigningEvidence,
): string | undefined {
  const names = new Set(
    entries
      .filter((one) => isSigner(one, bounds, intent) && isSignedBy(one, intent, signed, isAttended))
      .map(({ detail }) => approverName(detail)),
  );
  const { major } = intent.required;
  const signerCount = [...names].filter((name) => canDecide(name, intent)).length;
  if (signerCount < major) return `its mandate has ${signerCount} of ${major} signatures`;
  for (const { approvers, required, targets } of listOwnerRules(bounds, intent)) {
    const ownerCount = new Set(approvers.filter((name) => names.has(name))).size;
    if (ownerCount < required)
      return `its mandate has ${ownerCount} of ${required} signatures of the owners of ${targets.join(", ")}`;
  }
  return undefined;
}

/** Checks that an entry was signed, with any key, by a person who may sign the mandate under the intent that the entry names. */
export function isSignedByMandateSigner(
  one: RecordedEntry,
  bounds: JsonObject,
  { intents, signed }: SigningEvidence,
): boolean {
  if (one.detail["proof"] === undefined) return false;
  const intent = intents.get(readManifestHash(one.detail));
  // An intent that is not in the file cannot be checked; the verdict is then only `consistent`.
  return !intent || (isSigner(one, bounds, intent) && isSignedBy(one, intent, signed, () => true));
}

const approverName = (detail: JsonObject): string => normalizeName(stringOrUndefined(detail["approver"]) ?? "");

function isSigner({ detail }: RecordedEntry, bounds: JsonObject, intent: Intent): boolean {
  const name = approverName(detail);
  const { idp } = detail;
  const isOwner = listOwnerRules(bounds, intent).some(({ approvers }) => approvers.includes(name));
  const groups = intent.idpGroups.get(name) ?? [];
  return (isOwner || canDecide(name, intent)) && groups.every((group) => Array.isArray(idp) && idp.includes(group));
}

const isSignedBy = (
  { entry, detail }: RecordedEntry,
  intent: Intent,
  signed: SigningEvidence["signed"],
  isCounted: (key: Key) => boolean,
): boolean =>
  (intent.keys.get(approverName(detail)) ?? []).some((key) => key.id === signed.get(entry.id) && isCounted(key));

/**
 * Checks that a key signs only when its owner touches it: a passkey, or an SSH key in a security key, whose type begins with `sk-`
 * after the four bytes of its length.
 */
const isAttended = (key: Key): boolean =>
  key.type === "webauthn" || key.public_key.subarray(4, 7).toString("latin1") === "sk-";

/** Lists the owner rules that overlap with the targets and tenants of a mandate. */
function listOwnerRules({ targets, tenants }: JsonObject, { ownerRules }: Intent): OwnerRule[] {
  const patterns = Array.isArray(targets) ? targets.flatMap((one) => stringOrUndefined(one) ?? []) : [];
  const coversTenant = (tenant: string): boolean =>
    tenants === "all" || (Array.isArray(tenants) && tenants.includes(tenant));
  return ownerRules.filter(
    (rule) =>
      patterns.some((pattern) => rule.targets.some((other) => overlaps(pattern, other))) &&
      (!rule.tenants || rule.tenants.some(coversTenant)),
  );
}

/** Checks that some target matches both patterns: dynamic programming over their suffixes. */
function overlaps(one: string, other: string): boolean {
  const [text, otherText] = [toLowerAscii(one), toLowerAscii(other)];
  // Offsets of the suffixes of `other` that overlap with the suffix of `one` that begins a letter later than the current one.
  let nextRow = new Set<number>();
  for (let rowAt = text.length; rowAt >= 0; rowAt--) {
    const row = new Set<number>();
    for (let at = otherText.length; at >= 0; at--) {
      // Undefined at the end of a pattern: two empty suffixes overlap.
      const [letter, otherLetter] = [text[rowAt], otherText[at]];
      const isOverlap =
        letter === "*" || otherLetter === "*"
          ? nextRow.has(at) || row.has(at + 1)
          : letter === otherLetter && (letter === undefined || nextRow.has(at + 1));
      if (isOverlap) row.add(at);
    }
    nextRow = row;
  }
  return nextRow.has(0);
}

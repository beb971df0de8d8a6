/** Whose signatures a mandate needs: the quorum of major changes, and the owners of each target that it covers. */
import { readManifestHash, type RecordedEntry } from "./detail.ts";
import { type Intent, lower, mayDecide, type OwnerRule } from "./intent.ts";
import { asText, type Detail } from "./json.ts";
import { type Key, sameName } from "./policy.ts";

/** Keys that signed, by entry, and intents by hash. */
export interface SigningGrounds {
  intents: ReadonlyMap<string, Intent>;
  signed: ReadonlyMap<number, string>;
}

/** Explains which signatures are missing; undefined where they suffice under an intent. */
export function whyUnsigned(
  entries: readonly RecordedEntry[],
  bounds: Detail,
  intent: Intent,
  { signed }: SigningGrounds,
): string | undefined {
  const names = new Set(
    entries
      .filter((one) => isSigner(one, bounds, intent) && isSignedBy(one, intent, signed, isAttended))
      .map(({ detail }) => nameIn(detail)),
  );
  const { major } = intent.required;
  const given = [...names].filter((name) => mayDecide(name, intent)).length;
  if (given < major) return `its mandate has ${given} of ${major} signatures`;
  for (const { approvers, required, targets } of ownersOf(bounds, intent)) {
    const own = new Set(approvers.filter((name) => names.has(name))).size;
    if (own < required)
      return `its mandate has ${own} of ${required} signatures of the owners of ${targets.join(", ")}`;
  }
  return undefined;
}

/** Checks that one who may sign a mandate signed an entry about it, by the intent that the entry names, with any key. */
export function isBrake(one: RecordedEntry, bounds: Detail, { intents, signed }: SigningGrounds): boolean {
  if (one.detail["proof"] === undefined) return false;
  const intent = intents.get(readManifestHash(one.detail));
  return !intent || (isSigner(one, bounds, intent) && isSignedBy(one, intent, signed, () => true));
}

const nameIn = (detail: Detail): string => sameName(asText(detail["approver"]) ?? "");

function isSigner({ detail }: RecordedEntry, bounds: Detail, intent: Intent): boolean {
  const [name, { idp }] = [nameIn(detail), detail];
  const isOwner = ownersOf(bounds, intent).some(({ approvers }) => approvers.includes(name));
  const groups = intent.idp.get(name) ?? [];
  return (isOwner || mayDecide(name, intent)) && groups.every((group) => Array.isArray(idp) && idp.includes(group));
}

const isSignedBy = (
  { entry, detail }: RecordedEntry,
  intent: Intent,
  signed: SigningGrounds["signed"],
  counts: (key: Key) => boolean,
): boolean => (intent.keys.get(nameIn(detail)) ?? []).some((key) => key.id === signed.get(entry.id) && counts(key));

/** Checks that a key signs only with a touch: a passkey, or an SSH key of a security key. */
const isAttended = (key: Key): boolean =>
  key.type === "webauthn" || key.public_key.subarray(4, 7).toString("latin1") === "sk-";

/** Lists the rules whose owners must sign. */
function ownersOf({ targets, tenants }: Detail, { owned }: Intent): OwnerRule[] {
  const patterns = Array.isArray(targets) ? targets.flatMap((one) => asText(one) ?? []) : [];
  const isOf = (tenant: string): boolean => tenants === "all" || (Array.isArray(tenants) && tenants.includes(tenant));
  return owned.filter(
    (rule) =>
      patterns.some((pattern) => rule.targets.some((other) => overlaps(pattern, other))) &&
      (!rule.tenants || rule.tenants.some(isOf)),
  );
}

/** Checks that some target matches both patterns, from the ends of both to their beginnings. */
function overlaps(one: string, other: string): boolean {
  const [a, b] = [lower(one), lower(other)];
  let behind: boolean[] = [];
  for (let at = a.length; at >= 0; at--) {
    const row: boolean[] = [];
    for (let to = b.length; to >= 0; to--) {
      const [mine, its] = [a[at], b[to]];
      if (mine === undefined && its === undefined) row[to] = true;
      else if (mine === "*" || its === "*") row[to] = (behind[to] ?? false) || (row[to + 1] ?? false);
      else row[to] = mine !== undefined && mine === its && (behind[to + 1] ?? false);
    }
    behind = row;
  }
  return behind[0] ?? false;
}

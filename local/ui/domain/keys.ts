/** Keys of a person, and the passkeys that this page can use. */
import { isKeyOrigin } from "../../../lib/changes/rules/key_material.ts";
import { normalizeName } from "../../../lib/changes/rules/names.ts";
import type { IntentView, ShownKey, ShownKeys } from "../core/api_types.ts";

/** Lists the keys of a person in the intent; none if the service hides keys. */
export function listShownKeys(name: string, keys: ShownKeys | undefined): readonly ShownKey[] {
  const own = normalizeName(name);
  return keys !== undefined && Object.hasOwn(keys, own) ? keys[own]! : [];
}

/** Actions that are signed only if the intent restricts who may do them. */
const SIGNED_WHERE_LISTED = ["apply", "rollback", "feed_kpis"] as const;

/** Returns true if the service requires a signature of this person, or may require one since it hides its rules. */
export function isSigned(decision: string, name: string, intent: IntentView | undefined): boolean {
  if (listShownKeys(name, intent?.keys).length === 0) return false;
  const action = SIGNED_WHERE_LISTED.find((listed) => listed === decision);
  return action === undefined || !intent?.policy || intent.policy.permissions?.[action] !== undefined;
}

/** Returns a name as the service records it and as it appears in a statement. */
export const toRecordedName = (name: string): string => name.normalize("NFKC").trim();

/** A passkey with the ids that a browser needs to request it. */
export type Passkey = ShownKey & { type: "webauthn"; credential_id: string; rp_id: string };

export const isPasskey = (key: ShownKey): key is Passkey => key.type === "webauthn";

/** Lists the passkeys that work at this address, of one relying party, since a browser requests no others together. */
export function listUsablePasskeys(keys: readonly ShownKey[], origin: string): readonly Passkey[] {
  const usable = keys.filter(isPasskey).filter((key) => isKeyOrigin(origin, key));
  return usable.filter(({ rp_id }) => rp_id === usable[0]!.rp_id);
}

/** Lists this page's addresses under the origins at which a person's passkeys work. */
export function listPasskeyUrls(keys: readonly ShownKey[], at: Pick<Location, "port" | "pathname" | "hash">): string[] {
  const port = at.port === "" ? "" : `:${at.port}`;
  const origins = keys
    .filter(isPasskey)
    .flatMap((key) => key.origins ?? [key.rp_id === "localhost" ? `http://localhost${port}` : `https://${key.rp_id}`]);
  return [...new Set(origins)].map((origin) => `${origin}${at.pathname}${at.hash}`);
}

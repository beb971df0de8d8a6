/** Keys of a person, and a check that this page may ask for them. */
import { isKeyOrigin } from "../../../lib/changes/rules/key_material.ts";
import { normalizeName } from "../../../lib/changes/rules/names.ts";
import type { IntentView, ShownKey, ShownKeys } from "../core/api_types.ts";

/** The keys that the intent lists under a name; none where the service says nothing of keys. */
export function listShownKeys(name: string, keys: ShownKeys | undefined): readonly ShownKey[] {
  const own = normalizeName(name);
  return keys !== undefined && Object.hasOwn(keys, own) ? keys[own]! : [];
}

/** Actions that a person with keys signs only where the intent lists who may do them. */
const SIGNED_WHERE_LISTED = ["apply", "rollback", "feed_kpis"] as const;

/** Returns true where the service asks this person for a signature; where it hides its rules, it may. */
export function isSigned(decision: string, name: string, intent: IntentView | undefined): boolean {
  if (listShownKeys(name, intent?.keys).length === 0) return false;
  const action = SIGNED_WHERE_LISTED.find((one) => one === decision);
  return action === undefined || !intent?.policy || intent.policy.permissions?.[action] !== undefined;
}

/** A name as the service writes it, and so as it stands in a statement. */
export const toRecordedName = (name: string): string => name.normalize("NFKC").trim();

/** A passkey, and what a browser must know to ask for it. */
export type Passkey = ShownKey & { type: "webauthn"; credential_id: string; rp_id: string };

/** Returns whether a key is a passkey. */
export const isPasskey = (key: ShownKey): key is Passkey => key.type === "webauthn";

/** The passkeys that this page may ask for, all of one relying party, since a browser asks for one at a time. */
export function listUsablePasskeys(keys: readonly ShownKey[], origin: string): readonly Passkey[] {
  const here = keys.filter(isPasskey).filter((key) => isKeyOrigin(origin, key));
  return here.filter(({ rp_id }) => rp_id === here[0]!.rp_id);
}

/** Addresses at which a person's passkeys work: the same page under other origins. */
export function listPasskeyUrls(keys: readonly ShownKey[], at: Pick<Location, "port" | "pathname" | "hash">): string[] {
  const port = at.port === "" ? "" : `:${at.port}`;
  const origins = keys
    .filter(isPasskey)
    .flatMap((key) => key.origins ?? [key.rp_id === "localhost" ? `http://localhost${port}` : `https://${key.rp_id}`]);
  return [...new Set(origins)].map((origin) => `${origin}${at.pathname}${at.hash}`);
}

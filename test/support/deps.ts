import { countersign, type ServiceOptions } from "../../handlers/index.ts";
import type { Deps } from "../../lib/deps.ts";
import { readIdentityFile } from "../../lib/identity/identity_file.ts";
import { personTokenVerifier } from "../../lib/identity/person_token.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { type TestClock, testClock } from "./clock.ts";
import { countedIds } from "./ids.ts";
import { type Manifest, manifest } from "./intents.ts";
import { silentLog } from "./silent_log.ts";

/** Options of a test; the rest is real, with a clock that stands still, counted ids and a silent log. */
export interface TestOptions extends Omit<Partial<ServiceOptions>, "intent" | "clock"> {
  /** Members of the intent, `null` for a service without one. */
  intent?: Manifest | null | undefined;
  clock?: TestClock | undefined;
  /** The content of a file of `--identity-jwt`. */
  identityJwt?: string | undefined;
}

export type TestDeps = Deps & { clock: TestClock };

/** Everything a handler needs, of an opened service over the memory store. */
export async function opened({
  intent = {},
  clock = testClock(),
  identityJwt,
  ...given
}: TestOptions = {}): Promise<TestDeps> {
  const { store = memoryStore() } = given;
  const { deps } = await countersign({
    ids: countedIds(),
    log: silentLog,
    pause: async () => {},
    ...(identityJwt !== undefined && { identityToken: personTokenVerifier(readIdentityFile(identityJwt), { clock }) }),
    ...given,
    store,
    clock,
    intent: intent === null ? undefined : manifest({ ...(await nextEpoch(store, intent)), ...intent }),
  });
  return deps as TestDeps;
}

/** The `update_epoch` after that of the manifest in force, for one that differs from it. */
async function nextEpoch(store: Store, intent: Manifest): Promise<Manifest> {
  const inForce = await store.get("meta", "intent").catch(() => undefined);
  const text = inForce && (await store.get("manifests", inForce.value.manifest_hash))?.value;
  if (!text) return {};
  const { update_epoch } = JSON.parse(text) as { update_epoch: number };
  const isSame = canonicalJson(manifest({ update_epoch, ...intent })) === text;
  return { update_epoch: isSame ? update_epoch : update_epoch + 1 };
}

/**
 * Another process on the same store: nothing it knew is left but what was made durable. `over` is what it is started
 * with; an intent that differs from the one in force gets the next `update_epoch`, unless it has one itself.
 */
export function restarted(deps: TestDeps, over: TestOptions = {}): Promise<TestDeps> {
  const { store, clock, ids } = deps;
  return opened({ store, clock, ids, adapter: deps.product?.adapter, ...over });
}

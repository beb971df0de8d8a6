/** Opens services for tests, and opens them again as a restarted process does. */
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

/** Options of a service under test. By default it has a clock that the test moves, counted ids and a silent log. */
export interface TestOptions extends Omit<Partial<ServiceOptions>, "intent" | "clock"> {
  /** Fields of the intent, or `null` for a service without an intent. */
  intent?: Manifest | null | undefined;
  clock?: TestClock | undefined;
  /** The content of the file that `--identity-jwt` names. */
  identityJwt?: string | undefined;
}

export type TestDeps = Deps & { clock: TestClock };

/** Opens a service, on the memory store by default, and returns its dependencies. */
export async function openDeps({
  intent = {},
  clock = testClock(),
  identityJwt,
  ...options
}: TestOptions = {}): Promise<TestDeps> {
  const { store = memoryStore() } = options;
  const { deps } = await countersign({
    ids: countedIds(),
    log: silentLog,
    pause: async () => {},
    ...(identityJwt !== undefined && { identityToken: personTokenVerifier(readIdentityFile(identityJwt), { clock }) }),
    ...options,
    store,
    clock,
    intent: intent === null ? undefined : manifest({ ...(await nextEpoch(store, intent)), ...intent }),
  });
  return deps as TestDeps;
}

/** Returns the `update_epoch` for an intent: that of an equal manifest in force, otherwise the next; none before the first manifest. */
async function nextEpoch(store: Store, intent: Manifest): Promise<Manifest> {
  const inForce = await store.get("meta", "intent").catch(() => undefined);
  const text = inForce && (await store.get("manifests", inForce.value.manifest_hash))?.value;
  if (!text) return {};
  const { update_epoch } = JSON.parse(text) as { update_epoch: number };
  const isInForce = canonicalJson(manifest({ update_epoch, ...intent })) === text;
  return { update_epoch: isInForce ? update_epoch : update_epoch + 1 };
}

/**
 * Opens the service again on the same store, as a restarted process does: state in memory is lost. `options` replace those of
 * the first start; an intent that differs from the one in force gets the next `update_epoch` unless it sets one.
 */
export function restartDeps(deps: TestDeps, options: TestOptions = {}): Promise<TestDeps> {
  const { store, clock, ids } = deps;
  return openDeps({ store, clock, ids, adapter: deps.product?.adapter, ...options });
}

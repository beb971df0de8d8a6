/** The service inside one Durable Object. */
import { currentCheckpoint } from "../../audit/checkpoint.ts";
import { maintainCheckpoint } from "../../audit/anchor.ts";
import { fastestSha256, systemClock } from "../../kit/platform.ts";
import { createDeps, type Deps } from "../../deps.ts";
import type { Clock, Ids } from "../../kit/platform.ts";
import type { Handler } from "../../http/endpoint.ts";
import type { ProductAdapter } from "../../governance/adapters/port.ts";
import { openProduct } from "../../governance/open.ts";
import { createCommitSignal } from "../../kit/commit_signal.ts";
import { signalling } from "../../store/signalling.ts";
import { type CycleReport, runCycle } from "../../pulse/cycle.ts";
import { durableObjectStore, type ObjectStorage } from "../../store/durable_object.ts";
import { depsOf, readSettings } from "../settings.ts";
import { loadAuditKey } from "./audit_key.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { consoleLog } from "./log.ts";

/** What an entry hands to the host; the handlers lie above `lib`, so they are handed in too. */
export interface EdgeParts {
  /** One fetch over all endpoints. */
  app: (deps: Deps) => Handler;
  /** The endpoints, for their paths. */
  endpoints: readonly { path: string }[];
  /** Settings that are built in, such as a product intent beside the code; the environment wins. */
  settings?: Readonly<Record<string, string>>;
  /** Carries changes to the host product in place of the webhook adapter. */
  adapter?: ProductAdapter;
  clock?: Clock;
  ids?: Ids;
}

/** The storage of a Durable Object. */
export interface EdgeStorage extends ObjectStorage {
  /** The object's `alarm` is called at this moment, also when it has to be started for that. */
  setAlarm(at: number): Promise<void>;
}

/** What the runtime hands to a Durable Object. */
export interface EdgeState {
  storage: EdgeStorage;
  /** Resets the object: what is in its memory is gone, and whoever waits for it is told so. */
  abort(reason?: string): void;
}

/** An opened service. */
export interface EdgeService {
  fetch: Handler;
  /** A cycle, and what else is due with time. */
  cycle(): Promise<CycleReport>;
}

/** How many of the newest entries are checked at each start; an idle object is started often. */
const TAIL = 1_000;

/**
 * Opens the service on an object's storage. It is not opened as the exclusive user of the store: no other can write to
 * it, but what an object that was reset had asked of the host product may still be on its way there. Such a claim is
 * settled when its time is over, after which the host's answer can be relied on.
 *
 * Errors: whatever is wrong with the settings or the storage.
 */
export async function openService(
  storage: EdgeStorage,
  env: Readonly<Record<string, unknown>>,
  { app, adapter, clock = systemClock, ids }: EdgeParts,
): Promise<EdgeService> {
  const settings = readSettings(env);
  const { SVC_AUDIT_KEY_PEM: pem } = env;
  const checkpointSigner = typeof pem === "string" && pem !== "" ? await loadAuditKey(pem) : undefined;
  const sha256 = fastestSha256();
  const given = depsOf(settings, { sha256, clock, adapter });
  const commits = createCommitSignal();
  const deps = createDeps({
    ...given,
    sha256,
    store: signalling(durableObjectStore(storage), commits),
    clock,
    ...(ids && { ids }),
    log: consoleLog,
    commits,
    checkpointSigner,
    capabilities: [
      ...(given.capabilities ?? []),
      ...capabilitiesOf({
        adapter: given.product?.adapter !== undefined,
        console: env["ASSETS"] !== undefined,
        identityHeader: settings.identityHeader !== undefined,
        auditKey: checkpointSigner !== undefined,
      }),
    ],
    // An alarm outlives the object, so that a cycle that was asked for comes.
    wake: () => void storage.setAlarm(Date.now()).catch((error: unknown) => consoleLog.warn("no alarm", { error })),
  });
  if (deps.product) deps.checkpoint = { make: () => currentCheckpoint(deps) };
  await openProduct(deps, { tail: TAIL });
  return {
    fetch: app(deps),
    async cycle() {
      const report = await runCycle(deps);
      if (deps.product) await maintainCheckpoint(deps);
      return report;
    },
  };
}

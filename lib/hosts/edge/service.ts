/** The service inside one Durable Object. */
import type { Deps } from "../../deps.ts";
import type { ProductAdapter } from "../../changes/operations/adapter_port.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import { createCommitSignal } from "../../kit/commit_signal.ts";
import { type Clock, fastestSha256, type Ids, wallClock } from "../../kit/platform.ts";
import { createPromptedAuditExport } from "../../operations/audit_export/sender.ts";
import { createPromptedNotifier } from "../../operations/prompted_notifier.ts";
import { createStoredFiles } from "../../operations/stored_files.ts";
import { openService, type Service } from "../../service.ts";
import { durableObjectStore, type ObjectStorage } from "../../store/durable_object.ts";
import { loadAuditKey } from "../audit_key.ts";
import { tokenCapability, workerCapabilities } from "../capabilities.ts";
import { readExport } from "../export_settings.ts";
import { openModel } from "../model.ts";
import { readNotifyOptions } from "../notify_settings.ts";
import { parseSettings } from "../settings.ts";
import { consoleLog } from "./log.ts";

/** Parts that an entry file passes to the host; handlers lie above `lib`, so they are passed in too. */
export interface EdgeParts {
  endpoints: readonly Endpoint<Deps>[];
  /** Settings that are built in, such as a product intent next to the code; the environment wins. */
  settings?: Readonly<Record<string, string>>;
  /** Replaces the webhook adapter. */
  adapter?: ProductAdapter;
  clock?: Clock;
  ids?: Ids;
}

/** State that the runtime passes to a Durable Object. */
export interface EdgeState {
  storage: ObjectStorage & {
    /** Schedules a call of the object's `alarm`; the runtime starts the object for it if needed. */
    setAlarm(at: number): Promise<void>;
  };
  /** Resets the object: its memory is gone, and waiting callers get an error. */
  abort(reason?: string): void;
}

/** Newest entries that are verified at each start; an idle object is started often. */
const CHECKED_ENTRIES = 1_000;

/**
 * Opens the service on an object's storage. Although no other process writes to this store, it is not opened with `exclusive`: a
 * request that an object sent to the host product before a reset may still arrive there. Such an operation is resolved when its
 * lease expires, because only then is the host's answer reliable.
 *
 * Notifications and exported audit entries are sent after each write, and failed ones again with the next cycle, so that no wait
 * keeps the object in memory.
 *
 * `env`: the built-in settings and, over them, the variables of the Worker. Errors: those of the settings and of the storage.
 */
export async function openEdge(
  storage: EdgeState["storage"],
  env: Readonly<Record<string, unknown>>,
  { endpoints, adapter, clock = wallClock, ids }: EdgeParts,
): Promise<Pick<Service, "fetch" | "cycle">> {
  const settings = parseSettings(env, { clock, adapter });
  const notify = readNotifyOptions(env);
  const exported = readExport(env);
  const { SVC_AUDIT_KEY_PEM: pem, SVC_ATTESTATION_KEY_PEM: attestationPem, SVC_PRODUCT_ADAPTER: webhookUrl } = env;
  const hasAdapter = settings.intent !== undefined && Boolean(adapter ?? webhookUrl);
  const commits = createCommitSignal();
  const store = durableObjectStore(storage);
  const { fetch, cycle, deps } = await openService(endpoints, {
    ...settings,
    store,
    commits,
    clock,
    ...(ids && { ids }),
    log: consoleLog,
    checkpointSigner: typeof pem === "string" && pem !== "" ? await loadAuditKey(pem) : undefined,
    attestationSigner:
      typeof attestationPem === "string" && attestationPem !== ""
        ? await loadAuditKey(attestationPem, "SVC_ATTESTATION_KEY_PEM")
        : undefined,
    llm: await openModel(env),
    evolved: createStoredFiles({ store, clock, sha256: fastestSha256() }),
    capabilities: [
      tokenCapability(settings),
      ...workerCapabilities(env, { adapter: hasAdapter, notify: Boolean(notify) }),
    ],
    // An alarm survives a reset of the object, so a requested cycle always runs.
    wake: () => void storage.setAlarm(Date.now()).catch((error: unknown) => consoleLog.warn("no alarm", { error })),
    tail: CHECKED_ENTRIES,
  });
  if (!deps.product || !(notify || exported)) return { fetch, cycle };
  const notifier = notify && createPromptedNotifier(deps, notify);
  const auditExport = exported && createPromptedAuditExport(deps, exported);
  Object.assign(deps, { ...(notifier && { notifier }), ...(auditExport && { auditExport }) });
  await notifier?.begin();
  const send = () => Promise.all([notifier?.send(), auditExport?.send()]);
  let sentCount = commits.count;
  return {
    async fetch(request) {
      const response = await fetch(request);
      // A read may commit rows of projections, for which nothing is sent.
      if (request.method !== "GET" && commits.count !== sentCount) {
        sentCount = commits.count;
        void send();
      }
      return response;
    },
    async cycle() {
      const report = await cycle();
      await send();
      return report;
    },
  };
}

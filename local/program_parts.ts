/** Opens the parts of the program that its options enable. */
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { runCheckpointLoop } from "../lib/audit/anchor.ts";
import { openLlm } from "../lib/llm/open.ts";
import { systemClock } from "../lib/kit/platform.ts";
import type { Deps } from "../lib/deps.ts";
import type { Log } from "../lib/kit/platform.ts";
import type { Handler } from "../lib/http/endpoint.ts";
import type { ProductAdapter } from "../lib/changes/operations/adapter_port.ts";
import type { Identity } from "../lib/changes/runtime.ts";
import type { TargetReports } from "../lib/targets/observe_system.ts";
import { webhookAdapter } from "../lib/targets/webhook.ts";
import { logsAddress } from "../lib/operations/audit_export/options.ts";
import { startAuditExport } from "../lib/operations/audit_export/sender.ts";
import { startNotifier } from "../lib/operations/notifier.ts";
import type { Store } from "../lib/store/store.ts";
import { version } from "../lib/kit/version.ts";
import { openAnchor } from "./anchor.ts";
import { openGateTokens } from "./gate_issuers.ts";
import { loadAuditKey } from "./audit_key.ts";
import { findLlmProblem } from "./capabilities.ts";
import { evolvedFiles } from "./evolved_files.ts";
import { fileAdapter } from "./targets/file.ts";
import { startLink } from "./link/start_link.ts";
import { processMetrics } from "./metrics.ts";
import { isDatabase } from "./option_values.ts";
import type { Options } from "./options.ts";
import { openWatch, listWitnesses } from "./witnesses.ts";

/** Opens the dependencies of handlers other than the store and the product. */
export async function openParts(options: Options, log: Log) {
  const metrics = processMetrics(version);
  const { llm, llmBaseUrl, llmModel, llmKey, auditKey, auditAnchor, evolvedDir } = options;
  return {
    metrics,
    measure: metrics.measured,
    onWrongToken: metrics.wrongToken,
    evolved: evolvedFiles(evolvedDir),
    llm:
      llm && llmModel && findLlmProblem(options) === null
        ? await openLlm({ provider: llm, model: llmModel, key: llmKey, baseUrl: llmBaseUrl })
        : undefined,
    llmCallsPerHour: options.llmCallsPerHour,
    llmTimeout: options.llmTimeout,
    checkpointSigner: auditKey === undefined ? undefined : loadAuditKey(auditKey, log.warn),
    attestationSigner: openAttestationKey(options, log),
    gateTokens: openGateTokens(options),
    witnesses: listWitnesses(options),
    watch: openWatch(options, log.warn),
    anchor: auditAnchor === undefined ? undefined : await openAnchor(auditAnchor, systemClock),
  } satisfies Partial<Deps>;
}

/** Loads the key of `--attestation-key`. Errors: one line for people. */
function openAttestationKey({ attestationKey, auditKey }: Options, log: Log) {
  if (attestationKey === undefined) return undefined;
  const signer = loadAuditKey(attestationKey, log.warn, "--attestation-key");
  const auditPublicKey = auditKey === undefined ? undefined : loadAuditKey(auditKey, () => {}).publicKey;
  if (auditPublicKey && Buffer.from(auditPublicKey).equals(signer.publicKey))
    throw new Error("--attestation-key is the key of --audit-key: attestations need a key of their own");
  return signer;
}

/** Opens the adapter that carries changes to the host product, if there is one. */
export function openAdapter(
  options: Options,
  store: Store,
  identity: Identity,
  reports: TargetReports,
): ProductAdapter | undefined {
  const { productConfig, productAdapter, adapterSecret, targetsFile } = options;
  const { product_id, instance_id } = identity;
  const common = { product_id, instance_id, clock: systemClock, ...reports };
  if (targetsFile) return targetsFile.open(store, identity, cacheFolder(options), reports);
  if (productConfig !== undefined) return fileAdapter({ path: productConfig, store, ...common });
  if (productAdapter === undefined || adapterSecret === undefined) return undefined;
  return webhookAdapter({ url: productAdapter, secret: adapterSecret, ...common });
}

/** Returns the folder for caches that only this process uses; with a database, it is one for each process. */
const cacheFolder = ({ state }: Options): string =>
  isDatabase(state) ? join(tmpdir(), `countersign-${process.pid}`) : dirname(resolve(state));

/** Starts background work, and returns the functions that stop it. */
export async function startParts(deps: Deps, options: Options, fetch: Handler): Promise<(() => Promise<unknown>)[]> {
  const stops: (() => Promise<unknown>)[] = [];
  const link = await startLink(options, deps, fetch);
  if (link) {
    deps.link = link;
    stops.push(link.close);
  }
  const { commits } = deps;
  if (deps.product && commits) {
    const checkpointLoop = runCheckpointLoop(deps, commits);
    stops.push(async () => {
      commits.close();
      await checkpointLoop;
    });
  }
  const { notifyUrl, notifyFormat, notifySecret, auditOtlp, auditOtlpHeaders } = options;
  if (auditOtlp && deps.product) {
    const auditExport = startAuditExport(deps, { url: logsAddress(auditOtlp), headers: auditOtlpHeaders });
    deps.auditExport = auditExport;
    stops.push(auditExport.stop);
  }
  if (notifyUrl) {
    const notifier = startNotifier(deps, { url: notifyUrl, format: notifyFormat, secret: notifySecret });
    deps.notifier = notifier;
    stops.push(notifier.stop);
  }
  return stops;
}

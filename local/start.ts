/** Starts the local program from its options: intent, lock, store, product, HTTP, cycles. */
import { basename } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { FastResponse } from "srvx/node";
import { app, countersign } from "../handlers/index.ts";
import { readHead } from "../lib/audit/chain.ts";
import { verifyChain } from "../lib/audit/verify.ts";
import type { Deps } from "../lib/deps.ts";
import { IdentityMismatch, IntentOutdated } from "../lib/changes/open_product.ts";
import { findContradictions } from "../lib/changes/rules/contradictions.ts";
import type { Identity } from "../lib/changes/runtime.ts";
import { listUnconsented } from "../lib/changes/unconsented_changes.ts";
import { describeRules } from "../lib/changes/rules/describe_rules.ts";
import { listKeylessPermissions } from "../lib/changes/rules/permissions.ts";
import { createHostGuard } from "../lib/http/host_guard.ts";
import type { Handler } from "../lib/http/endpoint.ts";
import { personTokenVerifier } from "../lib/identity/person_token.ts";
import { type Log, systemClock } from "../lib/kit/platform.ts";
import { runWithTimeLimit } from "../lib/kit/time_limit.ts";
import { version } from "../lib/kit/version.ts";
import type { Service } from "../lib/service.ts";
import { prefixErrors } from "./prefix_errors.ts";
import { readBackupEnd } from "./backup_end.ts";
import { listCapabilities } from "./capabilities.ts";
import { claimEvolvedFolder, SharedFolder } from "./evolved_owner.ts";
import { cycleTimer } from "./cycle_timer.ts";
import { listFirstSteps } from "./first_steps.ts";
import { readIntent } from "./intent_file.ts";
import { LIMITS, serveHttp } from "./node_http.ts";
import { sha256 } from "./node_ports.ts";
import { openStore, formatStateName, DEFAULT_STORE_NAME } from "./open_store.ts";
import { isDatabase } from "./option_values.ts";
import type { Options } from "./options.ts";
import { openAdapter, openParts, startParts } from "./program_parts.ts";
import { plainEvaluations } from "./plain_evaluations.ts";
import { openUi, serveUi } from "./ui.ts";
import { describeWatch } from "./witnesses.ts";
import { retryWhileBusy } from "./retry_while_busy.ts";

/** A started program. */
export interface RunningProgram {
  url: string;
  /** Loads the intent file again; after an error, which is logged, the current intent stays in force. */
  reload(): Promise<void>;
  /** Stops accepting, finishes requests in flight (at most 10 s), makes everything durable, and closes the store. */
  stop(): Promise<void>;
}

/** Functions that stop the parts, to be called in reverse order. */
type StopSteps = (() => Promise<unknown>)[];

/**
 * Starts the program. Errors: sentences for people; everything is stopped then. `onReadOnly` is called when the store accepts no
 * more writes until a restart, if `--exit-when-read-only` is set.
 */
export async function start(options: Options, log: Log, onReadOnly?: () => void): Promise<RunningProgram> {
  const stops: StopSteps = [];
  const stop = async () => {
    for (const runStep of stops.splice(0).reverse()) await runStep();
  };
  try {
    return { ...(await openProgram(options, log, stops, onReadOnly)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openProgram(
  options: Options,
  log: Log,
  stops: StopSteps,
  onReadOnly?: () => void,
): Promise<Pick<RunningProgram, "url" | "reload">> {
  for (const warning of options.warnings) log.warn(warning);
  const { productIntent, state, nodeId: node_id, instanceId: instance_id, host, port } = options;
  const intent = productIntent === undefined ? undefined : await readIntent(productIntent);
  const onStoreReadOnly = options.exitWhenReadOnly === "1" ? onReadOnly : undefined;
  const store = await openStore(state, log, options.storeName, onStoreReadOnly);
  // Until the service is open, only the store must be closed.
  let close = store.close;
  stops.push(() => close());
  const ui = await openUi(options.uiDir, log);
  const cycles = cycleTimer(() => service.cycle(), options.cycleInterval * 1000, log);
  const parts = await openParts(options, log);
  const dependencies = {
    ...parts,
    store,
    intent,
    adapter: (identity: Identity) => openAdapter(options, store, identity, { observer: parts.metrics.targets, log }),
    node_id,
    instance_id,
    // A file belongs to this process alone, and its reads cost nothing.
    exclusive: !isDatabase(state),
    wholeCycles: !isDatabase(state),
    backup: isDatabase(state) ? undefined : await readBackupEnd(state),
    longLived: true,
    refuseOutdated: true,
    log,
    sha256,
    adminToken: options.adminToken,
    protectAll: options.protectAll,
    protectReads: options.protectReads,
    readToken: options.readToken,
    identityHeader: options.identityHeader,
    identityToken: options.identityToken && personTokenVerifier(options.identityToken, { clock: systemClock }),
    ofrepTenant: options.ofrepTenant,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    capabilities: listCapabilities(options, ui.problem),
    wake: cycles.wake,
    waitForNextTurn: setImmediate,
    Response: FastResponse as unknown as typeof Response,
  };
  const openedService = retryWhileBusy(() => countersign(dependencies), log);
  const service = await prefixErrors(
    `--state ${formatStateName(state)}`,
    openedService.catch((error: unknown) => {
      if (error instanceof IntentOutdated) throw new Error(`--product-intent ${productIntent}: ${error.message}`);
      throw isDatabase(state) && error instanceof IdentityMismatch ? otherStoreError(error, options) : error;
    }),
  );
  close = service.close;
  const { deps } = service;
  if (deps.watch) log.info("watching", describeWatch(deps.watch));
  await claimEvolved(deps, options);
  reportRules(deps, options);
  await checkAdapter(deps, options);
  stops.push(...(await startParts(deps, options, options.protectReads ? peerHandler(deps) : service.fetch)));
  const fetch = createHostGuard(deps)(serveUi(ui.files, service.fetch));
  const server = await serveHttp(fetch, {
    host,
    port,
    deps,
    plain: plainEvaluations(deps, parts.metrics.observe),
  }).catch((error) => {
    throw listenError(error, host, port);
  });
  const lastCycle = () => Promise.race([cycles.stop(), setTimeout(LIMITS.stopTimeout, undefined, { ref: false })]);
  stops.push(() => Promise.all([server.stop(), lastCycle()]));
  stops.push(async () => deps.commits?.close()); // streams end first, since the server waits for requests in flight
  cycles.start();
  await logStart(server.url, options, deps);
  // The newest entries were verified before the server listened; the others are verified now.
  if (deps.product) verifyChain(deps).catch((error: unknown) => log.warn("the chain was not checked", { error }));
  return { url: server.url, reload: () => reload(service, options, cycles.wake) };
}

/** Claims the folder of self-evolution files for this service's log; a folder that cannot be written only causes a warning. */
async function claimEvolved({ store, log }: Deps, options: Options): Promise<void> {
  const { evolvedDir, isEvolvedDirGiven, state, storeName = DEFAULT_STORE_NAME } = options;
  const head = await readHead(store);
  if (!head) return;
  try {
    const owner = isDatabase(state) ? `${formatStateName(state)} ${storeName}` : basename(state);
    await claimEvolvedFolder(evolvedDir, { origin: head.origin, state: isEvolvedDirGiven ? undefined : owner });
  } catch (error) {
    const message = `--evolved-dir ${evolvedDir}: ${(error as Error).message}`;
    if (error instanceof SharedFolder) throw new Error(message, { cause: error });
    log.warn(message);
  }
}

/** Checks the target systems of the host product; each system logs why it cannot be used. */
async function checkAdapter({ product }: Deps, { productConfig }: Options): Promise<void> {
  const adapter = product?.adapter;
  const findProblem = async (): Promise<void> => void (await adapter?.findProblem?.());
  // The start waits for a check of a file, but not for an answer of another machine.
  if (productConfig !== undefined) await findProblem();
  else void runWithTimeLimit(async (signal) => adapter?.ping?.(signal)).then(findProblem, findProblem);
}

/** Logs which rules are in force, and contradictions between them. */
function reportRules(
  { product, agents, log, clock }: Deps,
  { adminToken, identityHeader, identityToken }: Options,
): void {
  if (agents?.length && !adminToken && !identityHeader && !identityToken)
    log.warn(
      "the intent names agents, and a caller who leaves their secret out may do what they may not: set SVC_ADMIN_TOKEN",
    );
  if (!product) return;
  log.info("rules in force", { rules: describeRules(product.intent) });
  for (const contradiction of findContradictions(product.intent, clock.now()))
    log.warn(`a rule may not work as meant: ${contradiction}`);
  if (identityHeader || identityToken) return;
  for (const field of listKeylessPermissions(product.intent))
    log.warn(
      `policy.permissions.${field} lists only people without a key, and no proxy names people: nobody may do this; add keys, or set --identity-header or --identity-token`,
    );
}

/** Loads the intent file, and brings it into force. */
async function reload(
  { useIntent, deps }: Pick<Service, "useIntent" | "deps">,
  options: Options,
  wake: () => void,
): Promise<void> {
  const { log } = deps;
  const { productIntent } = options;
  if (productIntent === undefined) return log.warn("there is no intent to read again: --product-intent is not set");
  try {
    const text = await readIntent(productIntent);
    const isNew = await prefixErrors(`--product-intent ${productIntent}`, useIntent(text));
    const { version, update_epoch } = deps.product!.intent;
    log.info(isNew ? "intent in force" : "the intent has not changed", { version, update_epoch });
    if (!isNew) return;
    reportRules(deps, options);
    wake();
  } catch (error) {
    return log.error("the intent was not replaced, and the current one stays in force", {
      error: (error as Error).message,
    });
  }
  try {
    for (const change of await listUnconsented(deps))
      log.warn("a change that the service carries on by itself lacks a consent under the intent", { ...change });
  } catch (error) {
    log.warn("changes that lack a consent under the intent could not be read", { error: (error as Error).message });
  }
}

/** Creates the handler for peers: the link authenticates them, so their reads need no token. */
const peerHandler = (deps: Deps): Handler => app(Object.create(deps, { protectReads: { value: false } }) as Deps);

/** Creates the error for a store that belongs to another product: `--store-name` was probably forgotten. */
const otherStoreError = ({ message }: Error, { storeName = DEFAULT_STORE_NAME }: Options): Error =>
  new Error(`${message}; the store ${JSON.stringify(storeName)} is taken, so give this one a --store-name of its own`);

/** Creates the error for an address on which the server cannot listen. */
function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `--port ${port}: something listens there already on ${host}; stop it, or choose another --port`,
    EACCES: `--port ${port}: this user may not listen there; choose a --port above 1023`,
    EADDRNOTAVAIL: `--host ${host}: this machine has no such address`,
    ENOTFOUND: `--host ${host}: this name has no address`,
  };
  return new Error(reasons[error.code ?? ""] ?? `--host ${host} --port ${port}: ${error.message}`, { cause: error });
}

/** Logs the address of the service and, while there is no change yet, the commands for a first one. */
async function logStart(url: string, options: Options, { log, product, store }: Deps): Promise<void> {
  const state = formatStateName(options.state);
  const store_name = isDatabase(options.state) ? (options.storeName ?? DEFAULT_STORE_NAME) : undefined;
  const product_id = product?.identity.product_id ?? null;
  log.info("listening", { url, version, state, store_name, product_id });
  if (!product || options.identityHeader || options.identityToken) return;
  const [change] = await store.list("changes", { limit: 1 });
  const { adminToken, adminTokenFile, protectReads } = options;
  const needsToken = { writes: adminToken !== undefined, reads: protectReads, tokenFile: adminTokenFile };
  if (!change) log.info("try next", { commands: listFirstSteps(url, product.intent, needsToken) });
}

/** Composes the local program from its options: intent, lock, store, product, HTTP, cycles. */
import { setImmediate, setTimeout } from "node:timers/promises";
import { FastResponse } from "srvx/node";
import { app, countersign } from "../handlers/index.ts";
import { verifyChain } from "../lib/audit/verify.ts";
import type { Deps } from "../lib/deps.ts";
import { IdentityMismatch } from "../lib/governance/open.ts";
import { rulesInForce } from "../lib/governance/rules/rules_in_force.ts";
import { hostGuard } from "../lib/http/host_guard.ts";
import type { Handler } from "../lib/http/endpoint.ts";
import type { Log } from "../lib/kit/platform.ts";
import { version } from "../lib/kit/version.ts";
import { about } from "./about.ts";
import { readBackupEnd } from "./backup_end.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { cycleTimer } from "./cycle_timer.ts";
import { firstSteps } from "./first_steps.ts";
import { readIntent } from "./intent_file.ts";
import { LIMITS, serveHttp } from "./node_http.ts";
import { sha256 } from "./node_ports.ts";
import { openStore, stateName, STORE } from "./open_store.ts";
import { isDatabase } from "./option_values.ts";
import type { Options } from "./options.ts";
import { adapterOf, openParts, startParts } from "./parts.ts";
import { openUi, withUi } from "./ui.ts";
import { watching } from "./watch.ts";

/** A started program. */
export interface Running {
  url: string;
  /** Stops accepting, finishes what is in flight (10 s at most), makes everything durable, lets go of the store. */
  stop(): Promise<void>;
}

/** The steps of letting go, to be taken in reverse order. */
type Undo = (() => Promise<unknown>)[];

/**
 * Starts the program; when it cannot, rejects with an error for people, and has let go of everything. `onReadOnly`: called
 * when only a restart makes the store take writes again, and the options ask for an end then.
 */
export async function start(options: Options, log: Log, onReadOnly?: () => void): Promise<Running> {
  const undo: Undo = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { url: await open(options, log, undo, onReadOnly), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function open(options: Options, log: Log, undo: Undo, onReadOnly?: () => void): Promise<string> {
  for (const warning of options.warnings) log.warn(warning);
  const { productIntent, state, nodeId: node_id, instanceId: instance_id, host, port } = options;
  const intent = productIntent === undefined ? undefined : await readIntent(productIntent);
  const ending = options.exitWhenReadOnly === "1" ? onReadOnly : undefined;
  const store = await openStore(state, log, options.storeName, ending);
  let close = store.close;
  undo.push(() => close());
  const ui = await openUi(options.uiDir, log);
  const cycles = cycleTimer(() => service.cycle(), options.cycleInterval * 1000, log);
  const parts = await openParts(options, log);
  const opening = countersign({
    ...parts,
    store,
    intent,
    adapter: (identity) => adapterOf(options, store, identity),
    node_id,
    instance_id,
    exclusive: !isDatabase(state),
    backup: isDatabase(state) ? undefined : await readBackupEnd(state),
    follow: true,
    wholeCycles: !isDatabase(state),
    log,
    sha256,
    adminToken: options.adminToken,
    protectAll: options.protectAll,
    protectReads: options.protectReads,
    readToken: options.readToken,
    identityHeader: options.identityHeader,
    allowedHosts: options.allowedHosts,
    publicUrl: options.publicUrl,
    capabilities: capabilitiesOf(options, ui.problem),
    wake: cycles.wake,
    nextTurn: setImmediate,
    Response: FastResponse as unknown as typeof Response,
  });
  const service = await about(
    `--state ${stateName(state)}`,
    opening.catch((error: unknown) => {
      throw isDatabase(state) && error instanceof IdentityMismatch ? inAnotherStore(error, options) : error;
    }),
  );
  close = service.close;
  const { deps } = service;
  if (deps.agents?.length && !options.adminToken && !options.identityHeader)
    log.warn(
      "the intent names agents, and whoever leaves their secret out may do what they may not: set SVC_ADMIN_TOKEN",
    );
  if (deps.watch) log.info("watching", watching(deps.watch));
  if (deps.product) log.info("rules in force", { rules: rulesInForce(deps.product.intent) });
  undo.push(...(await startParts(deps, options, options.protectReads ? forPeers(deps) : service.fetch)));
  const fetch = hostGuard(deps)(withUi(ui.files, service.fetch));
  const server = await serveHttp(fetch, { host, port, deps }).catch((error) => {
    throw cannotListen(error, host, port);
  });
  const lastCycle = () => Promise.race([cycles.stop(), setTimeout(LIMITS.stopTimeout, undefined, { ref: false })]);
  undo.push(() => Promise.all([server.stop(), lastCycle()]));
  undo.push(async () => deps.commits?.close()); // streams end first: the server waits for what is in flight
  cycles.start();
  await announce(server.url, options, deps);
  // The newest entries were checked before anything was served; the rest follows while it is.
  if (deps.product) verifyChain(deps).catch((error: unknown) => log.warn("the chain was not checked", { error }));
  return server.url;
}

/** Peers come with the link's own HMAC: what they ask through it needs no token beside. */
const forPeers = (deps: Deps): Handler => app(Object.create(deps, { protectReads: { value: false } }) as Deps);

/** Two products share a database under two names: most often the second was forgotten. */
const inAnotherStore = ({ message }: Error, { storeName = STORE }: Options): Error =>
  new Error(`${message}; the store ${JSON.stringify(storeName)} is taken, so give this one a --store-name of its own`);

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `--port ${port}: something listens there already on ${host}; stop it, or choose another --port`,
    EACCES: `--port ${port}: this user may not listen there; choose a --port above 1023`,
    EADDRNOTAVAIL: `--host ${host}: this machine has no such address`,
    ENOTFOUND: `--host ${host}: this name has no address`,
  };
  return new Error(reasons[error.code ?? ""] ?? `--host ${host} --port ${port}: ${error.message}`, { cause: error });
}

/** Says where the service listens and, while there is no change yet, how to make one. */
async function announce(url: string, options: Options, { log, product, store }: Deps): Promise<void> {
  const state = stateName(options.state);
  const store_name = isDatabase(options.state) ? (options.storeName ?? STORE) : undefined;
  const product_id = product?.identity.product_id ?? null;
  log.info("listening", { url, version, state, store_name, product_id });
  if (!product || options.identityHeader) return;
  const [change] = await store.list("changes", { limit: 1 });
  const needsToken = { writes: options.adminToken !== undefined, reads: options.protectReads };
  if (!change) log.info("try next", { commands: firstSteps(url, product.intent.policy, needsToken) });
}

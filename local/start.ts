/** Composes the local program from its options: intent, lock, store, product, HTTP, cycles. */
import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { FastResponse } from "srvx/node";
import { app } from "../handlers/index.ts";
import { holdAgainstAnchor } from "../lib/audit/anchor.ts";
import { verifyChain } from "../lib/audit/verify.ts";
import { createDeps, type Deps } from "../lib/deps.ts";
import type { Log } from "../lib/kit/platform.ts";
import { loadIntent } from "../lib/governance/rules/intent.ts";
import { identityOf, openProduct } from "../lib/governance/open.ts";
import type { ProductRuntime } from "../lib/governance/runtime.ts";
import { hostGuard } from "../lib/http/host_guard.ts";
import { runCycle } from "../lib/pulse/cycle.ts";
import type { Store } from "../lib/store/store.ts";
import { version } from "../lib/kit/version.ts";
import { about } from "./about.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { createCommitSignal } from "../lib/kit/commit_signal.ts";
import { signalling } from "../lib/store/signalling.ts";
import { cycleTimer } from "./cycle_timer.ts";
import { firstSteps } from "./first_steps.ts";
import { LIMITS, serveHttp } from "./node_http.ts";
import { sha256 } from "./node_ports.ts";
import { openStore, stateName } from "./open_store.ts";
import type { Options } from "./options.ts";
import { adapterOf, openParts, startParts } from "./parts.ts";
import { openUi, withUi } from "./ui.ts";

/** A started program. */
export interface Running {
  url: string;
  /** Stops accepting, finishes what is in flight (10 s at most), makes everything durable, lets go of the store. */
  stop(): Promise<void>;
}

type Manifest = ReturnType<typeof loadIntent>;

/** The steps of letting go, to be taken in reverse order. */
type Undo = (() => Promise<unknown>)[];

/** Starts the program; when it cannot, rejects with an error for people, and has let go of everything. */
export async function start(options: Options, log: Log): Promise<Running> {
  const undo: Undo = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { url: await open(options, log, undo), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function open(options: Options, log: Log, undo: Undo): Promise<string> {
  for (const warning of options.warnings) log.warn(warning);
  const manifest = options.productIntent === undefined ? undefined : await readIntent(options.productIntent);
  const opened = await openStore(options.state, log);
  undo.push(opened.close);
  const commits = createCommitSignal();
  const store = signalling(opened.store, commits);

  const ui = await openUi(options.uiDir, log);
  const cycles = cycleTimer(() => runCycle(deps), options.cycleInterval * 1000, log);
  const parts = await openParts(options, log);
  const deps: Deps = createDeps({
    ...parts,
    store,
    log,
    sha256,
    commits,
    ...(manifest && { product: runtimeOf(manifest, options, store) }),
    adminToken: options.adminToken,
    protectAll: options.protectAll,
    identityHeader: options.identityHeader,
    allowedHosts: options.allowedHosts,
    capabilities: capabilitiesOf(options, ui.problem),
    wake: cycles.wake,
    Response: FastResponse as unknown as typeof Response,
  });
  // Before anything is settled or told to a peer: neither may go on from a log that was set back.
  if (deps.product) await holdAgainstAnchor(deps);
  await about(`--state ${stateName(options.state)}`, openProduct(deps, { exclusive: opened.exclusive }));

  const { host, port } = options;
  const api = parts.metrics.measured(app(deps));
  undo.push(...(await startParts(deps, commits, options, api)));
  const fetch = hostGuard(deps)(withUi(ui.files, api));
  const server = await serveHttp(fetch, { host, port, deps }).catch((error) => {
    throw cannotListen(error, host, port);
  });
  const lastCycle = () => Promise.race([cycles.stop(), setTimeout(LIMITS.stopTimeout, undefined, { ref: false })]);
  undo.push(() => Promise.all([server.stop(), lastCycle()]));
  undo.push(async () => commits.close()); // streams end first: the server waits for what is in flight
  cycles.start();
  await announce(server.url, options, deps);
  // The newest entries were checked before anything was served; the rest follows while it is.
  if (deps.product) verifyChain(deps).catch((error: unknown) => log.warn("the chain was not checked", { error }));
  return server.url;
}

function readIntent(path: string): Promise<Manifest> {
  const manifest = readFile(path, "utf8").then((text) => loadIntent(text, sha256));
  return about(`--product-intent ${path}`, manifest);
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `--port ${port}: something listens there already on ${host}; stop it, or choose another --port`,
    EACCES: `--port ${port}: this user may not listen there; choose a --port above 1023`,
    EADDRNOTAVAIL: `--host ${host}: this machine has no such address`,
    ENOTFOUND: `--host ${host}: this name has no address`,
  };
  return new Error(reasons[error.code ?? ""] ?? `--host ${host} --port ${port}: ${error.message}`, { cause: error });
}

function runtimeOf(manifest: Manifest, options: Options, store: Store): ProductRuntime {
  const identity = identityOf(manifest.intent.product_id, options.nodeId, options.instanceId);
  const adapter = adapterOf(options, store, identity);
  return { ...manifest, identity, ...(adapter && { adapter }) };
}

/** Says where the service listens and, while there is no change yet, how to make one. */
async function announce(url: string, options: Options, { log, product, store }: Deps): Promise<void> {
  const state = stateName(options.state);
  log.info("listening", { url, version, state, product_id: product?.identity.product_id ?? null });
  if (!product || options.identityHeader) return;
  const [change] = await store.list("changes", { limit: 1 });
  if (!change)
    log.info("try next", { commands: firstSteps(url, product.intent.policy, options.adminToken !== undefined) });
}

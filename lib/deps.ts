import type { Clock, Ids, Log, Sha256 } from "./kit/platform.ts";
import type { CheckpointAnchor, CheckpointSigner } from "./audit/checkpoint.ts";
import type { Integrity } from "./audit/integrity.ts";
import type { ProductRuntime } from "./governance/runtime.ts";
import type { Llm } from "./llm/port.ts";
import type { KeyedMutex } from "./kit/keyed_mutex.ts";
import type { LinkPort } from "./link/port.ts";
import type { PulsePorts } from "./pulse/ports.ts";
import type { Store } from "./store/store.ts";

/** One thing the service can do, or why it cannot here. */
export interface Capability {
  id: string;
  group: string;
  status: "available" | "degraded" | "disabled" | "failing";
  reason: string | null;
  /** The option that switches it on. */
  enable_with: string | null;
}

/** Everything a handler is given. The host composes it once; nothing is read from the environment behind its back. */
export interface Deps extends PulsePorts {
  store: Store;
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** Absent: the product runtime is off, and its endpoints answer 503. */
  product?: ProductRuntime;
  /** What is known of the chain's soundness; writes are refused when it is broken. */
  integrity: Integrity;
  /** Operations on one change wait for each other here. */
  mutex: KeyedMutex;
  /** Names this process as the owner of the operations it runs on the host product. */
  owner: string;
  /** Absent or empty: writes need no token. */
  adminToken?: string | undefined;
  /** False: without an admin token every write is refused. Hosts that anybody on the internet can reach say so. */
  allowAnonymousWrites?: boolean | undefined;
  /** Header in which a trusted proxy names the person. */
  identityHeader?: string | undefined;
  /** Further host names whose pages may write, and that `Host` may name. */
  allowedHosts?: readonly string[];
  /** What this host adds to the capability map. */
  capabilities?: readonly Capability[];
  /** Signs checkpoints; without it they say that they are not signed. */
  checkpointSigner?: CheckpointSigner | undefined;
  /** Keeps checkpoints where the holder of the store cannot change them. */
  anchor?: CheckpointAnchor | undefined;
  /** Peers over the cross-host link. */
  link?: LinkPort | undefined;
  /** Words replies and reports; it can propose and never decide. */
  llm?: Llm | undefined;
  /** Asks for a cycle soon, without waiting for it. */
  wake?: () => void;
  /** A faster `Response` where the host has one. */
  Response?: typeof Response;
}

import type { CheckpointAnchor, CheckpointSigner } from "./audit/checkpoint.ts";
import type { Integrity } from "./audit/integrity.ts";
import type { ProductRuntime } from "./governance/runtime.ts";
import type { Llm } from "./chat/llm.ts";
import type { Turns } from "./governance/turns.ts";
import type { LinkPort } from "./link/port.ts";
import type { PulsePorts } from "./pulse/ports.ts";
import type { Store } from "./store/store.ts";

/** Milliseconds since the epoch, UTC. */
export interface Clock {
  now(): number;
}

/** Makes a UUIDv7 for the given moment; what it makes rises in order. */
export interface Ids {
  uuid(now: number): string;
}

/** Synchronous SHA-256, lower-case hex of 64 characters. Text is hashed as UTF-8. */
export type Sha256 = (data: string | Uint8Array) => string;

/** Structured log; never holds tokens, secrets, prompts or chat text. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

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
  turns: Turns;
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

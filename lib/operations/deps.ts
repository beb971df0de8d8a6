import type { CheckpointAnchor, CheckpointSigner } from "../audit/checkpoint.ts";
import type { Watch } from "../audit/witness_service.ts";
import type { Witness } from "../audit/witness.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import type { EnvelopeSigner } from "../kit/dsse.ts";
import type { Llm } from "../llm/port.ts";
import type { Capability } from "./capability.ts";

/** Dependencies of the operations; an optional one is absent where a host has no such thing. */
export interface OperationsDeps extends ChangesDeps {
  evolved?: EvolvedFiles | undefined;
  /** The console as people reach it, without a slash at its end: where notifications lead. */
  publicUrl?: string | undefined;
  /** Figures of the process and its HTTP server, as Prometheus text. */
  metrics?: { text(): Promise<string> } | undefined;
  /** Makes a checkpoint of the audit log now. */
  checkpoint?: { make(): Promise<unknown> } | undefined;
  /** Signs checkpoints; without it they say that they are not signed. */
  checkpointSigner?: CheckpointSigner | undefined;
  /** Signs attestations, with a key of its own; without it there are none. */
  attestationSigner?: EnvelopeSigner | undefined;
  /** Keeps checkpoints where the holder of the store cannot change them. */
  anchor?: CheckpointAnchor | undefined;
  /** Who cosigns checkpoints. */
  witnesses?: readonly Witness[] | undefined;
  /** Whose checkpoints this service cosigns. */
  watch?: Watch | undefined;
  /** Webhook notifications; `problem` says why they do not get through at present. */
  notifier?: { problem(): string | null } | undefined;
  /** Export of audit entries by OTLP; `problem` says why they do not get through at present. */
  auditExport?: { problem(): string | null } | undefined;
  /** Answers deployments on GitHub; absent where no gate has a GitHub App. */
  github?: { problem(): string | null; pass(ended?: AbortSignal): Promise<number> } | undefined;
  /** Peers over the cross-host link. */
  link?: PeersPort | undefined;
  /** Words replies and reports; it can propose and never decide. */
  llm?: Llm | undefined;
  /** Maximum number of calls in an hour; 300 by default. */
  llmCallsPerHour?: number | undefined;
  /** This process has no right to write to the store, so that it cannot tell whether writes are taken. */
  readsOnly?: boolean | undefined;
  /** Time limit of each call of the model, in seconds; 60 where it is not given. */
  llmTimeout?: number | undefined;
  /** Rows that this host adds to the capability map. */
  capabilities?: readonly Capability[] | undefined;
}

/** One self-evolution file. */
export interface EvolvedFile {
  name: string;
  bytes: number;
  /** Lower-case hex. */
  sha256: string;
  modified_at: string;
  /** By its name. */
  kind: "retrospective" | "report" | "other";
}

/**
 * Storage of files that the service writes about what it learnt: inert text, never executed and never read back as configuration.
 * Names are
 * `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
 */
export interface EvolvedFiles {
  /** All files, newest first. */
  list(): Promise<EvolvedFile[]>;
  /** A file's text; undefined when there is none of that name. */
  read(name: string): Promise<string | undefined>;
  /** Writes or replaces a file, whole. */
  write(name: string, text: string): Promise<void>;
}

/** The peers, as far as the cycle and the metrics look at them. */
export interface PeersPort {
  /** `rewritten`: its audit log is no longer a continuation of the one that was kept. */
  peers(): Promise<
    readonly { state: "up" | "down" | "unknown"; log: string; instance_id?: string | null; address?: string }[]
  >;
  /** Brings what peers know of each other up to date; never rejects for a peer's sake. */
  sync(): Promise<unknown>;
  capability(): Capability;
}

/** Dependencies of the operations, and the ports behind them. */
import type { CheckpointAnchor, CheckpointSigner } from "../audit/checkpoint.ts";
import type { Watch } from "../audit/witness_service.ts";
import type { Witness } from "../audit/witness.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import type { EnvelopeSigner } from "../kit/dsse.ts";
import type { Llm } from "../llm/port.ts";
import type { Capability } from "./capability.ts";

/** Dependencies of the operations; a host lacks some of the optional ones. */
export interface OperationsDeps extends ChangesDeps {
  /** Storage of reports and retrospectives; without it none are written. */
  evolved?: EvolvedFiles | undefined;
  /** Address of the console without a slash at its end, for links in notifications. */
  publicUrl?: string | undefined;
  /** Figures of the process and its HTTP server, as Prometheus text. */
  metrics?: { text(): Promise<string> } | undefined;
  /** Creates checkpoints of the audit log on demand. */
  checkpoint?: { make(): Promise<unknown> } | undefined;
  /** Signs checkpoints; without it they say that they are not signed. */
  checkpointSigner?: CheckpointSigner | undefined;
  /** Signs attestations, with a key of its own; without it there are none. */
  attestationSigner?: EnvelopeSigner | undefined;
  /** Stores checkpoints where the operator of the store cannot change them. */
  anchor?: CheckpointAnchor | undefined;
  /** Witnesses that cosign checkpoints. */
  witnesses?: readonly Witness[] | undefined;
  /** Services whose checkpoints this service cosigns. */
  watch?: Watch | undefined;
  /** Webhook notifications; `problem` is the reason why they fail now. */
  notifier?: { problem(): string | null } | undefined;
  /** Export of audit entries by OTLP; `problem` is the reason why it fails now. */
  auditExport?: { problem(): string | null } | undefined;
  /** Answers deployments on GitHub; absent if no gate has a GitHub App. */
  github?: { problem(): string | null; pass(stopped?: AbortSignal): Promise<number> } | undefined;
  /** Peers over the cross-host link. */
  link?: PeersPort | undefined;
  /** Words replies and reports; it can propose and never decide. */
  llm?: Llm | undefined;
  /** Maximum number of calls of the model in an hour; 300 by default. */
  llmCallsPerHour?: number | undefined;
  /** This process may not write to the store, so it cannot prove that writes work. */
  readsOnly?: boolean | undefined;
  /** Time limit of each call of the model, in seconds; 60 by default. */
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
  /** Derived from the name. */
  kind: "retrospective" | "report" | "other";
}

/**
 * Storage of the self-evolution files: inert text, never executed and never read as configuration. Names are
 * `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
 */
export interface EvolvedFiles {
  /** All files, newest first. */
  list(): Promise<EvolvedFile[]>;
  /** Reads a file; undefined if there is none of this name. */
  read(name: string): Promise<string | undefined>;
  /** Writes or replaces a complete file. */
  write(name: string, text: string): Promise<void>;
}

/** The peers, as the cycle and the metrics use them. */
export interface PeersPort {
  /** Lists the peers; `log` is `rewritten` if a peer's audit log no longer continues the part of it that was stored here. */
  peers(): Promise<
    readonly { state: "up" | "down" | "unknown"; log: string; instance_id?: string | null; address?: string }[]
  >;
  /** Exchanges news with the peers; a failing peer does not reject. */
  sync(): Promise<unknown>;
  capability(): Capability;
}

import type { CheckpointAnchor, CheckpointSigner } from "../audit/checkpoint.ts";
import type { GovernanceDeps } from "../governance/deps.ts";
import type { CommitSignal } from "../kit/commit_signal.ts";
import type { Llm } from "../llm/port.ts";
import type { Capability } from "./capability.ts";
import type { EvolvedFiles, Metrics, PeersPort } from "./ports.ts";

/** What the pulse needs; what is optional is absent where a host has no such thing. */
export interface PulseDeps extends GovernanceDeps {
  evolved?: EvolvedFiles | undefined;
  metrics?: Metrics | undefined;
  /** Signalled after every commit of this process. */
  commits?: CommitSignal | undefined;
  /** Makes a checkpoint of the audit log now. */
  checkpoint?: { make(): Promise<unknown> } | undefined;
  /** Signs checkpoints; without it they say that they are not signed. */
  checkpointSigner?: CheckpointSigner | undefined;
  /** Keeps checkpoints where the holder of the store cannot change them. */
  anchor?: CheckpointAnchor | undefined;
  /** Webhook notifications; `problem` says why they do not get through at present. */
  notifier?: { problem(): string | null } | undefined;
  /** Peers over the cross-host link. */
  link?: PeersPort | undefined;
  /** Words replies and reports; it can propose and never decide. */
  llm?: Llm | undefined;
  /** What this host adds to the capability map. */
  capabilities?: readonly Capability[] | undefined;
}

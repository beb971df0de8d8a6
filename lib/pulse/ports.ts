/** What the pulse may be given beside what every handler needs. Each is absent where a host has no such thing. */
import type { Capability } from "./capability.ts";
/** What kind of file it is, by its name. */
export type EvolvedKind = "retrospective" | "report" | "lessons" | "other";

/** One self-evolution file. */
export interface EvolvedFile {
  name: string;
  bytes: number;
  /** Lower-case hex. */
  sha256: string;
  modified_at: string;
  kind: EvolvedKind;
}

/**
 * Where the service writes what it learnt: inert text, never executed and never read back as configuration. Names are
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

/** Figures of the process and its HTTP server, as Prometheus text. */
export interface Metrics {
  text(): Promise<string>;
}

/** The peers, as far as the cycle and the metrics look at them. */
export interface PeersPort {
  peers(): Promise<readonly PeerState[]>;
  /** Brings what peers know of each other up to date; never rejects for a peer's sake. */
  sync(): Promise<unknown>;
  capability(): Capability;
}

/** How one peer stands. */
export interface PeerState {
  state: "up" | "down" | "unknown";
  /** `rewritten`: its audit log is no longer a continuation of the one that was kept. */
  log: string;
}

/** Opens the cross-host link by the program's options. */
import { readCheckpoint } from "../../lib/audit/checkpoint.ts";
import { proveConsistency } from "../../lib/audit/prove.ts";
import type { Deps } from "../../lib/deps.ts";
import type { CheckpointSource } from "../../lib/link/answer_peer.ts";
import { type CrossLink, openCrossLink } from "../cross_link.ts";
import type { Options } from "../options.ts";

type LinkOptions = Pick<Options, "crossLinkHost" | "crossLinkPort" | "crossLinkSecrets" | "crossLinkPeers" | "nodeId">;

/** Opens the link; undefined without options for it. Errors: sentences for people. */
export async function startLink(
  options: LinkOptions,
  deps: Deps,
  fetch: (request: Request) => Promise<Response>,
): Promise<CrossLink | undefined> {
  const { crossLinkHost: host, crossLinkPort: port, crossLinkPeers: peers, crossLinkSecrets: secrets } = options;
  if (port === undefined && peers.length === 0) return undefined;
  const link = await openCrossLink({
    deps,
    fetch,
    secrets,
    listenAt: port === undefined ? undefined : { host, port },
    peers,
    nodeId: options.nodeId,
    checkpoint: deps.product && createCheckpointSource(deps),
  }).catch((error: NodeJS.ErrnoException) => {
    throw linkError(error, host, port);
  });
  deps.log.info("link open", { address: link.self.address, peer_id: link.self.peer_id });
  return link;
}

const createCheckpointSource = (deps: Deps): CheckpointSource => ({
  latest: () => readCheckpoint(deps),
  consistency: async (from, to) => (await proveConsistency(deps, from, to)).proof,
});

function linkError(error: NodeJS.ErrnoException, host: string, port: number | undefined): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: `--cross-link-port ${port}: something listens there already on ${host}; choose another port`,
    EACCES: `--cross-link-port ${port}: this user may not listen there; choose a port above 1023`,
    EADDRNOTAVAIL: `--cross-link-host ${host}: this machine has no such address`,
    ENOTFOUND: `--cross-link-host ${host}: this name has no address`,
  };
  return new Error(reasons[error.code ?? ""] ?? `the cross-host link cannot be opened: ${error.message}`, {
    cause: error,
  });
}

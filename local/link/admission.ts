/** Limits unauthenticated connections of the link, so that they cannot exhaust the process. */

/** Maximum numbers of concurrent unauthenticated connections: in total, and from one address. */
export const UNAUTHENTICATED_LIMITS = { total: 64, perAddress: 8 } as const;

/** A connection that is not authenticated yet. */
export interface UnauthenticatedPeer {
  /** The address of the peer, without its port. */
  readonly from: string;
  /** True after the peer named a shared secret. */
  readonly greeted: boolean;
  close(reason: string): void;
}

/** The unauthenticated connections of one listener. */
export interface Admission {
  readonly size: number;
  /**
   * Admits a connection. If there are too many, the oldest one that has not named a secret is closed, or else the oldest of all: a
   * name can be overheard, so connections that name a secret and then stay silent must not block others. A real peer needs only
   * two round trips.
   */
  admit(peer: UnauthenticatedPeer): void;
  /** Removes a connection that was authenticated or closed. */
  release(peer: UnauthenticatedPeer): void;
}

/** Creates an admission without connections. */
export function createAdmission(limits: { total: number; perAddress: number } = UNAUTHENTICATED_LIMITS): Admission {
  const peers = new Set<UnauthenticatedPeer>();

  const makeRoom = (candidates: UnauthenticatedPeer[], limit: number): void => {
    if (candidates.length < limit) return;
    const evicted = candidates.find(({ greeted }) => !greeted) ?? candidates[0]!;
    peers.delete(evicted);
    evicted.close("another connection needed the room");
  };

  return {
    get size() {
      return peers.size;
    },
    admit(peer) {
      makeRoom(
        [...peers].filter(({ from }) => from === peer.from),
        limits.perAddress,
      );
      makeRoom([...peers], limits.total);
      peers.add(peer);
    },
    release: (peer) => void peers.delete(peer),
  };
}

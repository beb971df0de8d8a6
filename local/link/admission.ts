/** How many strangers may stand at the door: sockets that have not proved themselves cannot use up the process. */

/** At once, in all and from one address. */
export const STRANGERS = { total: 64, perAddress: 8 } as const;

/** A connection that has not proved itself yet. */
export interface UnauthenticatedPeer {
  /** The address it comes from, without its port. */
  readonly from: string;
  /** It has named a shared secret; an idle socket has not. */
  readonly greeted: boolean;
  close(reason: string): void;
}

/** The strangers of one listener. */
export interface Admission {
  readonly size: number;
  /**
   * Lets one in. Where there is no room the oldest that has not named a secret makes way, or else the oldest of all: a
   * name can be overheard, so a peer that repeats one and then says nothing must not keep the others out until its time is
   * over. A good peer needs two round trips.
   */
  admit(stranger: UnauthenticatedPeer): void;
  /** Forgets one: it has proved itself, or is gone. */
  release(stranger: UnauthenticatedPeer): void;
}

/** An empty door. */
export function admission(limits: { total: number; perAddress: number } = STRANGERS): Admission {
  const strangers = new Set<UnauthenticatedPeer>();

  const makeRoom = (among: UnauthenticatedPeer[], limit: number): void => {
    if (among.length < limit) return;
    const leaves = among.find(({ greeted }) => !greeted) ?? among[0]!;
    strangers.delete(leaves);
    leaves.close("another connection needed the room");
  };

  return {
    get size() {
      return strangers.size;
    },
    admit(stranger) {
      makeRoom(
        [...strangers].filter(({ from }) => from === stranger.from),
        limits.perAddress,
      );
      makeRoom([...strangers], limits.total);
      strangers.add(stranger);
    },
    release: (stranger) => void strangers.delete(stranger),
  };
}

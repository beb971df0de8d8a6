/** How many strangers may stand at the door: sockets that have not proved themselves cannot use up the process. */

/** At once, in all and from one address. */
export const STRANGERS = { total: 64, perAddress: 8 } as const;

/** A connection that has not proved itself yet. */
export interface Stranger {
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
   * Lets one in. Where there is no room the oldest that has not named a secret makes way, so that idle sockets keep
   * nobody out; when all have, false.
   */
  admit(stranger: Stranger): boolean;
  /** Forgets one: it has proved itself, or is gone. */
  release(stranger: Stranger): void;
}

/** An empty door. */
export function admission(limits: { total: number; perAddress: number } = STRANGERS): Admission {
  const strangers = new Set<Stranger>();

  const makeRoom = (among: Stranger[], limit: number): boolean => {
    if (among.length < limit) return true;
    const idle = among.find(({ greeted }) => !greeted);
    if (!idle) return false;
    strangers.delete(idle);
    idle.close("another connection needed the room");
    return true;
  };

  return {
    get size() {
      return strangers.size;
    },
    admit(stranger) {
      const sameAddress = [...strangers].filter(({ from }) => from === stranger.from);
      if (!makeRoom(sameAddress, limits.perAddress) || !makeRoom([...strangers], limits.total)) return false;
      strangers.add(stranger);
      return true;
    },
    release: (stranger) => void strangers.delete(stranger),
  };
}

const host = globalThis as { setImmediate?: (then: () => void) => unknown };

/** Gives whatever else waits its turn of the event loop. A timer alone would not: one that is due already runs first. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => void (host.setImmediate ? host.setImmediate(resolve) : setTimeout(resolve)));

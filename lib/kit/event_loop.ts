const globals = globalThis as { setImmediate?: (then: () => void) => unknown };

/** Gives whatever else waits its turn of the event loop. A timer alone would not: one that is due already runs first. */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => void (globals.setImmediate ? globals.setImmediate(resolve) : setTimeout(resolve)));

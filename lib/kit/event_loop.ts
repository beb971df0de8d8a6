/** Some runtimes have no `setImmediate`. */
const globals = globalThis as { setImmediate?: (then: () => void) => unknown };

/** Yields to other work of the event loop. `setTimeout` alone is not enough: due timers run before other work. */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => void (globals.setImmediate ? globals.setImmediate(resolve) : setTimeout(resolve)));

/** Gives whatever else waits its turn of the event loop. */
export const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/**
 * Makes a value when it is first asked for, so that what only some requests need costs no other start anything. A promise
 * that rejects is made again for the next who asks.
 */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    if (made) return made.value;
    const value = make();
    made = { value };
    if (value instanceof Promise) value.catch(() => (made = undefined));
    return value;
  };
}

/** Makes a value when it is first asked for. What only some requests need then costs no other start anything. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

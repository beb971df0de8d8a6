/** `once` of `lib/kit/once.ts` for mutation tests: each test makes its values again, so that it runs the code that makes them. */
let test = 0;

/** Makes all values stale. */
export const startTest = (): void => void test++;

export function once<T>(make: () => T): () => T {
  let made: { value: T; during: number } | undefined;
  return () => {
    if (made?.during !== test) made = { value: make(), during: test };
    return made.value;
  };
}

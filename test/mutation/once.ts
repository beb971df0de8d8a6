/** Replaces `once` of `lib/kit/once.ts` in mutation tests: each test computes the values again, so that it runs their code. */
let test = 0;

/** Discards all values. */
export const startTest = (): void => void test++;

export function once<T>(make: () => T): () => T {
  let made: { value: T; during: number } | undefined;
  return () => {
    if (made?.during !== test) made = { value: make(), during: test };
    return made.value;
  };
}

/** What the contract's cases use of vitest, for a Worker: the same assertions, without the runner. */
import { GLOBAL_EXPECT, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";
import * as chai from "chai";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

const state = { assertionCalls: 0 };
/** `expect` of vitest, without snapshots and polling. */
export const expect = Object.assign((value: unknown, message?: string) => chai.expect(value, message), {
  setState: (more: object) => Object.assign(state, more),
  getState: () => state,
});
Object.assign(globalThis, { [GLOBAL_EXPECT]: expect });

/** Nothing is declared in a Worker: the cases are called by name. */
export const describe = (): void => undefined;
export const test = describe;

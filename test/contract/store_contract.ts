/** Registers the store contract with vitest. */
import { describe, test } from "vitest";
import { runCase, type StoreCase, storeCases, type Subject } from "./store_cases.ts";

/** Registers the contract cases as tests of one store. `abilities`: the optional helpers that `make` provides, such as `reopen`. */
export function storeContract(
  name: string,
  make: () => Promise<Subject>,
  abilities: readonly StoreCase["needs"][] = [],
): void {
  describe(`${name} passes the store contract`, () => {
    for (const storeCase of storeCases)
      if (!storeCase.needs || abilities.includes(storeCase.needs)) test(storeCase.name, () => runCase(storeCase, make));
  });
}

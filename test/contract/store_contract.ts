import { describe, test } from "vitest";
import { runCase, type StoreCase, storeCases, type Subject } from "./store_cases.ts";

/** The contract as tests of one store. `abilities` names what its subjects can do in addition to the store's own methods. */
export function storeContract(
  name: string,
  make: () => Promise<Subject>,
  abilities: readonly StoreCase["needs"][] = [],
): void {
  describe(`${name} keeps the store contract`, () => {
    for (const storeCase of storeCases)
      if (!storeCase.needs || abilities.includes(storeCase.needs)) test(storeCase.name, () => runCase(storeCase, make));
  });
}

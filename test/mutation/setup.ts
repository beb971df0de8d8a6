/** Prepares each test file of mutation tests: when values of `once` are computed again, and which tests run. */
import { beforeAll, beforeEach, inject, vi } from "vitest";
import { startTest } from "./once.ts";

// In its first run Stryker records the code of each test, so each test computes its values; later runs compute them once.
if (inject("mode" as never) === "mutant") beforeAll(startTest);
else beforeEach(startTest);

// Vitest calls this function after each file. It restores the configuration of the first run in this thread, whose filter would
// select the wrong tests.
vi.resetConfig = () => undefined;

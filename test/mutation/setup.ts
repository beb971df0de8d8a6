import { beforeAll, beforeEach, inject } from "vitest";
import { startTest } from "./once.ts";

// Stryker's first run records which code each test runs, so each test computes its values; later runs compute them once.
if (inject("mode" as never) === "mutant") beforeAll(startTest);
else beforeEach(startTest);

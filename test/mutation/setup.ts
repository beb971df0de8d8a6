import { beforeAll, beforeEach, inject } from "vitest";
import { startTest } from "./once.ts";

// Stryker's first run records which code each test runs; the others need each value once more only.
if (inject("mode" as never) === "mutant") beforeAll(startTest);
else beforeEach(startTest);

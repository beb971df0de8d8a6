import { defineConfig } from "vitest/config";

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  test: {
    include: ["test/**/*.test.ts"],
    // The console's tests drive a real browser and are run by `npm run test:ui`.
    exclude: process.env["TEST_UI"] ? [] : ["test/ui/**"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxWorkers: 2,
  },
});

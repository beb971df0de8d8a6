import { dirname, join } from "node:path";
import { fetchedFile } from "../../support/fetched_package.ts";
import packageJson from "../../support/flagd_core/package.json" with { type: "json" };
import { ROOT } from "../markdown.ts";
import type { Requirements } from "./index.ts";

/** The shop's reader of flags, which its README installs. */
export const shop: Requirements = {
  needs: ["curl", "git"],
  async stage() {
    const name = "@openfeature/flagd-core";
    try {
      const file = await fetchedFile(join(ROOT, "test/support/flagd_core"), packageJson, "index.cjs.js", { name });
      return { env: { INSTALLED: dirname(dirname(dirname(file))) } };
    } catch (error) {
      return void process.stderr.write(`examples/shop is not run: ${(error as Error).message}\n`);
    }
  },
};

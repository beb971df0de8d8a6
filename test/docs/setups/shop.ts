/** Setup of examples/shop/README.md: fetches the flag library that the README installs. */
import { dirname, join } from "node:path";
import { fetchedFile } from "../../support/fetched_package.ts";
import packageJson from "../../support/flagd_core/package.json" with { type: "json" };
import { ROOT } from "../markdown.ts";
import type { DocumentSetup } from "./index.ts";

export const shop: DocumentSetup = {
  programs: ["curl", "git"],
  async prepare() {
    const name = "@openfeature/flagd-core";
    try {
      const file = await fetchedFile(join(ROOT, "test/support/flagd_core"), packageJson, "index.cjs.js", { name });
      // The file is in node_modules/@openfeature/flagd-core.
      return { env: { INSTALLED: dirname(dirname(dirname(file))) } };
    } catch (error) {
      return void process.stderr.write(`examples/shop is not run: ${(error as Error).message}\n`);
    }
  },
};

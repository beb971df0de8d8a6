/** Setup of docs/workers.md: bundles the page's Worker, runs it, and reads its intent. */
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { client } from "../../support/client.ts";
import { sendAlone, startWorkerd } from "../../support/worker/edge_service.ts";
import type { DocumentSetup } from "./index.ts";

export const workers: DocumentSetup = {
  declareTests(documentRun) {
    test("the page's worker.ts is a Worker that loads the intent next to it", async () => {
      const { outputFiles } = await build({
        absWorkingDir: documentRun().folder,
        entryPoints: [join(documentRun().folder, "worker.ts")],
        bundle: true,
        write: false,
        format: "esm",
        conditions: ["workerd", "worker", "browser"],
        external: ["cloudflare:workers"],
      });
      const bindings = { SVC_PROTECT_READS: "0" };
      const { workerd, url } = await startWorkerd(outputFiles[0]!.text, { bindings });
      const { body } = await client(sendAlone, url)
        .get("intent")
        .finally(() => workerd.dispose());
      // Members of local/example/product_intent.json, of which the page's folder has a copy.
      expect(body).toMatchObject({ product_id: "acme-crm", version: "2026.11", update_epoch: 3 });
    });
  },
};

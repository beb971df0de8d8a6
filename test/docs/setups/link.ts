/** Setups of docs/link.md and lib/link/README.md: two instances on this machine, and checks of the protocol's examples. */
import { expect, test } from "vitest";
import { sharedInsightSchema, insightSummary } from "../../../lib/link/insight.ts";
import { deriveSecretKey } from "../../../lib/link/keys.ts";
import type { DocumentSetup } from "./index.ts";

export const link: DocumentSetup = {
  programs: ["openssl", "python3"],
  prepare: () => ({
    replacements: {
      "10.8.0.1": "127.0.0.1",
      // On one machine the second instance needs a state of its own.
      "--cross-link-peers host-a:7420": "--state host-b/state.json --cross-link-peers 127.0.0.1:7420",
    },
  }),
  declareTests(documentRun) {
    test("the instances are connected", async () => {
      await documentRun()
        .program(8420)
        .until((line) => line.includes('"link up"') || undefined);
      const { peers } = (await (await fetch(`${documentRun().url(8420)}/api/peers`)).json()) as { peers: unknown[] };
      expect(peers).toEqual(
        expect.arrayContaining([expect.objectContaining({ state: "up", relation: "same_product" })]),
      );
    });
  },
};

export const linkProtocol: DocumentSetup = {
  programs: ["python3"],
  prepare: () => ({
    exampleChecks: {
      "json insight": (example) => {
        // The page shortens the id.
        const insight = sharedInsightSchema().parse({ ...example, insight_id: example.insight_id.replace("…", "") });
        expect(insight.summary).toBe(insightSummary(insight));
      },
      "json vectors": ({ secret, kid }) => expect(deriveSecretKey(secret).kid).toBe(kid),
    },
  }),
};

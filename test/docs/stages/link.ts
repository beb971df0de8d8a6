import { expect, test } from "vitest";
import { sharedInsightSchema, insightSummary } from "../../../lib/link/insight.ts";
import { deriveSecretKey } from "../../../lib/link/keys.ts";
import type { Requirements } from "./index.ts";

export const link: Requirements = {
  needs: ["openssl", "python3"],
  stage: () => ({
    stands: {
      // Both hosts are this machine.
      "10.8.0.1": "127.0.0.1",
      "--cross-link-peers host-a:7420": "--state host-b/state.json --cross-link-peers 127.0.0.1:7420",
    },
  }),
  afterwards(story) {
    test("the instances are connected", async () => {
      await story()
        .program(8420)
        .until((line) => line.includes('"link up"') || undefined);
      const { peers } = (await (await fetch(`${story().url(8420)}/api/peers`)).json()) as { peers: unknown[] };
      expect(peers).toEqual(
        expect.arrayContaining([expect.objectContaining({ state: "up", relation: "same_product" })]),
      );
    });
  },
};

export const linkProtocol: Requirements = {
  needs: ["python3"],
  stage: () => ({
    readers: {
      "json insight": (shown) => {
        const insight = sharedInsightSchema().parse({ ...shown, insight_id: shown.insight_id.replace("…", "") });
        expect(insight.summary).toBe(insightSummary(insight));
      },
      "json vectors": ({ secret, kid }) => expect(deriveSecretKey(secret).kid).toBe(kid),
    },
  }),
};

import { readGateIssuers } from "../../../lib/identity/gate_issuers.ts";
import type { Requirements } from "./index.ts";
import { readTargetsExample } from "./targets.ts";

export const gates: Requirements = {
  needs: ["curl"],
  stage: () => ({
    readers: {
      "json issuers": (shown) => void readGateIssuers(JSON.stringify(shown)),
      "json targets": (shown) => readTargetsExample(shown as object),
    },
  }),
};

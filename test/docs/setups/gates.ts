/** Setup of docs/gates.md: the service accepts the example files. */
import { readGateIssuers } from "../../../lib/identity/gate_issuers.ts";
import type { DocumentSetup } from "./index.ts";
import { readTargetsExample } from "./targets.ts";

export const gates: DocumentSetup = {
  programs: ["curl"],
  prepare: () => ({
    // By the text behind the fence of a block.
    exampleChecks: {
      "json issuers": (example) => void readGateIssuers(JSON.stringify(example)),
      "json targets": (example) => readTargetsExample(example as object),
    },
  }),
};

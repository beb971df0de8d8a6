import { expect } from "vitest";
import type { Own } from "./index.ts";

export const principals: Own = {
  needs: ["curl", "openssl"],
  stage: () => ({
    readers: {
      "yaml scrape": ({ scrape_configs }) =>
        expect(scrape_configs).toMatchObject([{ metrics_path: "/api/metrics", authorization: {} }]),
    },
  }),
};

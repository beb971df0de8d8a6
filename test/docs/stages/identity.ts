import { expect } from "vitest";
import { readIdentityFile } from "../../../lib/identity/identity_file.ts";
import { makeIntent } from "../../support/intents.ts";
import type { Requirements } from "./index.ts";

export const identity: Requirements = {
  needs: [],
  stage: () => ({
    readers: {
      "json identity": (example) => void readIdentityFile(JSON.stringify(example)),
      "json principals": (principals) => void makeIntent({ principals }),
      "yaml oauth2-proxy": ({ injectRequestHeaders: [header] }) =>
        expect(header.name.toLowerCase()).toBe(
          readIdentityFile('{"preset":"oauth2-proxy","issuer":"https://a","audience":"b","jwks_url":"https://a/c"}')
            .header,
        ),
    },
  }),
};

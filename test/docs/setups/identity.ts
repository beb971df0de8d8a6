/** Setup of docs/identity.md: the service accepts the example files, and oauth2-proxy sets the header of its preset. */
import { expect } from "vitest";
import { readIdentityFile } from "../../../lib/identity/identity_file.ts";
import { makeIntent } from "../../support/intents.ts";
import type { DocumentSetup } from "./index.ts";

export const identity: DocumentSetup = {
  programs: [],
  prepare: () => ({
    exampleChecks: {
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

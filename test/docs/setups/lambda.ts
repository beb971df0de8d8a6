/** Setup of docs/lambda.md: checks of the example secret and of the example authorizer. */
import { expect } from "vitest";
import { addSecrets } from "../../../lib/hosts/lambda/secrets.ts";
import type { DocumentSetup } from "./index.ts";

/** Creates a `fetch` that answers as Secrets Manager with a secret. */
const fakeSecretsManager =
  (secret: unknown): typeof fetch =>
  async () =>
    Response.json({ SecretString: JSON.stringify(secret) });

const ENV = {
  SVC_SECRETS_ARN: "arn",
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "key",
};

export const lambda: DocumentSetup = {
  prepare: () => ({
    exampleChecks: {
      "json secret": async (secret) =>
        expect(await addSecrets(ENV, fakeSecretsManager(secret))).toEqual({ ...ENV, ...secret }),
      // test/deployments.long.test.ts verifies the template with this part by SAM.
      "yaml authorizer": ({ Api }) => expect(Object.keys(Api.Properties)).toEqual(["Auth"]),
    },
  }),
};

import { expect } from "vitest";
import { addSecrets } from "../../../lib/hosts/lambda/secrets.ts";
import type { Requirements } from "./index.ts";

/** Stands in for Secrets Manager with this secret. */
const secretsManager =
  (secret: unknown): typeof fetch =>
  async () =>
    Response.json({ SecretString: JSON.stringify(secret) });

const ENV = {
  SVC_SECRETS_ARN: "arn",
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "key",
};

export const lambda: Requirements = {
  stage: () => ({
    readers: {
      "json secret": async (secret) =>
        expect(await addSecrets(ENV, secretsManager(secret))).toEqual({ ...ENV, ...secret }),
      // test/deployments.long.test.ts compares it, as part of the template, with the output of SAM.
      "yaml authorizer": ({ Api }) => expect(Object.keys(Api.Properties)).toEqual(["Auth"]),
    },
  }),
};

import { expect } from "vitest";
import { addSecrets } from "../../../lib/hosts/lambda/secrets.ts";
import type { Own } from "./index.ts";

/** Secrets Manager, where it holds this secret. */
const holding =
  (secret: unknown): typeof fetch =>
  async () =>
    Response.json({ SecretString: JSON.stringify(secret) });

const ENV = {
  SVC_SECRETS_ARN: "arn",
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "key",
};

export const lambda: Own = {
  stage: () => ({
    readers: {
      "json secret": async (secret) => expect(await addSecrets(ENV, holding(secret))).toEqual({ ...ENV, ...secret }),
      // test/deployments.long.test.ts holds it, in the template, against what SAM makes of it.
      "yaml authorizer": ({ Api }) => expect(Object.keys(Api.Properties)).toEqual(["Auth"]),
    },
  }),
};

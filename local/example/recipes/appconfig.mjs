/**
 * AWS AppConfig, API 2019-10-09: a target is a member of one JSON document in the hosted configuration store. A write
 * creates a version that follows the deployed one (`Latest-Version-Number`), and deploys it. While a deployment runs or bakes,
 * AppConfig starts no other, so use a deployment strategy of 100 % without duration and bake time. Needs `npm install aws4fetch` and the rights
 * appconfig:ListDeployments, StartDeployment, and Get, Create and DeleteHostedConfigurationVersion.
 *
 *     AWS_REGION=eu-central-1 APPLICATION=abc1234 PROFILE=def5678 PROFILE_NAME=settings ENVIRONMENT=ghi9012 \
 *       STRATEGY=jkl3456 SVC_ADAPTER_SECRET=… node appconfig.mjs
 */
import { Conflict, RequestRejected, request, runRecipe } from "./receiver.mjs";

/** States of a deployment in which its version is served. */
const SERVED = ["DEPLOYING", "BAKING", "COMPLETE"];

export function appconfig({ url, application, profile, profileName, environment, strategy, send }) {
  const versions = `${url}/applications/${application}/configurationprofiles/${profile}/hostedconfigurationversions`;
  const deployments = `${url}/applications/${application}/environments/${environment}/deployments`;
  const toKey = ({ tenant_id, target }) => JSON.stringify([tenant_id, target.toLowerCase()]);

  return {
    async read(change) {
      // The newest deployment comes first.
      const { Items } = await (await request(`${deployments}?max_results=50`, { send })).json();
      const latest = Items.find(
        ({ ConfigurationName, State }) => ConfigurationName === profileName && SERVED.includes(State),
      );
      if (!latest) return { value: undefined, version: { number: undefined, document: {} } };
      const number = latest.ConfigurationVersion;
      const document = await (await request(`${versions}/${number}`, { send })).json();
      return { value: document[toKey(change)], version: { number, document } };
    },

    async write(change, value, { version: { number, document } }) {
      const json = { "content-type": "application/json" };
      const created = await request(versions, {
        method: "POST",
        headers: {
          ...json,
          description: change.change_id,
          ...(number !== undefined && { "latest-version-number": number }),
        },
        body: JSON.stringify({ ...document, [toKey(change)]: value }),
        send,
      });
      const newVersion = created.headers.get("version-number");
      const body = JSON.stringify({
        ConfigurationProfileId: profile,
        ConfigurationVersion: newVersion,
        DeploymentStrategyId: strategy,
        Description: change.change_id,
      });
      try {
        await request(deployments, { method: "POST", headers: json, body, send });
      } catch (error) {
        // A version that is not deployed would make the next creation a conflict.
        if (!(error instanceof Conflict)) throw error;
        await request(`${versions}/${newVersion}`, { method: "DELETE", send });
        throw new RequestRejected("another deployment is running; try again when it is complete", 409);
      }
    },
  };
}

runRecipe(import.meta.url, async (env) => {
  const { AwsClient } = await import("aws4fetch");
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = env;
  const aws = new AwsClient({
    accessKeyId,
    secretAccessKey,
    sessionToken,
    region: env.AWS_REGION,
    service: "appconfig",
  });
  return appconfig({
    url: `https://appconfig.${env.AWS_REGION}.amazonaws.com`,
    application: env.APPLICATION,
    profile: env.PROFILE,
    profileName: env.PROFILE_NAME,
    environment: env.ENVIRONMENT,
    strategy: env.STRATEGY,
    send: (url, init) => aws.fetch(url, init),
  });
});

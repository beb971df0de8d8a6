/** Signed requests to the JSON protocols of AWS. */
import { AwsV4Signer } from "aws4fetch";

/** Access keys of AWS; temporary keys have a session token. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** A request to an AWS service. */
export interface AwsRequest {
  service: string;
  region: string;
  url: string;
  /** The operation, such as `DynamoDB_20120810.GetItem`. */
  target: string;
  /** Version of the JSON protocol. */
  version: "1.0" | "1.1";
  body: string;
  /** Time limit of the answer; milliseconds. */
  limit: number;
}

/** Signs a request and sends it; `cache` stores signing keys between requests. */
export async function askAws(
  { service, region, url, target, version, body, limit }: AwsRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  send: typeof fetch,
  cache?: Map<string, ArrayBuffer>,
): Promise<Response> {
  const signer = new AwsV4Signer({
    method: "POST",
    url,
    headers: { "content-type": `application/x-amz-json-${version}`, "x-amz-target": target },
    body,
    service,
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    ...(cache && { cache }),
  });
  const { headers } = await signer.sign();
  return send(url, { method: "POST", headers, body, redirect: "manual", signal: AbortSignal.timeout(limit) });
}

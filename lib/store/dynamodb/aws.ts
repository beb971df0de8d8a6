/** Signed requests to the JSON protocols of AWS. */
import { AwsV4Signer } from "aws4fetch";

/** Keys of AWS; temporary ones have a session token. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** Which service is asked for what. */
export interface AwsRequest {
  service: string;
  region: string;
  url: string;
  /** `DynamoDB_20120810.GetItem` */
  target: string;
  /** Version of the protocol. */
  version: "1.0" | "1.1";
  body: string;
  /** How long to wait for the answer; milliseconds. */
  limit: number;
}

/** Signs a request and sends it; `cache` keeps signing keys from one request to the next. */
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

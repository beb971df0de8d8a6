/** Posts a notification once, and describes a failure in plain words, without the receiver's address, which may be a secret. */
import { readCappedText } from "../../kit/capped_text.ts";
import { readRetryDelay } from "../../kit/retry_delay.ts";
import { runUntilStopped, Unanswered } from "../../kit/time_limit.ts";
import { type Trace, traceHeaders } from "../../kit/trace.ts";
import { signWebhook } from "../../kit/webhook_signature.ts";
import { formatBody, type NotifyFormat } from "./format.ts";
import type { Notification } from "./notification.ts";

/** Address and format of a receiver. */
export interface Receiver {
  url: string;
  format: NotifyFormat;
  /** Signs JSON bodies; the addresses of Slack and Teams are secrets themselves. */
  key?: Uint8Array | undefined;
}

/** A failure with the pause that the receiver requests, in milliseconds. */
export interface FailedAttempt {
  failure: string;
  retryAfterMs?: number | undefined;
}

interface Attempt {
  send: typeof fetch;
  /** Time limit for the answer; milliseconds. */
  timeout: number;
  stopped: AbortSignal;
  now: number;
  trace: Trace | undefined;
}

/** Sends once; resolves with undefined if the receiver accepted it. */
export async function post(
  { url, format, key }: Receiver,
  notification: Notification,
  { send, timeout, stopped, now, trace }: Attempt,
): Promise<FailedAttempt | undefined> {
  const body = formatBody[format](notification);
  const headers = {
    "content-type": "application/json",
    "user-agent": "countersign",
    ...(trace && traceHeaders(trace)),
  };
  const signed = key && format === "json" ? buildSignatureHeaders(key, notification.id, now, body) : {};
  const event = format === "json" ? buildCloudEventHeaders(notification) : {};
  const attempt = async (signal: AbortSignal): Promise<FailedAttempt | undefined> => {
    const init = { method: "POST", body, redirect: "manual", headers: { ...headers, ...event, ...signed } } as const;
    const response = await send(url, { ...init, signal });
    if (response.ok && format !== "teams") return void (await response.body?.cancel());
    const answer = (await readCappedText(response, MAX_READ_BYTES)) ?? "";
    if (response.ok) return findTeamsFailure(response.status, answer);
    return {
      failure: describeFailure(format, response.status, answer.trim()),
      retryAfterMs: readRetryDelay(response, now),
    };
  };
  try {
    return await runUntilStopped(stopped, attempt, timeout);
  } catch (error) {
    return error instanceof Unanswered
      ? { failure: `the receiver did not answer within ${timeout / 1000} s` }
      : { failure: "the receiver could not be reached" };
  }
}

/** Bytes to read of a rejection, whose reason is usually one word. */
const MAX_READ_BYTES = 1000;

function buildSignatureHeaders(key: Uint8Array, id: string, now: number, body: string): Record<string, string> {
  const seconds = Math.floor(now / 1000);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signWebhook(key, id, seconds, body),
  };
}

/** Headers of a CloudEvents 1.0 event in binary mode, whose data is the body; they are not signed. */
const buildCloudEventHeaders = ({ id, type, timestamp, instance_id, data }: Notification): Record<string, string> => ({
  "ce-specversion": "1.0",
  "ce-id": id,
  "ce-source": `/countersign/${encodeURIComponent(instance_id)}`,
  "ce-type": `dev.countersign.${type}`,
  "ce-time": timestamp,
  ...(data.change && { "ce-subject": data.change.change_id }),
});

/** Finds a failure in an answer of Teams, which answers 200 also if it did not deliver. */
function findTeamsFailure(status: number, answer: string): FailedAttempt | undefined {
  if (!/delivery failed/i.test(answer)) return undefined;
  const inner = /HTTP error (\d{3})/i.exec(answer)?.[1];
  const cause = inner === undefined ? "" : ` with HTTP error ${inner}`;
  return { failure: `the receiver answered ${status}, and Teams says that the delivery failed${cause}` };
}

/** Meaning of Slack's error codes. Other texts of a receiver are not repeated, since they may contain anything. */
const SLACK_ERRORS: Readonly<Record<string, string>> = {
  no_service: "its webhook was removed or disabled; make a new one in Slack and give its address as --notify-url",
  no_service_id: "the address of the webhook is incomplete; copy it again from Slack",
  no_team: "the workspace is gone or inactive; make a webhook in another one",
  invalid_token: "the address of the webhook is incomplete, or was withdrawn; copy it again from Slack",
  channel_not_found: "the channel of the webhook is gone; make a webhook for another channel",
  channel_is_archived: "the channel of the webhook is archived; open it again, or make a webhook for another one",
  action_prohibited: "an administrator of the workspace forbids what the webhook does",
  posting_to_general_channel_denied: "only some may post to that channel; make a webhook for another one",
  user_not_found: "the person whom the webhook writes to is gone; make a webhook for a channel",
};

function describeFailure(format: NotifyFormat, status: number, answer: string): string {
  const slackError = format === "slack" ? SLACK_ERRORS[answer] : undefined;
  const summary = `the receiver answered ${status}`;
  if (slackError) return `${summary} ${answer}: ${slackError}`;
  if (status === 429) return `${summary}: it asks for a pause`;
  if (status === 404 || status === 410)
    return `${summary}: there is nothing at this address any more; give the right one as --notify-url`;
  if (status === 401 || status === 403)
    return format === "json"
      ? `${summary}: it does not let this service in; its secret must be SVC_NOTIFY_SECRET`
      : `${summary}: it does not let this service in; make a new webhook and give its address as --notify-url`;
  if (status === 400 && format !== "json")
    return `${summary}: it does not read this as a message; does --notify-format fit the address?`;
  return summary;
}

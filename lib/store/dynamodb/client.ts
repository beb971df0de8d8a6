/** A client of DynamoDB's JSON protocol over `fetch`, which signs requests, retries them and classifies errors. */
import { type Pacing, pauseMs } from "../engine/pacing.ts";
import { StoreBusy, StoreUnavailable } from "../store.ts";
import { askAws, type AwsCredentials } from "./aws.ts";

/** Location of the table, and credentials. */
export interface DynamoDbAccess {
  table: string;
  /** The AWS region, such as `eu-central-1`. */
  region: string;
  /** A function is called before each request, since the keys of a role are renewed while the program runs. */
  credentials: AwsCredentials | (() => AwsCredentials | Promise<AwsCredentials>);
  /** Address of a server other than AWS, such as `http://127.0.0.1:8000`. */
  endpoint?: string;
  fetch?: typeof fetch;
}

/** Time limits; milliseconds. */
export interface DynamoDbLimits {
  /** One answer. */
  answer: number;
  /** All tries of a request. */
  patience: number;
  /** All tries of a commit, whose result must be known. */
  findOut: number;
}

/** An error answer of DynamoDB. `reasons` has one code for each item of a cancelled transaction, `None` for an item without error. */
export class DynamoDbError extends StoreUnavailable {
  constructor(
    place: string,
    readonly code: string,
    readonly answer: string,
    readonly reasons: readonly string[] = [],
  ) {
    const hint = code === "ResourceNotFoundException" ? "; make the table first" : "";
    super(`${place}: ${code}: ${answer}${hint}`);
  }
}

/** A request got no final answer in time, and may have been executed. */
export class NoAnswer extends StoreUnavailable {}

/** A client of one table. */
export interface DynamoDbClient {
  /**
   * Sends a request and repeats it for `patience` milliseconds until it is answered. Errors: `DynamoDbError`; `NoAnswer`;
   * `StoreBusy` if the table was throttled all the time, so that nothing was executed.
   */
  call<T = unknown>(operation: string, body: object, patience?: number): Promise<T>;
  /** Table and region, for messages. */
  place: string;
  table: string;
}

/** Codes of requests that were rejected because of the load: nothing was executed. */
const THROTTLED = /^(Throttl|ProvisionedThroughputExceeded|RequestLimitExceeded)/;
/** Codes of requests that may have been executed. */
const UNSURE = /^(TransactionInProgress|InternalServerError|InternalFailure|ServiceUnavailable)/;

const CANCELLED = "TransactionCanceledException";

/** Creates a client. */
export function dynamoDbClient(
  access: DynamoDbAccess,
  limits: DynamoDbLimits,
  { clock, random }: Pacing,
): DynamoDbClient {
  const { table, region, credentials, fetch: send = fetch } = access;
  const url = access.endpoint ?? `https://dynamodb.${region}.amazonaws.com/`;
  const place = `DynamoDB table ${table} in ${region}`;
  const signingKeys = new Map<string, ArrayBuffer>();

  const ask = async (operation: string, body: string): Promise<unknown> => {
    const keys = typeof credentials === "function" ? await credentials() : credentials;
    const target = `DynamoDB_20120810.${operation}`;
    const request = { service: "dynamodb", region, url, target, version: "1.0", body, limit: limits.answer } as const;
    const response = await askAws(request, keys, send, signingKeys);
    const text = await response.text();
    if (response.ok) return JSON.parse(text);
    throw parseError(place, response.status, text);
  };

  return {
    place,
    table,
    async call<T>(operation: string, body: object, patience = limits.patience) {
      const text = JSON.stringify(body);
      const start = clock.now();
      let isAnswerLost = false;
      // Only a lost answer justifies a longer wait than `limits.patience`; a table that throttles is busy.
      const end = (): number => start + (isAnswerLost ? patience : Math.min(patience, limits.patience));
      for (let tries = 1; ; tries++) {
        try {
          return (await ask(operation, text)) as T;
        } catch (error) {
          const isRejected = error instanceof DynamoDbError && !isRetryable(error);
          // After a lost answer, the rejection of a later try does not show whether the first try was executed. A failed
          // condition does: the repeat of an executed transaction would have succeeded.
          if (isRejected && (!isAnswerLost || error.reasons.includes("ConditionalCheckFailed"))) throw error;
          // Any other error counts as a lost answer, since it does not show whether DynamoDB received the request.
          isAnswerLost ||= !(error instanceof DynamoDbError) || UNSURE.test(error.code);
          const pause = pauseMs(tries, random);
          // After a lost answer, a cancelled transaction is tried again to learn the result of the first try.
          const mayRetry = !isRejected || error.code === CANCELLED;
          const isInTime = clock.now() + pause < end();
          if (mayRetry && isInTime) {
            await clock.sleep(pause);
            // Checked again: after a long suspension DynamoDB may have forgotten the token, and would execute a repeat twice.
            if (clock.now() < end()) continue;
          }
          const ResultError = isAnswerLost ? NoAnswer : StoreBusy;
          throw new ResultError(`${place}: ${operation} found no answer: ${describeError(error)}`, { cause: error });
        }
      }
    },
  };
}

/** Returns whether the same request may succeed when it is repeated. */
function isRetryable({ code, reasons }: DynamoDbError): boolean {
  if (code !== CANCELLED) return THROTTLED.test(code) || UNSURE.test(code);
  const named = reasons.filter((reason) => reason !== "None");
  return named.length > 0 && named.every((reason) => THROTTLED.test(reason));
}

interface ErrorBody {
  __type?: string;
  message?: string;
  Message?: string;
  CancellationReasons?: { Code?: string }[];
}

function parseError(place: string, status: number, text: string): DynamoDbError {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // A proxy may answer without JSON; its status is enough.
  }
  const code = body["__type"]?.split("#").at(-1) ?? (status >= 500 ? "ServiceUnavailable" : `HTTP ${status}`);
  const reasons = body.CancellationReasons?.map(({ Code = "None" }) => Code);
  return new DynamoDbError(place, code, body.message ?? body.Message ?? `status ${status}`, reasons);
}

/** Describes an error; `fetch` puts the reason of a lost connection into `cause`. */
function describeError(error: unknown): string {
  if (error instanceof DynamoDbError) return `${error.code}: ${error.answer}`;
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return `${error.message} (${cause.message || ("code" in cause ? String(cause.code) : cause.name)})`;
}

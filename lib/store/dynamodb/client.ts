/** DynamoDB's JSON protocol over `fetch`: signed, with answers that are waited for and failures that are sorted. */
import { type Pacing, pauseMs } from "../engine/pacing.ts";
import { StoreBusy, StoreUnavailable } from "../store.ts";
import { askAws, type AwsCredentials } from "./aws.ts";

/** Location of the table, and credentials. */
export interface DynamoDbAccess {
  table: string;
  /** `eu-central-1` */
  region: string;
  /** A function is asked before each request, since keys of a role are renewed while the program runs. */
  credentials: AwsCredentials | (() => AwsCredentials | Promise<AwsCredentials>);
  /** For a server other than AWS's own: `http://127.0.0.1:8000`. */
  endpoint?: string;
  fetch?: typeof fetch;
}

/** How long to wait for what; milliseconds. */
export interface DynamoDbLimits {
  /** For one answer. */
  answer: number;
  /** For a request that may be repeated: all its tries. */
  patience: number;
  /** For a commit, whose outcome must be known. */
  findOut: number;
}

/** A rejection by DynamoDB. `reasons` are those of a cancelled transaction, `None` where an item had none. */
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

/** No final answer in time to a request that may have been carried out. */
export class NoAnswer extends StoreUnavailable {}

/** Speaks to one table. */
export interface DynamoDbClient {
  /**
   * `patience`: how long a request is repeated that finds no answer; milliseconds. Errors: `DynamoDbError`, `NoAnswer`, and
   * `StoreBusy` when nothing was done for all that time.
   */
  call<T = unknown>(operation: string, body: object, patience?: number): Promise<T>;
  /** Table and region, for messages. */
  place: string;
  table: string;
}

/** Refused because of the load: nothing was done. */
const THROTTLED = /^(Throttl|ProvisionedThroughputExceeded|RequestLimitExceeded)/;
/** Not answered yet, or by a fault of the service: it may have been done. */
const UNSURE = /^(TransactionInProgress|InternalServerError|InternalFailure|ServiceUnavailable)/;

const CANCELLED = "TransactionCanceledException";

/** Makes a client. */
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
      const begun = clock.now();
      // A table that only throttles is busy; only a lost answer is worth asking about for longer.
      const end = (): number => begun + (lost ? patience : Math.min(patience, limits.patience));
      let lost = false;
      for (let tries = 1; ; tries++) {
        try {
          return (await ask(operation, text)) as T;
        } catch (error) {
          const isRejected = error instanceof DynamoDbError && !isRetryable(error);
          // After a lost answer a refusal is about this asking, and the first may yet be carried out; only a condition that
          // does not hold is one for both.
          if (isRejected && (!lost || error.reasons.includes("ConditionalCheckFailed"))) throw error;
          lost ||= !(error instanceof DynamoDbError) || UNSURE.test(error.code);
          const pause = pauseMs(tries, random);
          const again = (!isRejected || error.code === CANCELLED) && clock.now() + pause < end();
          if (again) await clock.sleep(pause);
          // Also after the pause: a process that is halted in it may wake when the token is remembered no more.
          if (!again || clock.now() >= end())
            throw new (lost ? NoAnswer : StoreBusy)(`${place}: ${operation} found no answer: ${describeError(error)}`, {
              cause: error,
            });
        }
      }
    },
  };
}

/** Returns whether the same request may succeed when it is made again. */
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

/** `fetch` keeps the reason of a lost connection one level deeper. */
function describeError(error: unknown): string {
  if (error instanceof DynamoDbError) return `${error.code}: ${error.answer}`;
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return `${error.message} (${cause.message || ("code" in cause ? String(cause.code) : cause.name)})`;
}

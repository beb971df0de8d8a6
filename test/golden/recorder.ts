/** Sends requests to a service and records the first success of each endpoint. */
import type { TestClock } from "../support/clock.ts";
import { SECOND } from "../support/clock.ts";
import { findEndpoint } from "../support/checked_fetch.ts";
import type { Fetch, Reply } from "../support/client.ts";
import { ORIGIN, requestPath } from "../support/requests.ts";

/** A request and its response, in the form of a golden file. */
export interface Exchange {
  request: string;
  sent?: object;
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

type Sent = Readonly<Record<string, unknown>>;

/** A client of a service; the clock advances by a second before each request. */
export interface Recorder {
  post(path: string, sent?: Sent | string, headers?: Record<string, string>): Promise<Reply["body"]>;
  get(path: string, headers?: Record<string, string>): Promise<Exchange>;
  /** Sends a request without recording its response. */
  exchange(method: string, path: string, sent?: Sent | string, headers?: Record<string, string>): Promise<Exchange>;
  /** The first success of each endpoint, by its operation. */
  answers: Map<string, Exchange>;
  /** Replaces the service, for example after a restart. */
  setService(fetch: Fetch): void;
}

export function createRecorder(clock: TestClock): Recorder {
  const answers = new Map<string, Exchange>();
  let fetch: Fetch;

  async function exchange(
    method: string,
    path: string,
    sent?: Sent | string,
    headers: Record<string, string> = {},
  ): Promise<Exchange> {
    clock.advance(SECOND);
    const url = ORIGIN + requestPath(path);
    const isText = typeof sent === "string";
    const response = await fetch(
      new Request(url, {
        method,
        headers: {
          "x-request-id": "golden",
          ...(sent && !isText && { "content-type": "application/json" }),
          ...headers,
        },
        ...(sent && { body: isText ? sent : JSON.stringify(sent) }),
      }),
    );
    return {
      request: `${method} ${requestPath(path)}`,
      ...(sent && { sent: isText ? sent.split("\n") : sent }),
      status: response.status,
      headers: listHeaders(response),
      body: await readBody(response),
    };
  }

  async function sendAndRecord(...request: Parameters<Recorder["exchange"]>): Promise<Exchange> {
    const result = await exchange(...request);
    const { operation } = findEndpoint(request[0], new URL(ORIGIN + requestPath(request[1])).pathname)!;
    if (result.status < 300 && !answers.has(operation)) answers.set(operation, result);
    return result;
  }

  return {
    answers,
    exchange,
    setService: (next) => void (fetch = next),
    get: (path, headers) => sendAndRecord("GET", path, undefined, headers),
    async post(path, sent = {}, headers) {
      const { status, body } = await sendAndRecord("POST", path, sent, headers);
      if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
      return body;
    },
  };
}

/** Lists the headers of a response, except the id of the request. */
const listHeaders = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name !== "x-request-id").sort());

/** Returns JSON as parsed, a text as its lines, and an archive as its files. */
async function readBody(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (type === "application/x-tar") return readArchive(Buffer.from(await response.arrayBuffer()));
  const text = await response.text();
  if (text === "") return null;
  return type.startsWith("application/json") ? JSON.parse(text) : text.split("\n");
}

/**
 * Returns the lines of each file of a tar archive, by name, mode and time. A header of 512 bytes comes before each file, whose
 * content fills further blocks of 512 bytes; a block of zeros ends the archive.
 */
function readArchive(bytes: Buffer): Record<string, string[]> {
  const files: Record<string, string[]> = {};
  for (let at = 0; bytes[at] !== 0;) {
    const field = (from: number, length: number) =>
      bytes
        .toString("latin1", at + from, at + from + length)
        .split("\0")[0]!
        .trim();
    const size = parseInt(field(124, 12), 8);
    files[`${field(0, 100)} (mode ${field(100, 8)}, time ${field(136, 12)})`] = bytes
      .toString("utf8", at + 512, at + 512 + size)
      .split("\n");
    at += 512 * (1 + Math.ceil(size / 512));
  }
  return files;
}

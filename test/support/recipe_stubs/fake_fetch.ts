/** Replaces `fetch` in a recipe for the webhook adapter, together with the API that the recipe calls. */

/** A request as the system received it, with parsed body and the headers that the API documents. */
export interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: unknown;
}

/** A recipe's system on a stub of the API, with the requests that the stub received. */
export interface Stub {
  system: object;
  requests: Sent[];
  /** Sets a target, by default that of the recipe, as another program does. */
  edit(value: unknown, target?: string): void;
  /** Runs once between the next read and the write after it. */
  beforeWrite(run: () => void): void;
  /** Answers every later request with a status. */
  fail(status: number): void;
  /** Starts a deployment of something else, which runs until the returned function is called. */
  startDeployment?(): () => void;
}

/** A recipe under test. */
export interface Recipe {
  makeSystem(): Promise<Stub> | Stub;
  /** The value before the change, the value of the change, and the value that another program sets. */
  values: [before: unknown, next: unknown, foreign: unknown];
  /** The requests that an apply of the change sends. */
  applyRequests: Sent[];
}

interface Answer {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

type Route = (sent: Sent) => Answer | undefined;

const isWrite = ({ method }: Sent): boolean => method !== "GET";

/**
 * Makes a `fetch` that records requests with their `documented` headers, and answers them by `route`. The function of
 * `beforeWrite` runs before the next request for which `isFirstWrite` returns true.
 */
export function fakeFetch(documented: string[], route: Route, isFirstWrite: (sent: Sent) => boolean = isWrite) {
  const requests: Sent[] = [];
  let hook: (() => void) | undefined;
  let failure: number | undefined;
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url);
    const all = new Headers(init.headers);
    const headers = Object.fromEntries(documented.flatMap((name) => (all.has(name) ? [[name, all.get(name)!]] : [])));
    const body = init.body === undefined || init.body === null ? {} : { body: JSON.parse(String(init.body)) };
    const sent: Sent = { method: init.method!, path: pathname + search, headers, ...body };
    requests.push(sent);
    if (failure !== undefined) return new Response("{}", { status: failure });
    if (hook && isFirstWrite(sent)) {
      const run = hook;
      hook = undefined;
      run();
    }
    const answer = route(sent) ?? { status: 404 };
    return new Response(answer.body === undefined ? null : JSON.stringify(answer.body), {
      status: answer.status ?? 200,
      headers: answer.headers ?? {},
    });
  };
  return {
    send,
    requests,
    beforeWrite: (run: () => void) => void (hook = run),
    fail: (status: number) => void (failure = status),
  };
}

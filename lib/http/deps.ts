import type { PersonTokens } from "../identity/person_token.ts";
import type { GateTokens } from "../identity/gate_issuers.ts";
import type { Clock, Ids, Log, Sha256 } from "../kit/platform.ts";

/** A fetch-style handler. */
export type Handler = (request: Request) => Promise<Response>;

/** Dependencies of every endpoint before its own work begins. */
export interface HttpDeps {
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** Absent: the product runtime is off, and its endpoints answer 503. */
  product?: object | undefined;
  /** Absent or empty: writes need no token. */
  adminToken?: string | undefined;
  /** False: without an admin token every write is refused. Hosts that anybody on the internet can reach say so. */
  allowAnonymousWrites?: boolean | undefined;
  /** Chat, tasks and feedback need the admin token too. */
  protectAll?: boolean | undefined;
  /** The agents of the intent, each by the SHA-256 of its secret in lower-case hex; `readsOwn`: only its own changes. */
  agents?: readonly { name: string; token_sha256: string; readsOwn?: true | undefined }[] | undefined;
  /** Reads need a credential too: the admin token, the read token, an agent's secret or the proxy's word. */
  protectReads?: boolean | undefined;
  /** Opens reads, and no write that needs a token, in `Authorization: Bearer` or `X-Svc-Read-Token`. */
  readToken?: string | undefined;
  /** Header in which a trusted proxy names the person. */
  identityHeader?: string | undefined;
  /** Verifies the token in which a trusted proxy names the person; then `identityHeader` is not read. */
  identityToken?: PersonTokens | undefined;
  /** Names the person behind a request, in place of the header: the host application's own log-in. Nobody: `null`. */
  person?: ((request: Request) => string | null | undefined) | undefined;
  /** Attribute of an OFREP context that names the tenant, and the targeting key then the user; absent: the targeting key does. */
  ofrepTenant?: string | undefined;
  /** Verifies tokens of CI jobs, which ask for releases and may do nothing else. */
  gateTokens?: GateTokens | undefined;
  /** Further host names whose pages may write, and that `Host` may name. */
  allowedHosts?: readonly string[] | undefined;
  /** Called for each request with an unknown token. */
  wrongToken?: (() => void) | undefined;
  /** Resolves after so many milliseconds; by the host's timer where it is not given. */
  pause?: ((ms: number) => Promise<void>) | undefined;
  /** The same handler, measured under the declared path that it answers, `other` where there is none. */
  measured?: ((handler: Handler, path: string) => Handler) | undefined;
  /** Resolves in the next turn of the event loop, on a host with many concurrent callers: reads that they share are made then. */
  nextTurn?: (() => Promise<void>) | undefined;
  /** A faster `Response` where the host has one. */
  Response?: typeof Response | undefined;
}

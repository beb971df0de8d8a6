/** Dependencies that every endpoint has. */
import type { PersonTokens } from "../identity/person_token.ts";
import type { GateTokens } from "../identity/gate_issuers.ts";
import type { Clock, Ids, Log, Sha256 } from "../kit/platform.ts";

/** A fetch-style handler. */
export type Handler = (request: Request) => Promise<Response>;

export interface HttpDeps {
  clock: Clock;
  ids: Ids;
  sha256: Sha256;
  log: Log;
  /** Absent: the product runtime is off, and its endpoints answer 503. */
  product?: object | undefined;
  /** Absent or empty: writes need no token. */
  adminToken?: string | undefined;
  /** False, on hosts that anybody on the internet can reach: without an admin token every write is rejected. */
  allowAnonymousWrites?: boolean | undefined;
  /** Chat, tasks and feedback need the admin token too. */
  protectAll?: boolean | undefined;
  /** The agents of the intent, each by the SHA-256 of its secret in lower-case hex; `readsOwn`: only its own changes. */
  agents?: readonly { name: string; token_sha256: string; readsOwn?: true | undefined }[] | undefined;
  /** Reads need a credential too: the admin token, the read token, an agent's secret, or a person whom the proxy names. */
  protectReads?: boolean | undefined;
  /** Token for reads, and for writes that need no token, in `Authorization: Bearer` or `X-Svc-Read-Token`. */
  readToken?: string | undefined;
  /** Header in which a trusted proxy names the person. */
  identityHeader?: string | undefined;
  /** Verifies the token in which a trusted proxy names the person; replaces `identityHeader`. */
  identityToken?: PersonTokens | undefined;
  /** Names the person who is logged in at the host application, in place of the header; `null`: nobody. */
  person?: ((request: Request) => string | null | undefined) | undefined;
  /** Attribute of an OFREP context that names the tenant; the targeting key is then the user. Absent: it is the tenant. */
  ofrepTenant?: string | undefined;
  /** Verifies tokens of CI jobs, which may only ask a gate for a decision. */
  gateTokens?: GateTokens | undefined;
  /** Further names that `Host` may have, and whose pages may write. */
  allowedHosts?: readonly string[] | undefined;
  /** Called for each request with an unknown token. */
  onWrongToken?: (() => void) | undefined;
  /** Resolves after so many milliseconds; absent: a timer of the host. */
  pause?: ((ms: number) => Promise<void>) | undefined;
  /** Returns the handler with its requests measured under their declared path, or `other`. */
  measure?: ((handler: Handler, path: string) => Handler) | undefined;
  /** Resolves in the next turn of the event loop. Present on hosts that share concurrent reads. */
  waitForNextTurn?: (() => Promise<void>) | undefined;
  /** A faster `Response` of the host. */
  Response?: typeof Response | undefined;
}

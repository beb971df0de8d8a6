/** Finds the address of a client, and the name under which its waiting requests are counted. */
import type { Call } from "./endpoint.ts";

/** Returns the client's address if the host provides it, as Node's server does; behind a proxy, the proxy's address. */
export const clientAddress = (request: Request): string | undefined => (request as Request & { ip?: string }).ip;

/** Returns the name under which a waiting request is counted: the agent, the named person, else the address. */
export const findWaiterName = ({
  identity: { agent, person },
  request,
}: Pick<Call, "identity" | "request">): string | undefined => agent ?? (person || clientAddress(request));

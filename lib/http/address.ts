import type { Asker } from "./admission.ts";

/** The address that a request came from, where the host tells: Node's server does. Behind a proxy it is the proxy's. */
export const addressOf = (request: Request): string | undefined => (request as Request & { ip?: string }).ip;

/** Whose places a request takes: the agent's, the named person's, else its address'. */
export const placeHolderOf = ({ agent, person, request }: Asker & { request: Request }): string | undefined =>
  agent ?? (person || addressOf(request));

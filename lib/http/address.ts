/** The address that a request came from, where the host tells: Node's server does. Behind a proxy it is the proxy's. */
export const addressOf = (request: Request): string | undefined => (request as Request & { ip?: string }).ip;

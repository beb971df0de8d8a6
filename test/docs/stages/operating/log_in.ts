/** Stands in for oauth2-proxy: answers what nginx and caddy ask it, as `set_xauthrequest` has it answered. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** E-mail addresses of logged-in users by cookie; the second user has none from the provider. */
const PEOPLE: Record<string, string | undefined> = { "session=ana": "ana@acme.example", "session=nobody": undefined };

/** The cookie of a user who is logged in. */
export const ANA = "session=ana";
/** The cookie of a user who is logged in and has no e-mail address. */
export const NOBODY = "session=nobody";

/** A running log-in server. */
export interface LoginServer {
  port: number;
  close(): Promise<void>;
}

/** Starts the log-in server on a free port. */
export async function startLogin(): Promise<LoginServer> {
  const server: Server = createServer(({ url = "", headers: { cookie = "" } }, response) => {
    if (url.startsWith("/oauth2/start"))
      return void response.writeHead(302, { location: "https://id.acme.example/" }).end();
    if (url !== "/oauth2/auth") return void response.writeHead(404).end();
    if (!(cookie in PEOPLE)) return void response.writeHead(401).end("Unauthorized");
    const email = PEOPLE[cookie];
    response
      .writeHead(202, { "x-auth-request-user": "1234567", ...(email && { "x-auth-request-email": email }) })
      .end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

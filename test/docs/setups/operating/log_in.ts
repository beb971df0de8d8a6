/** A server in place of oauth2-proxy: answers the log-in checks of nginx and caddy as oauth2-proxy does with `set_xauthrequest`. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** E-mail addresses of logged-in users by cookie. */
const EMAILS: Record<string, string | undefined> = { "session=ana": "ana@acme.example", "session=no-email": undefined };

/** The cookie of the user Ana. */
export const ANA = "session=ana";
/** The cookie of a user who is logged in and has no e-mail address. */
export const WITHOUT_EMAIL = "session=no-email";

export interface LoginServer {
  port: number;
  close(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startLogin(): Promise<LoginServer> {
  const server: Server = createServer(({ url = "", headers: { cookie = "" } }, response) => {
    if (url.startsWith("/oauth2/start"))
      return void response.writeHead(302, { location: "https://id.acme.example/" }).end();
    if (url !== "/oauth2/auth") return void response.writeHead(404).end();
    if (!(cookie in EMAILS)) return void response.writeHead(401).end("Unauthorized");
    const email = EMAILS[cookie];
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

/** Listens for connections of peers. */
import { createServer, type Server, type Socket } from "node:net";
import { formatAddress } from "./dialer.ts";

/** A listening link. */
export interface Listener {
  /** `host:port`, with the actual port. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Listens, and passes on sockets that are still open. Errors: Node's own (`EADDRINUSE`, …). */
export async function listen(
  at: { host: string; port: number },
  onSocket: (socket: Socket, from: string) => void,
  onError: (error: Error) => void,
): Promise<Listener> {
  const server = createServer((socket) => {
    if (socket.remoteAddress === undefined) socket.destroy();
    else onSocket(socket, socket.remoteAddress);
  });
  const port = await startListening(server, at);
  server.on("error", onError);
  return {
    address: formatAddress(at.host, port),
    port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function startListening(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}

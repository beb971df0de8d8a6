/** The listening side of the link. */
import { createServer, type Server, type Socket } from "node:net";
import { addressText } from "./dialer.ts";

/** A listening link. */
export interface Listener {
  /** `host:port`, the port resolved. */
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Listens; rejects with Node's error (`EADDRINUSE`, …) when it cannot. A socket that is gone already is not handed on. */
export async function listen(
  at: { host: string; port: number },
  onSocket: (socket: Socket, from: string) => void,
  onError: (error: Error) => void,
): Promise<Listener> {
  const server = createServer((socket) => {
    if (socket.remoteAddress === undefined) socket.destroy();
    else onSocket(socket, socket.remoteAddress);
  });
  const port = await started(server, at);
  server.on("error", onError);
  return {
    address: addressText(at.host, port),
    port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function started(server: Server, { host, port }: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    });
  });
}

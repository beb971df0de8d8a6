/** A TCP proxy between the two ends of a link, which records the traffic and can cut it. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { PeerAddress } from "../../../local/option_values.ts";

/** A proxy that forwards and records all bytes. */
export interface RecordingProxy {
  at: PeerAddress;
  fromClient(): Buffer;
  fromServer(): Buffer;
  /** Breaks all connections, and accepts none until `acceptAgain` is called. */
  cut(): void;
  acceptAgain(): void;
  close(): Promise<void>;
}

export async function recordingProxy(address: PeerAddress): Promise<RecordingProxy> {
  const recorded: Record<"client" | "server", Buffer[]> = { client: [], server: [] };
  const sockets = new Set<Socket>();
  let isCut = false;
  const closeAllSockets = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const forward = (from: Socket, to: Socket, side: "client" | "server") => {
    sockets.add(from);
    from.on("data", (chunk: Buffer) => (recorded[side].push(chunk), to.write(chunk)));
    from.on("error", () => {});
    from.on("close", () => to.destroy());
  };
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const target = connect(address);
    forward(client, target, "client");
    forward(target, client, "server");
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    at: { host: "127.0.0.1", port: (server.address() as { port: number }).port },
    fromClient: () => Buffer.concat(recorded.client),
    fromServer: () => Buffer.concat(recorded.server),
    cut() {
      isCut = true;
      closeAllSockets();
    },
    acceptAgain: () => void (isCut = false),
    close: () =>
      new Promise((resolve) => {
        closeAllSockets();
        server.close(() => resolve());
      }),
  };
}

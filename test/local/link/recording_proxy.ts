import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { PeerAddress } from "../../../local/option_values.ts";

/** A wire with somebody on it: all bytes pass, and are kept. */
export interface RecordingProxy {
  at: PeerAddress;
  fromClient(): Buffer;
  fromServer(): Buffer;
  /** Breaks what passes, and lets nothing pass until it is mended. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function recordingProxy(to: PeerAddress): Promise<RecordingProxy> {
  const kept: Record<"client" | "server", Buffer[]> = { client: [], server: [] };
  const sockets = new Set<Socket>();
  let isCut = false;
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const pass = (from: Socket, on: Socket, who: "client" | "server") => {
    sockets.add(from);
    from.on("data", (chunk: Buffer) => (kept[who].push(chunk), on.write(chunk)));
    from.on("error", () => {});
    from.on("close", () => on.destroy());
  };
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const target = connect(to);
    pass(client, target, "client");
    pass(target, client, "server");
  });
  server.listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  return {
    at: { host: "127.0.0.1", port: (server.address() as { port: number }).port },
    fromClient: () => Buffer.concat(kept.client),
    fromServer: () => Buffer.concat(kept.server),
    cut() {
      isCut = true;
      breakAll();
    },
    mend: () => void (isCut = false),
    close: () =>
      new Promise((resolve) => {
        breakAll();
        server.close(() => resolve());
      }),
  };
}

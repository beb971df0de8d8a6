/** A TCP proxy that cuts a connection at the moment that a test chooses. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The message that a cut connection loses: the request or its answer. */
export type Loss = "request" | "answer";

/** A proxy to one server. */
export interface CutProxy {
  /** `127.0.0.1:port`. */
  host: string;
  /** Cuts the next connection that sends this text; resolves when that has happened. */
  lose(loss: Loss, text: string): Promise<void>;
  /** Cuts all connections and rejects new ones until `admit` is called. */
  refuse(): void;
  admit(): void;
  stop(): Promise<void>;
}

/** Starts a proxy. */
export async function startProxy(target: { host: string; port: number }): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  let isRejecting = false;
  let pending: { loss: Loss; text: string; happened(): void } | undefined;

  const server = createServer((client) => {
    if (isRejecting) return void client.destroy();
    const upstream = connect(target);
    /** The requested cut of this connection, from the chunk with the text until the message is lost. */
    let cutting: typeof pending;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
      cutting?.happened();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (chunk) => {
      if (pending && chunk.includes(pending.text)) {
        cutting = pending;
        pending = undefined;
      }
      if (cutting?.loss === "request") return cut();
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => (cutting ? cut() : client.write(chunk)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cutAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    host: `127.0.0.1:${port}`,
    lose: (loss, text) => new Promise<void>((happened) => (pending = { loss, text, happened })),
    refuse() {
      isRejecting = true;
      cutAll();
    },
    admit: () => void (isRejecting = false),
    async stop() {
      server.close();
      cutAll();
      await once(server, "close");
    },
  };
}

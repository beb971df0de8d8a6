/** A TCP proxy that loses a connection at the moment a test asks for. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Direction in which a connection is lost: the request does not arrive, or its answer does not come back. */
export type Loss = "request" | "answer";

/** A proxy to one server. */
export interface CutProxy {
  /** `127.0.0.1:port`. */
  host: string;
  /** Loses the connection that next sends this text; resolves when that has happened. */
  lose(loss: Loss, text: string): Promise<void>;
  /** Cuts all connections and lets no new one through, until `admit`. */
  refuse(): void;
  admit(): void;
  stop(): Promise<void>;
}

/** Starts a proxy. */
export async function startProxy(target: { host: string; port: number }): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  let refusing = false;
  let wanted: { loss: Loss; text: string; happened(): void } | undefined;

  const server = createServer((client) => {
    if (refusing) return void client.destroy();
    const upstream = connect(target);
    let losing: typeof wanted;
    const lose = (): void => {
      client.destroy();
      upstream.destroy();
      losing?.happened();
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
      if (wanted && chunk.includes(wanted.text)) [losing, wanted] = [wanted, undefined];
      if (losing?.loss === "request") return lose();
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => (losing ? lose() : client.write(chunk)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const cutAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    host: `127.0.0.1:${port}`,
    lose: (loss, text) => new Promise<void>((happened) => (wanted = { loss, text, happened })),
    refuse() {
      refusing = true;
      cutAll();
    },
    admit: () => void (refusing = false),
    async stop() {
      server.close();
      cutAll();
      await once(server, "close");
    },
  };
}

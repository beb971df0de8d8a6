/** Sends requests and parses responses byte for byte, which `fetch` does not allow. */
import net from "node:net";

/** Sends bytes unchanged and resolves with all received bytes when the server closes the connection. */
export function sendRaw(url: string, data: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket = net.connect(Number(port), hostname.replace(/[[\]]/g, ""));
    socket.on("data", (piece) => received.push(piece));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(received).toString()));
    socket.write(data);
  });
}

/** Parses a raw response into its status, headers in lower case, and JSON body. */
export function parseRaw(raw: string) {
  const [head = "", body = ""] = raw.split(/\r\n\r\n(.*)/s);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => [line.split(": ")[0]!.toLowerCase(), line.split(": ")[1]]));
  return { status: Number(statusLine.split(" ")[1]), headers, body: JSON.parse(body) };
}

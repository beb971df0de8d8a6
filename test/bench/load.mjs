/** A bounded load on loopback: raw sockets and prepared bytes, so that the client costs as little as it can. */
import { connect } from "node:net";

/** The bytes of one request. */
export function requestBytes(method, path, body = "") {
  const head = [`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", "connection: keep-alive"];
  if (method === "POST")
    head.push("content-type: application/x-www-form-urlencoded", `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/**
 * Sends `bytes` over `connections` sockets, one request at a time on each, until `seconds` are over or `count` are
 * answered. Returns answers a second and latencies in milliseconds. Throws on any status but `expected`.
 */
export async function load({ port, bytes, expected, connections = 64, seconds = Infinity, count = Infinity }) {
  const started = performance.now();
  const end = started + seconds * 1000;
  const latencies = [];
  let sent = 0;
  const client = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      let begun = 0;
      let received = Buffer.alloc(0);
      const next = () => {
        if (sent >= count || performance.now() >= end) return socket.end(resolve);
        sent++;
        begun = performance.now();
        socket.write(bytes);
      };
      socket.on("connect", next);
      socket.on("error", reject);
      socket.on("data", (data) => {
        received = received.length === 0 ? data : Buffer.concat([received, data]);
        const length = answerLength(received);
        if (length === undefined || received.length < length) return;
        const status = Number(received.latin1Slice(9, 12));
        if (status !== expected) return reject(new Error(`answered ${status}: ${received.toString().slice(-300)}`));
        latencies.push(performance.now() - begun);
        received = received.subarray(length);
        next();
      });
    });
  await Promise.all(Array.from({ length: connections }, client));
  const took = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: latencies.length / took,
    p50: at(latencies, 0.5),
    p99: at(latencies, 0.99),
    answers: latencies.length,
  };
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Length of the first answer in the buffer; undefined while its head is not complete. */
function answerLength(buffer) {
  const end = buffer.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const length = /content-length: (\d+)/i.exec(buffer.latin1Slice(0, end));
  if (!length) throw new Error("an answer without content-length");
  return end + 4 + Number(length[1]);
}

/** The middle of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

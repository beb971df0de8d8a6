/** Sends a number of requests over loopback with raw sockets and prepared bytes, so that the client costs little. */
import { connect } from "node:net";

/** Returns the bytes of a request; `form` contains the fields of a POST. */
export function requestBytes(method, path, form) {
  const body = form === undefined ? "" : new URLSearchParams(form).toString();
  const head = [`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", "connection: keep-alive"];
  if (method === "POST")
    head.push("content-type: application/x-www-form-urlencoded", `content-length: ${Buffer.byteLength(body)}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** The example proposal of the specification. */
export const followUp = requestBytes("POST", "/api/product/propose-crm-followup", {
  tenant_id: "t1",
  affected_users: "40",
  expected_delta_k: "12",
});

/** Returns the change id in a response to a proposal. */
export const findChangeId = (answer) => /"change_id":"([^"]+)"/.exec(answer.latin1Slice())[1];

/**
 * Sends `count` requests over `connections` sockets, each of which waits for its response before the next request.
 * `request(n)` returns the bytes of request n; `onAnswer(n, answer)` is called with each complete response. Returns responses a
 * second, their mean body length, and latencies in milliseconds. Throws on any status but `expected`.
 */
export async function load({ port, request, expected, count, connections = 64, onAnswer = () => {} }) {
  const latencies = [];
  let sent = 0;
  let bytes = 0;
  const client = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      let sentAt = 0;
      let current = 0;
      let received = Buffer.alloc(0);
      const next = () => {
        if (sent >= count) return socket.end(resolve);
        current = sent++;
        const message = request(current);
        sentAt = performance.now();
        socket.write(message);
      };
      socket.on("connect", next);
      socket.on("error", reject);
      socket.on("data", (data) => {
        received = received.length === 0 ? data : Buffer.concat([received, data]);
        const [head, body] = measureResponse(received);
        if (received.length < head + body) return;
        const status = Number(readStatus(received));
        if (status !== expected) return reject(new Error(`answered ${status}: ${received.toString().slice(-300)}`));
        latencies.push(performance.now() - sentAt);
        bytes += body;
        onAnswer(current, received);
        received = received.subarray(head + body);
        next();
      });
    });
  const started = performance.now();
  await Promise.all(Array.from({ length: connections }, client));
  const took = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    perSecond: count / took,
    bytes: bytes / count,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Reads the status behind "HTTP/1.1 ". */
const readStatus = (response) => response.latin1Slice(9, 12);

/** Returns the lengths of the first response's head and body; Infinity while the head is not complete. */
function measureResponse(buffer) {
  const end = buffer.indexOf("\r\n\r\n");
  if (end === -1) return [Infinity, 0];
  if (readStatus(buffer) === "304") return [end + 4, 0];
  const length = /content-length: (\d+)/i.exec(buffer.latin1Slice(0, end));
  if (!length) throw new Error("an answer without content-length");
  return [end + 4, Number(length[1])];
}

/** Returns the median. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** What the service is held against: node:http alone. POST echoes the form as JSON, GET answers a fixed page. */
import { createServer } from "node:http";

const page = JSON.stringify({
  entries: Array.from({ length: 100 }, (_, id) => ({ id, text: "x".repeat(Number(process.argv[2] ?? 700)) })),
});

createServer((request, response) => {
  if (request.method === "GET") return send(response, page);
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () =>
    send(response, JSON.stringify(Object.fromEntries(new URLSearchParams(Buffer.concat(pieces).toString())))),
  );
}).listen(0, "127.0.0.1", function () {
  process.send(this.address().port);
});

function send(response, text) {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

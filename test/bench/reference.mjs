/**
 * The service's yardstick: node:http alone, in a process of its own, doing the least that any service must. It parses the
 * same form or JSON (POST) or nothing (GET), and answers as many bytes as a message from its parent says.
 */
import { createServer } from "node:http";

let text = "";

createServer((request, response) => {
  if (request.method === "GET") return send(response);
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const text = Buffer.concat(pieces).toString();
    const isJson = request.headers["content-type"] === "application/json";
    const fields = isJson ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    if (Object.keys(fields).length === 0) throw new Error("an empty form");
    send(response);
  });
}).listen(0, "127.0.0.1", function () {
  process.send({ port: this.address().port });
});

process.on("message", ({ bytes }) => {
  text = JSON.stringify({ text: "x".repeat(Math.max(0, bytes - '{"text":""}'.length)) });
  process.send({ bytes: text.length });
});

function send(response) {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}

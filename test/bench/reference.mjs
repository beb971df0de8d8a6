/**
 * The reference of the benchmarks: a node:http server in its own process with the minimum work of any service. It parses the
 * form or JSON of a POST, and answers as many bytes as its parent process requests.
 */
import { createServer } from "node:http";

let text = "";

createServer((request, response) => {
  if (request.method === "GET") return send(response);
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString();
    const isJson = request.headers["content-type"] === "application/json";
    const fields = isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
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

/**
 * slow_link.mjs PORT MS: forwards connections to a port of this machine, each packet MS milliseconds later. Started by `fork`:
 * it sends its own port to the parent process, and ends with it.
 */
import { connect, createServer } from "node:net";

const [target, ms] = process.argv.slice(2).map(Number);

function forward(from, to) {
  const waiting = [];
  const sendNext = () => {
    const { data, due } = waiting[0];
    const remainingMs = due - performance.now();
    // A timer may fire a millisecond late, so it is set early, and again if it fires too early.
    if (remainingMs > 0) return void setTimeout(sendNext, Math.max(0, remainingMs - 0.5));
    waiting.shift();
    to.write(data);
    if (waiting.length > 0) sendNext();
  };
  from.on("data", (data) => {
    waiting.push({ data, due: performance.now() + ms });
    if (waiting.length === 1) sendNext();
  });
  from.on("error", () => to.destroy()).on("close", () => to.destroy());
}

const server = createServer({ noDelay: true }, (client) => {
  const upstream = connect({ port: target, host: "127.0.0.1", noDelay: true });
  forward(client, upstream);
  forward(upstream, client);
});
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit());

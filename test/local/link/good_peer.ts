/** A process that repeatedly sends requests to a node, and prints their response times when it is stopped. */
import { rawPeer } from "./raw_peer.ts";

const { at, self, secret } = JSON.parse(process.argv[2]!);
const peer = await rawPeer(at, { self, secret });
await peer.event("established");
let stopped = false;
process.once("message", () => (stopped = true));
process.once("disconnect", () => process.exit());
process.send!("established");

const times: number[] = [];
for (let id = 1; !stopped; id++) {
  const started = performance.now();
  peer.socket.write(peer.link.request(id, "query_product_identity", {}));
  await peer.event("response");
  times.push(performance.now() - started);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
process.send!(times, () => process.exit(0));

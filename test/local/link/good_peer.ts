/** A process that repeatedly sends requests to a node, and sends their response times to its parent when it is stopped. */
import { connectRawPeer } from "./raw_peer.ts";

// The process that starts this one passes the node's address, and the identity and secret to use.
const { at, self, secret } = JSON.parse(process.argv[2]!);
const peer = await connectRawPeer(at, { self, secret });
await peer.nextEvent("established");
let isStopped = false;
process.once("message", () => (isStopped = true));
process.once("disconnect", () => process.exit());
process.send!("established");

const responseTimesMs: number[] = [];
for (let id = 1; !isStopped; id++) {
  const started = performance.now();
  peer.socket.write(peer.link.request(id, "query_product_identity", {}));
  await peer.nextEvent("response");
  responseTimesMs.push(performance.now() - started);
  await new Promise((resolve) => setTimeout(resolve, 5));
}
process.send!(responseTimesMs, () => process.exit(0));

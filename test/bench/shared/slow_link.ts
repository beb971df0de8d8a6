/** Starts a TCP proxy in its own process that delays each packet in both directions. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Starts a proxy to a port of this machine; `ms` is the delay of a round trip. */
export async function slowLink(port: number, ms: number): Promise<{ port: number; stop(): void }> {
  const child = fork(join(process.cwd(), "test/bench/shared/slow_link.mjs"), [String(port), String(ms / 2)]);
  const [message] = (await once(child, "message")) as [{ port: number }];
  return { port: message.port, stop: () => void child.kill() };
}

import { app } from "../../handlers/index.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { checkedFetch } from "./checked_fetch.ts";
import { type Client, client } from "./client.ts";
import { openDeps, type TestDeps, type TestOptions } from "./deps.ts";

/** A client of a complete service in this process, and the dependencies of that service. */
export type TestService = Client & { deps: TestDeps };

/** Opens a service and a client to it. */
export async function service(options: TestOptions = {}): Promise<TestService> {
  return makeService(await openDeps({ store: memoryStore(), ...options }));
}

/** Returns a client that checks every response of a service, also for its admin token, for dependencies that are already open. */
export function makeService(deps: TestDeps): TestService {
  const secrets = deps.adminToken ? [deps.adminToken] : [];
  return { ...client(checkedFetch(app(deps), secrets)), deps };
}

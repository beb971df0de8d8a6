/** A Node server passes the HTTP contract. */
import { FastResponse } from "srvx/node";
import { app } from "../../handlers/index.ts";
import { createHostGuard } from "../../lib/http/host_guard.ts";
import { serveHttp } from "../../local/node_http.ts";
import { sha256 } from "../../local/node_ports.ts";
import { FULL } from "../support/run_length.ts";
import { ALL, httpContract, OF_A_HOST } from "./http_contract.ts";
import { openDeps } from "../support/deps.ts";

/** The sections that no host can break. Only the full run tests them on a Node server; `http.test.ts` tests them without a host. */
const HOST_INDEPENDENT = ALL.filter((section) => !OF_A_HOST.includes(section));

// The full run adds to the other runs, which test the sections of a host here.
httpContract("a listening Node server", FULL ? HOST_INDEPENDENT : [...OF_A_HOST, "streams"], async (options) => {
  const deps = await openDeps({ ...options, sha256, Response: FastResponse as unknown as typeof Response });
  const server = await serveHttp(createHostGuard(deps)(app(deps)), { host: "127.0.0.1", port: 0, deps });
  return {
    origin: server.url,
    fetch: (request) => fetch(request),
    advance: deps.clock.advance,
    close: async () => {
      await server.stop();
      await deps.store.close();
    },
  };
});

/** Runs an Unleash server: `node start.mjs SERVER_MODULE DATABASE_URL PORT`. Sends its parent a message when it is ready. */
import { pathToFileURL } from "node:url";

const [, , module, connectionString, port] = process.argv;
const { start } = await import(pathToFileURL(module).href);
await start({
  db: { connectionString, ssl: false, pool: { min: 0, max: 4 } },
  server: { host: "127.0.0.1", port: Number(port), gracefulShutdownEnable: false },
  authentication: {
    type: "open-source",
    initialAdminUser: { username: "admin", password: "unleash4all" },
    initApiTokens: [
      { environment: "*", projects: ["*"], secret: "*:*.admin-token-of-the-test", type: "admin", tokenName: "admin" },
      {
        environment: "development",
        projects: ["*"],
        secret: "*:development.client-token-of-the-test",
        type: "client",
        tokenName: "client",
      },
    ],
  },
  versionCheck: { enable: false },
  telemetry: false,
  logLevel: "fatal",
});
process.send("ready");

/** Setup of docs/operating.md: a simulated machine, and checks of its units, proxies, containers and monitoring. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import { program, serve } from "../../e2e/server.ts";
import type { DocumentRun } from "../document_run.ts";
import type { DocumentSetup } from "./index.ts";
import { backUpAgain, shipAfterCut } from "./operating/repeat_commands.ts";
import { sendRequest, type ProxyRequest } from "./operating/proxy_request.ts";
import { checkCompose, checkImage, versionInImage, findDockerProblem } from "./operating/containers.ts";
import { checkProxy, checkStream } from "./operating/check_proxy.ts";
import { ANA, startLogin } from "./operating/log_in.ts";
import { type Machine, createMachine } from "./operating/machine.ts";
import { checkScraping } from "./operating/monitoring.ts";
import { startCaddy, startNginx, type StartProxy } from "./operating/proxies.ts";

/** Blocks of the document by name, with the paths of the machine, for tests that start programs from them. */
const examples = new Map<string, string>();
let machine: Machine;

/** Maximum exposure of a unit, as systemd measures it: 0 is best, 100 is worst. */
const MAX_EXPOSURE = 25;

const succeeds = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const readText = (path: string): string => readFileSync(machine.path(path), "utf8");

const storeExample =
  (name: string) =>
  (example: string, { runValues }: DocumentRun): void =>
    void examples.set(name, runValues.replaceTexts(example));

const writeExample =
  (path: string) =>
  (example: string, { runValues }: DocumentRun): void =>
    writeFileSync(machine.path(path), runValues.replaceTexts(example));

export const operating: DocumentSetup = {
  programs: ["bash", "curl", "openssl"],
  async prepare() {
    machine = await createMachine();
    return {
      replacements: { ...machine.replacements, "scrape_interval: 30s": "scrape_interval: 1s" },
      env: machine.env,
      close: machine.close,
      exampleChecks: {
        "ini unit": checkUnit,
        "ini prefix": storeExample("ini prefix"),
        "nginx site": storeExample("nginx site"),
        "nginx people": writeExample("etc/nginx/countersign_people.conf"),
        "nginx prefix": storeExample("nginx prefix"),
        "caddy site": storeExample("caddy site"),
        "caddy prefix": storeExample("caddy prefix"),
        "toml oauth2-proxy": checkLogIn,
        "dockerfile image": (example: string) => void examples.set("image", example),
        "yaml compose": (example) => void examples.set("compose", stringify(example)),
        "yaml prometheus": storeScrapeConfig,
      },
    };
  },
  declareTests(documentRun) {
    test("shipping the log continues after its last line was cut", () => shipAfterCut(documentRun()));
    test("a second backup can be created, tried and restored", () => backUpAgain(documentRun(), machine));

    for (const [name, start] of [
      ["nginx", startNginx],
      ["caddy", startCaddy],
    ] as const) {
      const isInstalled = succeeds(name, name === "nginx" ? "-v" : "version");
      if (!isInstalled)
        process.stderr.write(`${name} is not on PATH: the manual's configuration of it is not tested\n`);
      test.skipIf(!isInstalled)(`${name}: TLS, the token, the identity header and the event stream`, () =>
        checkHostNames(name, start),
      );
      test.skipIf(!isInstalled)(`${name}: below a path of another site`, () => checkPrefix(name, start));
    }

    const hasPrometheus = succeeds("prometheus", "--version");
    if (!hasPrometheus)
      process.stderr.write("prometheus is not on PATH: the manual's configuration of it is not tested\n");
    test.skipIf(!hasPrometheus)("Prometheus scrapes the service, loads the rules and answers the dashboard", () =>
      checkScraping(machine, examples.get("prometheus")!),
    );

    test("the image and the compose file start the program", checkContainer);

    test("the image is built where docker works", async ({ skip }) => {
      const problem = await findDockerProblem(examples.get("image")!);
      if (problem !== undefined) {
        process.stderr.write(`the image of the operator's manual is not built: ${problem}\n`);
        skip(problem);
      }
      expect(await versionInImage(examples.get("image")!, machine.path("tmp/image"))).toBe(packageJson.version);
    });

    const hasCompose = succeeds("docker", "compose", "version");
    if (!hasCompose) process.stderr.write("docker compose is not installed: only the tests read its file\n");
    test.skipIf(!hasCompose)("docker compose accepts the compose file", () => {
      writeFileSync(machine.path("tmp/compose.yaml"), examples.get("compose")!);
      execFileSync("docker", ["compose", "--file", machine.path("tmp/compose.yaml"), "config", "--quiet"]);
    });
  },
};

/** Checks that only the user of Prometheus can read the token, and stores the configuration for later tests. */
function storeScrapeConfig(example: unknown, { runValues }: DocumentRun): void {
  const fileMode = (name: string) => statSync(machine.path(`etc/prometheus/countersign_${name}`)).mode & 0o777;
  expect([fileMode("alerts.yml"), fileMode("read_token")]).toEqual([0o644, 0o400]);
  examples.set("prometheus", runValues.replaceTexts(stringify(example)));
}

/** Checks a unit with systemd: no errors, and an exposure below the limit. */
function checkUnit(example: string, documentRun: DocumentRun): void {
  writeExample("etc/systemd/system/countersign.service")(example, documentRun);
  const file = machine.path("etc/systemd/system/countersign.service");
  if (!succeeds("systemd-analyze", "--version"))
    return void process.stderr.write("systemd-analyze is not on PATH: the unit is started, and not verified\n");
  const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
  expect(verified.stdout + verified.stderr).toBe("");
  expect(verified.status).toBe(0);
  const args = ["security", "--offline=true", `--threshold=${MAX_EXPOSURE}`, "--no-pager", file];
  const security = spawnSync("systemd-analyze", args, { encoding: "utf8" });
  expect(security.status, security.stdout + security.stderr).toBe(0);
}

/** Checks that oauth2-proxy sets the header that the service, nginx and caddy read. */
function checkLogIn(example: string): void {
  expect(example).toMatch(/^set_xauthrequest = true$/m);
  expect(example).toMatch(/^http_address = "127\.0\.0\.1:4180"$/m);
  const header = "X-Auth-Request-Email";
  expect(readText("etc/systemd/system/countersign.service")).toContain(`SVC_IDENTITY_HEADER=${header}\n`);
  for (const proxy of ["nginx site", "caddy site"]) expect(examples.get(proxy)).toContain(header);
}

async function checkHostNames(name: string, start: StartProxy): Promise<void> {
  const logIn = await startLogin();
  onTestFinished(logIn.close);
  const upstream = { servicePort: machine.servicePort, logInPort: logIn.port };
  const proxy = await start(machine, listProxyBlocks(name), upstream, "names");
  onTestFinished(proxy.stop);
  await checkProxy(proxy, {
    admin: readText("etc/countersign/admin_token"),
    read: readText("etc/countersign/read_token"),
  });
}

const listProxyBlocks = (name: string) => ({
  site: examples.get(`${name} site`)!,
  prefix: examples.get(`${name} prefix`)!,
});

/** Returns the variables of a unit or a drop-in, without those that systemd expands. */
const parseEnvironment = (unit: string): Record<string, string> =>
  Object.fromEntries([...unit.matchAll(/^Environment=(\w+)=([^%\n]*)$/gm)].map(([, name, value]) => [name, value]));

async function checkPrefix(name: string, start: StartProxy): Promise<void> {
  const logIn = await startLogin();
  onTestFinished(logIn.close);
  const folder = machine.path(`tmp/${name}`);
  mkdirSync(folder);
  const service = await serve(folder, [`--product-intent=${machine.path("etc/countersign/product_intent.json")}`], {
    ...parseEnvironment(readText("etc/systemd/system/countersign.service")),
    ...parseEnvironment(examples.get("ini prefix")!),
    SVC_ADMIN_TOKEN_FILE: machine.path("etc/countersign/admin_token"),
    SVC_READ_TOKEN_FILE: machine.path("etc/countersign/read_token"),
  });
  onTestFinished(async () => {
    service.child.kill("SIGTERM");
    await service.ended;
  });
  const upstream = { servicePort: Number(new URL(service.url).port), logInPort: logIn.port };
  const proxy = await start(machine, listProxyBlocks(name), upstream, "prefix");
  onTestFinished(proxy.stop);

  const sendAsAna = (request: Omit<ProxyRequest, "name">) =>
    sendRequest(proxy, { name: "www.acme.example", headers: { cookie: ANA }, ...request });
  const redirect = await sendAsAna({ path: "/governance" });
  expect([redirect.status, redirect.headers.location]).toEqual([
    expect.toBeOneOf([301, 302, 308]),
    expect.stringMatching(/\/governance\/$/),
  ]);
  const page = await sendAsAna({ path: "/governance/" });
  expect(page.text).toContain("<title>Countersign</title>");
  const files = [...page.text.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]+)"/g)].map(([, file]) => file!);
  expect(files.length).toBeGreaterThan(2);
  for (const file of [...files, "docs", "openapi.json"]) {
    const { pathname } = new URL(file, "https://www.acme.example/governance/");
    expect([file, (await sendAsAna({ path: pathname })).status]).toEqual([file, 200]);
  }
  expect((await sendAsAna({ path: "/governance/api/whoami" })).json).toMatchObject({ name: "ana@acme.example" });
  const form = { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" };
  await checkStream(proxy, { name: "www.acme.example", path: "/governance/api/events", headers: { cookie: ANA } }, () =>
    sendAsAna({ path: "/governance/api/product/propose-crm-followup", form }),
  );
  // Other paths of the site do not reach the service.
  expect((await sendAsAna({ path: "/api/whoami" })).json).toBeUndefined();
}

async function checkContainer(): Promise<void> {
  const compose = (await import("yaml")).parse(examples.get("compose")!);
  const variables = { ...checkImage(examples.get("image")!), ...checkCompose(compose) };
  const folder = machine.path("tmp/container");
  mkdirSync(folder);
  const onMachine = (value: string): string =>
    value
      .replace(/^\/run\/secrets\//, machine.path("etc/countersign/"))
      .replace(/^\/data\//, `${folder}/`)
      .replace(/^\/etc\//, machine.path("etc/"));
  const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, onMachine(value)]));
  expect(env["SVC_HOST"]).toBe("0.0.0.0");
  const server = await serve(folder, ["--host=127.0.0.1"], env, program());
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
}

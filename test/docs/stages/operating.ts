import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import { program, serve } from "../../e2e/server.ts";
import type { Story } from "../story.ts";
import type { Requirements } from "./index.ts";
import { backUpAgain, shipAfterCut } from "./operating/again.ts";
import { ask, type ProxyRequest } from "./operating/ask.ts";
import { checkCompose, checkImage, versionInImage, findDockerProblem } from "./operating/containers.ts";
import { checkProxy, checkStream } from "./operating/doors.ts";
import { ANA, startLogin } from "./operating/log_in.ts";
import { type Machine, newMachine } from "./operating/machine.ts";
import { checkScraping } from "./operating/monitoring.ts";
import { startCaddy, startNginx, type StartProxy } from "./operating/proxies.ts";

/** Blocks that later tests start programs from, with the paths of the machine. */
const shown = new Map<string, string>();
let machine: Machine;

/** Maximum exposure of a unit, as systemd measures it: 0 is best, 100 is worst. */
const EXPOSURE = 25;

const works = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const text = (path: string): string => readFileSync(machine.path(path), "utf8");

const keep =
  (name: string) =>
  (example: string, { standIns }: Story): void =>
    void shown.set(name, standIns.given(example));

const write =
  (path: string) =>
  (example: string, { standIns }: Story): void =>
    writeFileSync(machine.path(path), standIns.given(example));

export const operating: Requirements = {
  needs: ["bash", "curl", "openssl"],
  async stage() {
    machine = await newMachine();
    return {
      stands: { ...machine.stands, "scrape_interval: 30s": "scrape_interval: 1s" },
      env: machine.env,
      close: machine.close,
      readers: {
        "ini unit": checkUnit,
        "ini prefix": keep("ini prefix"),
        "nginx site": keep("nginx site"),
        "nginx people": write("etc/nginx/countersign_people.conf"),
        "nginx prefix": keep("nginx prefix"),
        "caddy site": keep("caddy site"),
        "caddy prefix": keep("caddy prefix"),
        "toml oauth2-proxy": checkLogIn,
        "dockerfile image": (example: string) => void shown.set("image", example),
        "yaml compose": (example) => void shown.set("compose", stringify(example)),
        "yaml prometheus": storeScrapeConfig,
      },
    };
  },
  afterwards(story) {
    test("shipping the log continues after its last line was cut", () => shipAfterCut(story()));
    test("a second backup can be taken, tried and restored", () => backUpAgain(story(), machine));

    for (const [name, start] of [
      ["nginx", startNginx],
      ["caddy", startCaddy],
    ] as const) {
      const here = works(name, name === "nginx" ? "-v" : "version");
      if (!here) process.stderr.write(`${name} is not on PATH: what the operator's manual has of it is not started\n`);
      test.skipIf(!here)(`${name}: TLS, the token, the identity header and the event stream`, () =>
        checkNames(name, start),
      );
      test.skipIf(!here)(`${name}: below a path of another site`, () => checkPrefix(name, start));
    }

    const hasPrometheus = works("prometheus", "--version");
    if (!hasPrometheus)
      process.stderr.write("prometheus is not on PATH: nothing scrapes as the operator's manual says\n");
    test.skipIf(!hasPrometheus)("Prometheus scrapes it, loads the rules and answers the dashboard", () =>
      checkScraping(machine, shown.get("prometheus")!),
    );

    test("the image and the compose file start the program", checkContainer);

    test("the image is built where docker works", async ({ skip }) => {
      const why = await findDockerProblem(shown.get("image")!);
      if (why !== undefined) {
        process.stderr.write(`the image of the operator's manual is read and not built: ${why}\n`);
        skip(why);
      }
      expect(await versionInImage(shown.get("image")!, machine.path("tmp/image"))).toBe(packageJson.version);
    });

    const hasCompose = works("docker", "compose", "version");
    if (!hasCompose) process.stderr.write("docker compose is not here: its file is read by the tests alone\n");
    test.skipIf(!hasCompose)("docker compose understands its file", () => {
      writeFileSync(machine.path("tmp/compose.yaml"), shown.get("compose")!);
      execFileSync("docker", ["compose", "--file", machine.path("tmp/compose.yaml"), "config", "--quiet"]);
    });
  },
};

/** Checks that only the user of Prometheus can read the token, and stores its configuration for later tests. */
function storeScrapeConfig(example: unknown, { standIns }: Story): void {
  const modeOf = (name: string) => statSync(machine.path(`etc/prometheus/countersign_${name}`)).mode & 0o777;
  expect([modeOf("alerts.yml"), modeOf("read_token")]).toEqual([0o644, 0o400]);
  shown.set("prometheus", standIns.given(stringify(example)));
}

/** Checks a unit with systemd: no errors, and an exposure below the limit. */
function checkUnit(example: string, story: Story): void {
  write("etc/systemd/system/countersign.service")(example, story);
  const file = machine.path("etc/systemd/system/countersign.service");
  if (!works("systemd-analyze", "--version"))
    return void process.stderr.write("systemd-analyze is not on PATH: the unit is started, and not verified\n");
  const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
  expect(verified.stdout + verified.stderr).toBe("");
  expect(verified.status).toBe(0);
  const exposed = ["security", "--offline=true", `--threshold=${EXPOSURE}`, "--no-pager", file];
  const judged = spawnSync("systemd-analyze", exposed, { encoding: "utf8" });
  expect(judged.status, judged.stdout + judged.stderr).toBe(0);
}

/** Checks that the header it sets is the one that the service, nginx and caddy read. */
function checkLogIn(example: string): void {
  expect(example).toMatch(/^set_xauthrequest = true$/m);
  expect(example).toMatch(/^http_address = "127\.0\.0\.1:4180"$/m);
  const header = "X-Auth-Request-Email";
  expect(text("etc/systemd/system/countersign.service")).toContain(`SVC_IDENTITY_HEADER=${header}\n`);
  for (const proxy of ["nginx site", "caddy site"]) expect(shown.get(proxy)).toContain(header);
}

async function checkNames(name: string, start: StartProxy): Promise<void> {
  const logIn = await startLogin();
  onTestFinished(logIn.close);
  const behind = { servicePort: machine.servicePort, logInPort: logIn.port };
  const proxy = await start(machine, listProxyBlocks(name), behind, "names");
  onTestFinished(proxy.stop);
  await checkProxy(proxy, { admin: text("etc/countersign/admin_token"), read: text("etc/countersign/read_token") });
}

const listProxyBlocks = (name: string) => ({ site: shown.get(`${name} site`)!, prefix: shown.get(`${name} prefix`)! });

/** Returns the variables of a unit or a drop-in, without those that systemd expands. */
const parseEnvironment = (unit: string): Record<string, string> =>
  Object.fromEntries([...unit.matchAll(/^Environment=(\w+)=([^%\n]*)$/gm)].map(([, name, value]) => [name, value]));

async function checkPrefix(name: string, start: StartProxy): Promise<void> {
  const logIn = await startLogin();
  onTestFinished(logIn.close);
  const folder = machine.path(`tmp/${name}`);
  mkdirSync(folder);
  const service = await serve(folder, [`--product-intent=${machine.path("etc/countersign/product_intent.json")}`], {
    ...parseEnvironment(text("etc/systemd/system/countersign.service")),
    ...parseEnvironment(shown.get("ini prefix")!),
    SVC_ADMIN_TOKEN_FILE: machine.path("etc/countersign/admin_token"),
    SVC_READ_TOKEN_FILE: machine.path("etc/countersign/read_token"),
  });
  onTestFinished(async () => {
    service.child.kill("SIGTERM");
    await service.ended;
  });
  const behind = { servicePort: Number(new URL(service.url).port), logInPort: logIn.port };
  const proxy = await start(machine, listProxyBlocks(name), behind, "prefix");
  onTestFinished(proxy.stop);

  const asAna = (question: Omit<ProxyRequest, "name">) =>
    ask(proxy, { name: "www.acme.example", headers: { cookie: ANA }, ...question });
  const slashless = await asAna({ path: "/governance" });
  expect([slashless.status, slashless.headers.location]).toEqual([
    expect.toBeOneOf([301, 302, 308]),
    expect.stringMatching(/\/governance\/$/),
  ]);
  const page = await asAna({ path: "/governance/" });
  expect(page.text).toContain("<title>Countersign</title>");
  const files = [...page.text.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]+)"/g)].map(([, file]) => file!);
  expect(files.length).toBeGreaterThan(2);
  for (const file of [...files, "docs", "openapi.json"]) {
    const { pathname } = new URL(file, "https://www.acme.example/governance/");
    expect([file, (await asAna({ path: pathname })).status]).toEqual([file, 200]);
  }
  expect((await asAna({ path: "/governance/api/whoami" })).json).toMatchObject({ name: "ana@acme.example" });
  const form = { tenant_id: "t1", affected_users: "40", expected_delta_k: "12" };
  await checkStream(proxy, { name: "www.acme.example", path: "/governance/api/events", headers: { cookie: ANA } }, () =>
    asAna({ path: "/governance/api/product/propose-crm-followup", form }),
  );
  // Other paths of the site do not reach the service.
  expect((await asAna({ path: "/api/whoami" })).json).toBeUndefined();
}

async function checkContainer(): Promise<void> {
  const compose = (await import("yaml")).parse(shown.get("compose")!);
  const said = { ...checkImage(shown.get("image")!), ...checkCompose(compose) };
  const folder = machine.path("tmp/container");
  mkdirSync(folder);
  const here = (value: string): string =>
    value
      .replace(/^\/run\/secrets\//, machine.path("etc/countersign/"))
      .replace(/^\/data\//, `${folder}/`)
      .replace(/^\/etc\//, machine.path("etc/"));
  const env = Object.fromEntries(Object.entries(said).map(([name, value]) => [name, here(value)]));
  expect(env["SVC_HOST"]).toBe("0.0.0.0");
  const server = await serve(folder, ["--host=127.0.0.1"], env, program());
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  server.child.kill("SIGTERM");
  expect((await server.ended).code).toBe(0);
}

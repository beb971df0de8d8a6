/** nginx and caddy, started from the blocks of the operator's manual. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../support/free_port.ts";
import type { Door } from "./ask.ts";
import type { Machine } from "./machine.ts";
import { startProgram } from "./programs.ts";

/** Addresses of this run for those in the manual's proxy configuration. */
export interface Behind {
  servicePort: number;
  logInPort: number;
}

/** The manual's blocks, with the paths of the machine. */
export interface Blocks {
  site: string;
  /** Within the server of another site. */
  prefix: string;
}

/** A proxy that runs. */
export interface Proxy extends Door {
  stop(): Promise<void>;
}

/** Starts one with the two names, or below a path of another site. */
export type StartProxy = (machine: Machine, blocks: Blocks, behind: Behind, kind: "names" | "prefix") => Promise<Proxy>;

const led = (text: string, machine: Machine, { servicePort, logInPort }: Behind): string =>
  text
    .replaceAll(`127.0.0.1:${machine.servicePort}`, `127.0.0.1:${servicePort}`)
    .replaceAll("127.0.0.1:4180", `127.0.0.1:${logInPort}`);

/** A piece of a configuration from a line on to the line that closes it, which is indented as the first. */
function piece(text: string, first: RegExp): string {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => first.test(line));
  if (from < 0) throw new Error(`no line is as ${first}`);
  const indent = /^ */.exec(lines[from]!)![0];
  return lines.slice(from, lines.indexOf(`${indent}}`, from) + 1).join("\n");
}

/** As Debian's nginx.conf, but in the foreground and within the machine. */
export const startNginx: StartProxy = async (machine, { site, prefix }, behind, kind) => {
  const port = await freePort();
  const files = machine.path(`run/nginx-${kind}`);
  mkdirSync(files);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const tls = site.split("\n").filter((line) => /^ *ssl_certificate/.test(line));
  const otherSite = () => [
    piece(site, /^upstream /),
    "server { listen 443 ssl; server_name www.acme.example;",
    ...tls.slice(0, 2),
    piece(site, /^ *location \/oauth2\/ /),
    piece(site, /^ *location = \/oauth2\/auth /),
    prefix,
    "}",
  ];
  const servers = kind === "names" ? site : otherSite().join("\n");
  const config = [
    "daemon off;",
    process.getuid?.() === 0 ? "user root;" : "",
    "worker_processes 1;",
    `pid ${join(files, "pid")};`,
    "error_log stderr notice;",
    "events {}",
    "http {",
    "access_log off;",
    ...temporary.map((name) => `${name}_temp_path ${join(files, name)};`),
    led(servers, machine, behind).replaceAll("listen 443 ssl", `listen 127.0.0.1:${port} ssl`),
    "}",
  ];
  const file = machine.path(`etc/nginx/nginx-${kind}.conf`);
  writeFileSync(file, config.join("\n"));
  const nginx = await startProgram(
    "nginx",
    ["-c", file, "-p", machine.path("etc/nginx"), "-e", "stderr"],
    /start worker process \d/,
  );
  return { port, ca: machine.certificate(), stop: nginx.stop };
};

/** With the ports of the machine, and nothing that caddy would do on the network. */
export const startCaddy: StartProxy = async (machine, { site, prefix }, behind, kind) => {
  const [port, plainPort] = [await freePort(), await freePort()];
  const globals = `{
    admin off
    auto_https disable_redirects
    default_bind 127.0.0.1
    http_port ${plainPort}
    https_port ${port}
  }`;
  const otherSite = () => [
    piece(site, /^\(countersign_people\)/),
    "www.acme.example {",
    site.split("\n").find((line) => /^ *tls /.test(line)),
    piece(site, /^ *handle \/oauth2\//),
    prefix,
    "}",
  ];
  const sites = kind === "names" ? site : otherSite().join("\n");
  const file = machine.path(`etc/caddy/Caddyfile-${kind}`);
  writeFileSync(file, `${globals}\n${led(sites, machine, behind)}\n`);
  chmodSync(file, 0o600);
  const [, token] = /^COUNTERSIGN_ADMIN_TOKEN=(.+)\n$/.exec(
    readFileSync(machine.path("etc/caddy/countersign.env"), "utf8"),
  )!;
  const home = machine.path("run");
  const env = { HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home, COUNTERSIGN_ADMIN_TOKEN: token! };
  const caddy = await startProgram(
    "caddy",
    ["run", "--config", file, "--adapter", "caddyfile"],
    /serving initial configuration/,
    env,
  );
  return { port, ca: machine.certificate(), stop: caddy.stop };
};

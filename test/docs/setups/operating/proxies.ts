/** Starts nginx and caddy with the configuration of the operator's manual. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../support/free_port.ts";
import type { ProxyAddress } from "./proxy_request.ts";
import type { Machine } from "./machine.ts";
import { startProgram } from "./programs.ts";

/** Ports of this run that replace those in the manual's proxy configuration. */
export interface UpstreamPorts {
  servicePort: number;
  /** The port of the log-in proxy (oauth2-proxy), which is 4180 in the manual. */
  logInPort: number;
}

/** Blocks of the manual with a proxy's configuration, with the paths of the machine. */
export interface ProxyBlocks {
  site: string;
  /** Configuration within the server of another site. */
  prefix: string;
}

export interface Proxy extends ProxyAddress {
  stop(): Promise<void>;
}

/** Starts a proxy with the two host names, or below a path of another site. */
export type StartProxy = (
  machine: Machine,
  blocks: ProxyBlocks,
  upstream: UpstreamPorts,
  kind: "names" | "prefix",
) => Promise<Proxy>;

/** Replaces the ports; the machine has already replaced the service's 8420 by its own port. */
const replacePorts = (text: string, machine: Machine, { servicePort, logInPort }: UpstreamPorts): string =>
  text
    .replaceAll(`127.0.0.1:${machine.servicePort}`, `127.0.0.1:${servicePort}`)
    .replaceAll("127.0.0.1:4180", `127.0.0.1:${logInPort}`);

/** Returns a block of a configuration from its first line to the closing brace with the same indentation. */
function extractBlock(text: string, first: RegExp): string {
  const lines = text.split("\n");
  const from = lines.findIndex((line) => first.test(line));
  if (from < 0) throw new Error(`no line matches ${first}`);
  const indent = /^ */.exec(lines[from]!)![0];
  return lines.slice(from, lines.indexOf(`${indent}}`, from) + 1).join("\n");
}

/** Starts nginx with a configuration like Debian's, but in the foreground and in the folder of the machine. */
export const startNginx: StartProxy = async (machine, { site, prefix }, upstream, kind) => {
  const port = await freePort();
  const files = machine.path(`run/nginx-${kind}`);
  mkdirSync(files);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  // The first two such lines: the certificate and its key.
  const certificateAndKey = site
    .split("\n")
    .filter((line) => /^ *ssl_certificate/.test(line))
    .slice(0, 2);
  const otherSite = () => [
    extractBlock(site, /^upstream /),
    "server { listen 443 ssl; server_name www.acme.example;",
    ...certificateAndKey,
    extractBlock(site, /^ *location \/oauth2\/ /),
    extractBlock(site, /^ *location = \/oauth2\/auth /),
    prefix,
    "}",
  ];
  const servers = kind === "names" ? site : otherSite().join("\n");
  const config = [
    "daemon off;",
    // By default root's workers run as another user, who cannot read the folder.
    process.getuid?.() === 0 ? "user root;" : "",
    "worker_processes 1;",
    `pid ${join(files, "pid")};`,
    "error_log stderr notice;",
    "events {}",
    "http {",
    "access_log off;",
    ...temporary.map((name) => `${name}_temp_path ${join(files, name)};`),
    replacePorts(servers, machine, upstream).replaceAll("listen 443 ssl", `listen 127.0.0.1:${port} ssl`),
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

/** Starts caddy on free ports, without an admin endpoint and without requests to the network. */
export const startCaddy: StartProxy = async (machine, { site, prefix }, upstream, kind) => {
  const [port, plainPort] = [await freePort(), await freePort()];
  const globals = `{
    admin off
    auto_https disable_redirects
    default_bind 127.0.0.1
    http_port ${plainPort}
    https_port ${port}
  }`;
  const otherSite = () => [
    extractBlock(site, /^\(countersign_people\)/),
    "www.acme.example {",
    site.split("\n").find((line) => /^ *tls /.test(line)),
    extractBlock(site, /^ *handle \/oauth2\//),
    prefix,
    "}",
  ];
  const sites = kind === "names" ? site : otherSite().join("\n");
  const file = machine.path(`etc/caddy/Caddyfile-${kind}`);
  writeFileSync(file, `${globals}\n${replacePorts(sites, machine, upstream)}\n`);
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

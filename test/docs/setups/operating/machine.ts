/** Creates the machine of the operator's manual below a folder: its paths, its programs, and a replacement for systemd. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../../../package.json" with { type: "json" };
import { program } from "../../../e2e/server.ts";
import { freePort } from "../../../support/free_port.ts";
import { ROOT } from "../../markdown.ts";

const run = promisify(execFile);

/** Absolute folders in the manual, which are replaced in this order. */
const FOLDERS = ["/var/", "/etc/", "/opt/", "/usr/local/bin/"];

/** Host names of the service for people and for programs, and of a site with other applications. */
export const NAMES = ["gov.acme.example", "api.gov.acme.example", "www.acme.example"];

export interface Machine {
  root: string;
  /** Returns the path below `root` for a path of the manual. */
  path(manualPath: string): string;
  /** The port of the service. */
  servicePort: number;
  /** Replacements for texts of the manual. */
  replacements: Record<string, string>;
  env: Record<string, string>;
  /** The certificate of all names, in PEM. */
  certificate(): string;
  close(): Promise<void>;
}

/** Creates a machine with both versions of the program in the manual. */
export async function createMachine(): Promise<Machine> {
  const root = mkdtempSync(join(tmpdir(), "countersign-machine-"));
  const path = (manualPath: string): string => join(root, manualPath);
  for (const folder of ["etc/ssl/private", "etc/nginx", "etc/caddy", "etc/systemd/system", "var/lib", "var/backups"])
    mkdirSync(path(folder), { recursive: true });
  for (const folder of ["opt", "usr/local/bin", "bin", "run", "tmp"]) mkdirSync(path(folder), { recursive: true });
  const dist = dirname(dirname(await program()));
  for (const version of ["0.1.0", "0.2.0"]) install(path(`opt/countersign-${version}`), dist);
  const servicePort = await freePort();
  const systemctl = join(import.meta.dirname, "systemctl.mjs");
  writeScript(path("bin/systemctl"), `exec node ${systemctl} "$@"`);
  writeScript(path("bin/journalctl"), `exec cat ${path("run/countersign.log")}`);
  await makeCertificate(root);
  return {
    root,
    path,
    servicePort,
    replacements: {
      ...Object.fromEntries(FOLDERS.map((folder) => [folder, join(root, folder, "/")])),
      "127.0.0.1:8420": `127.0.0.1:${servicePort}`,
      // The user prometheus may not exist on this machine, and only root can change the owner of a file.
      "install -o prometheus": `install -o ${process.getuid!()}`,
    },
    // systemctl.mjs reads MACHINE and SERVICE_PORT.
    env: {
      PATH: `${path("usr/local/bin")}:${path("bin")}:${process.env["PATH"]}`,
      MACHINE: root,
      SERVICE_PORT: String(servicePort),
    },
    certificate: () => readFileSync(path("etc/ssl/gov.acme.example.pem"), "utf8"),
    async close() {
      if (existsSync(path("run/countersign.pid")))
        await run(process.execPath, [systemctl, "stop", "countersign"], { env: { ...process.env, MACHINE: root } });
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Installs the package into a folder as npm does. */
function install(folder: string, dist: string): void {
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(ROOT, join(folder, "node_modules/countersign"));
  for (const [name, file] of Object.entries(packageJson.bin))
    writeScript(join(folder, "node_modules/.bin", name), `exec node ${join(dirname(dist), file)} "$@"`);
}

const writeScript = (file: string, line: string): void =>
  writeFileSync(file, `#!/usr/bin/env bash\n${line}\n`, { mode: 0o755 });

async function makeCertificate(root: string): Promise<void> {
  const [key, certificate] = ["etc/ssl/private/gov.acme.example.key", "etc/ssl/gov.acme.example.pem"];
  const names = `subjectAltName=${NAMES.map((name) => `DNS:${name}`).join(",")}`;
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-days", "2", "-subj", `/CN=${NAMES[0]}`, "-addext", names];
  await run("openssl", ["req", "-x509", ...kind, "-keyout", key, "-out", certificate, ...subject], { cwd: root });
}

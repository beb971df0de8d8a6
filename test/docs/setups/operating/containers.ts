/** Checks of the Dockerfile and the compose file; the image is built only if docker works on this machine. */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import packageJson from "../../../../package.json" with { type: "json" };
import { program } from "../../../e2e/server.ts";
import { ROOT } from "../../markdown.ts";

const run = promisify(execFile);

const INSTRUCTIONS = "ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK RUN USER VOLUME WORKDIR".split(" ");

/** Checks a Dockerfile and returns the variables that it sets. */
export function checkImage(dockerfile: string): Record<string, string> {
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const steps = lines.map((line) => /^([A-Z]+) (.+)$/.exec(line)!.slice(1) as [string, string]);
  const names = steps.map(([name]) => name);
  expect(names.filter((name) => !INSTRUCTIONS.includes(name))).toEqual([]);
  const listArguments = (name: string): string[] =>
    steps.filter((step) => step[0] === name).map(([, argument]) => argument);
  expect(listArguments("FROM")).toEqual([expect.stringMatching(/^node:\d+-[a-z-]+$/)]);
  // The program runs without privileges, and as process 1, since a shell would not forward signals to it.
  expect(listArguments("USER")).toEqual(["node"]);
  expect(names.indexOf("USER")).toBeLessThan(names.indexOf("ENTRYPOINT"));
  const [entryPoint] = JSON.parse(listArguments("ENTRYPOINT")[0]!) as string[];
  expect(Object.keys(packageJson.bin)).toContain(entryPoint);
  expect(listArguments("EXPOSE")).toEqual(["8420"]);
  const version = new RegExp(`countersign-${packageJson.version.replaceAll(".", "\\.")}\\.tgz`);
  for (const argument of [...listArguments("COPY"), ...listArguments("RUN")]) expect(argument).toMatch(version);
  // The check is `node -e` with code.
  const [, , code] = JSON.parse(listArguments("HEALTHCHECK")[0]!.replace(/^CMD /, "")) as string[];
  expect(() => new Function(code!)).not.toThrow();
  const pairs = listArguments("ENV").flatMap((argument) => argument.split(" "));
  return Object.fromEntries(pairs.map((pair) => /^(\w+)=(.*)$/.exec(pair)!.slice(1) as [string, string]));
}

/** The checked parts of a service in a compose file. */
interface ComposeService {
  environment: Record<string, string>;
  secrets: string[];
  ports: string[];
  volumes: string[];
}

/** Checks a compose file and returns the variables that it sets. */
export function checkCompose({
  services,
  secrets,
  volumes,
}: Record<string, Record<string, unknown>>): Record<string, string> {
  const service = services!["countersign"] as ComposeService;
  expect(service).toMatchObject({ build: ".", read_only: true, cap_drop: ["ALL"] });
  expect(service.environment).toMatchObject({ SVC_PROTECT_READS: "1", SVC_PROTECT_ALL: "1" });
  expect(service.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
  expect(service.secrets).toEqual(Object.keys(secrets!));
  expect(service.volumes[0]!.split(":")[0]).toBe(Object.keys(volumes!)[0]);
  return service.environment;
}

/** Builds the image in a folder from the package as it would be published; returns the version that its program prints. */
export async function versionInImage(dockerfile: string, folder: string): Promise<string> {
  const staged = join(folder, "staged");
  mkdirSync(staged, { recursive: true });
  const parts = ["package.json", "README.md", "LICENSE", ...packageJson.files];
  for (const path of parts.filter((path) => !/^!?dist/.test(path)))
    cpSync(join(ROOT, path), join(staged, path), { recursive: true });
  cpSync(dirname(dirname(await program())), join(staged, "dist"), { recursive: true });
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: staged, maxBuffer: 1e8 });
  writeFileSync(join(folder, "Dockerfile"), dockerfile);
  const tag = `countersign-manual:${process.pid}`;
  await run("docker", ["build", "--quiet", "--tag", tag, folder]);
  try {
    const env = ["--env", "SVC_ADMIN_TOKEN=0123456789abcdef"];
    return (await run("docker", ["run", "--rm", ...env, tag, "--version"])).stdout.trim();
  } finally {
    await run("docker", ["image", "rm", "--force", tag]);
  }
}

/** Returns the reason why this machine cannot build the image; undefined if it can. */
export async function findDockerProblem(dockerfile: string): Promise<string | undefined> {
  const [, base] = /^FROM (.+)$/m.exec(dockerfile)!;
  return run("docker", ["pull", "--quiet", base!]).then(
    () => undefined,
    (error: Error) => error.message.trim().split("\n").at(-1),
  );
}

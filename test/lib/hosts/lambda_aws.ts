/** The surroundings of a function: instances as separate processes, a table with rights, and a secret. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Fetch } from "../../support/client.ts";
import { context, type Event, makeEvent, toFetchResponse } from "./lambda_events.ts";

/** A running instance. */
export interface Instance {
  child: ChildProcess;
  /** Sends an event and resolves with the result; rejects with what the function throws, or when the process ends. */
  invoke(event: Event): Promise<unknown>;
  /** The way of a client to it, over API Gateway. */
  fetch: Fetch;
  /** The output, line by line. */
  logged(): string;
}

const alive = new Set<ChildProcess>();

/** Ends all that run. */
export async function endAll(): Promise<void> {
  await Promise.all([...alive].map((child) => (child.kill("SIGKILL"), once(child, "close"))));
}

/** Starts an instance of a bundle, with this environment and nothing else. */
export async function startInstance(bundle: string, env: Record<string, string>): Promise<Instance> {
  const child = fork(join(import.meta.dirname, "lambda_instance.mjs"), {
    env: { PATH: process.env["PATH"]!, LAMBDA_BUNDLE: bundle, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    execArgv: [],
  });
  alive.add(child);
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (text) => (output += String(text)));
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let asked = 0;
  child.once("close", () => {
    alive.delete(child);
    for (const { reject } of waiting.values()) reject(new Error("the instance is gone"));
  });
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("close", () => reject(new Error(`the instance did not start:\n${output}`)));
  });
  child.on("message", ({ id, result, error }: { id: number; result?: unknown; error?: string }) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  const invoke = (event: Event) =>
    new Promise<unknown>((resolve, reject) => {
      waiting.set(++asked, { resolve, reject });
      child.send({ id: asked, event, context: context() });
    });
  return {
    child,
    invoke,
    fetch: async (request) => toFetchResponse((await invoke(await makeEvent(request))) as never),
    logged: () => output,
  };
}

/** An endpoint of AWS, to be closed. */
export interface Aws {
  url: string;
  /** The operations that came, in order. */
  operations: string[];
  stop(): Promise<void>;
}

/** A server that listens on a free port of this machine. */
export async function listening(server: Server, operations: string[]): Promise<Aws> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    operations,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

/** The answer that replaces an operation: a status and the body of AWS. */
export type Refusal = (operation: string) => { __type: string; [name: string]: unknown } | undefined;

/** DynamoDB behind rights, or behind a load: what `refuse` answers does not reach the server. */
export async function guardedDynamoDb(target: string, refuse: Refusal): Promise<Aws> {
  const operations: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const operation = String(request.headers["x-amz-target"]).replace("DynamoDB_20120810.", "");
    operations.push(operation);
    const refusal = refuse(operation);
    if (refusal) return void response.writeHead(400).end(JSON.stringify(refusal));
    const { host: _, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(target, { method: "POST", headers: without(headers), body: Buffer.concat(chunks) });
    response.writeHead(answer.status).end(await answer.text());
  });
  return listening(server, operations);
}

const HOP = ["connection", "content-length", "transfer-encoding", "keep-alive", "expect"];
const without = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP.includes(name)));

/** Rights as a policy grants them: `GetItem`, `Query`, … and nothing else. */
export const allowing =
  (...actions: string[]): Refusal =>
  (operation) =>
    actions.includes(operation)
      ? undefined
      : { __type: "com.amazon.coral.service#AccessDeniedException", message: "no" };

/** Secrets Manager with one secret. */
export function secretsManager(arn: string, secret: () => string): Promise<Aws> {
  const operations: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    operations.push(String(request.headers["x-amz-target"]));
    const signed = String(request.headers["authorization"]).includes("/secretsmanager/aws4_request");
    const { SecretId } = JSON.parse(Buffer.concat(chunks).toString()) as { SecretId: string };
    if (!signed) return void response.writeHead(400).end('{"__type":"MissingAuthenticationToken"}');
    if (SecretId !== arn) return void response.writeHead(400).end('{"__type":"ResourceNotFoundException"}');
    response.writeHead(200).end(JSON.stringify({ ARN: arn, SecretString: secret() }));
  });
  return listening(server, operations);
}

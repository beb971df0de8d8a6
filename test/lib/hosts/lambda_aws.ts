/** Simulates AWS for tests of functions: instances as processes, DynamoDB with permissions, and Secrets Manager. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Fetch } from "../../support/client.ts";
import { context, type Event, makeEvent, toFetchResponse } from "./lambda_events.ts";

/** A running instance of a function. */
export interface Instance {
  child: ChildProcess;
  /** Sends an event and resolves with the result; rejects with what the function throws, or when the process ends. */
  invoke(event: Event): Promise<unknown>;
  /** Sends a request as API Gateway does. */
  fetch: Fetch;
  /** Returns all output of the process. */
  logged(): string;
}

const runningInstances = new Set<ChildProcess>();

/** Ends all running instances. */
export async function endAllInstances(): Promise<void> {
  for (const child of runningInstances) child.kill("SIGKILL");
  await Promise.all([...runningInstances].map((child) => once(child, "close")));
}

/** Starts an instance of a bundle; its environment has no other variables than `env` and PATH. */
export async function startInstance(bundle: string, env: Record<string, string>): Promise<Instance> {
  const child = fork(join(import.meta.dirname, "lambda_instance.mjs"), {
    env: { PATH: process.env["PATH"]!, LAMBDA_BUNDLE: bundle, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    execArgv: [],
  });
  runningInstances.add(child);
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (text) => (output += String(text)));
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  child.once("close", () => {
    runningInstances.delete(child);
    for (const { reject } of waiting.values()) reject(new Error("the instance is gone"));
  });
  await new Promise<void>((resolve, reject) => {
    // The first message says that the instance is ready.
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
      waiting.set(++lastId, { resolve, reject });
      child.send({ id: lastId, event, context: context() });
    });
  return {
    child,
    invoke,
    fetch: async (request) => toFetchResponse((await invoke(await makeEvent(request))) as never),
    logged: () => output,
  };
}

/** A simulated endpoint of AWS. */
export interface AwsEndpoint {
  url: string;
  /** The requested operations, in order. */
  operations: string[];
  stop(): Promise<void>;
}

/** Starts a server on a free port. */
export async function startEndpoint(server: Server, operations: string[]): Promise<AwsEndpoint> {
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

/** Returns the error of AWS for an operation, or undefined if DynamoDB executes it. */
export type RejectOperation = (operation: string) => { __type: string; [name: string]: unknown } | undefined;

/** Starts a proxy in front of DynamoDB that answers the operations that `reject` returns an error for. */
export async function startDynamoDbProxy(dynamoDbUrl: string, reject: RejectOperation): Promise<AwsEndpoint> {
  const operations: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const operation = String(request.headers["x-amz-target"]).replace("DynamoDB_20120810.", "");
    operations.push(operation);
    const error = reject(operation);
    if (error) return void response.writeHead(400).end(JSON.stringify(error));
    const { host: _, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(dynamoDbUrl, {
      method: "POST",
      headers: withoutHopByHop(headers),
      body: Buffer.concat(chunks),
    });
    response.writeHead(answer.status).end(await answer.text());
  });
  return startEndpoint(server, operations);
}

const HOP_BY_HOP_HEADERS = ["connection", "content-length", "transfer-encoding", "keep-alive", "expect"];
const withoutHopByHop = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP_HEADERS.includes(name)));

/** Rejects all operations except the listed ones, as a policy of AWS does. */
export const allowOnly =
  (...actions: string[]): RejectOperation =>
  (operation) =>
    actions.includes(operation)
      ? undefined
      : { __type: "com.amazon.coral.service#AccessDeniedException", message: "no" };

/** Starts a Secrets Manager with one secret. */
export function startSecretsManager(arn: string, secret: () => string): Promise<AwsEndpoint> {
  const operations: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    operations.push(String(request.headers["x-amz-target"]));
    const isSigned = String(request.headers["authorization"]).includes("/secretsmanager/aws4_request");
    const { SecretId } = JSON.parse(Buffer.concat(chunks).toString()) as { SecretId: string };
    if (!isSigned) return void response.writeHead(400).end('{"__type":"MissingAuthenticationToken"}');
    if (SecretId !== arn) return void response.writeHead(400).end('{"__type":"ResourceNotFoundException"}');
    response.writeHead(200).end(JSON.stringify({ ARN: arn, SecretString: secret() }));
  });
  return startEndpoint(server, operations);
}

/** The load of crash:shared: callers that propose, and callers that run changes from proposal to rollback. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** One of the services on the database. */
export interface Service {
  child: ChildProcess;
  url: string;
  /** Its index in `services`. */
  number: number;
}

/** A reply and when its request was sent. */
export interface Reply {
  status: number;
  body: Record<string, unknown> & { code?: string; audit_entry?: { id: number; current_hash: string } };
  sent: number;
}

/** A step that was acknowledged with an entry. */
export interface Acknowledged {
  hash: string;
  step: string;
}

const CALLERS_PER_SERVICE = { proposals: 6, changes: 2 };
const REQUEST_TIMEOUT_MS = 20_000;
const PAUSE_MS = 50;

/** Resolves after a time. */
export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts a service; retries if the database is not available during the start. */
export async function startService(number: number, args: readonly string[]): Promise<Service> {
  const child = spawn(process.execPath, ["dist/local/ui_server.js", "--port", "0", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const line of createInterface({ input: child.stderr })) {
    // A failed start prints plain text instead of JSON.
    if (!line.startsWith("{")) continue;
    const { message, url } = JSON.parse(line) as { message: string; url: string };
    if (message !== "listening") continue;
    child.stderr.resume();
    return { child, url: new URL(url).origin, number };
  }
  await wait(300);
  return startService(number, args);
}

/** Sends one request of the API. */
export async function post(url: string, path: string, fields: Record<string, string>): Promise<Reply> {
  const sent = performance.now();
  const response = await fetch(`${url}/api/product/${path}`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(fields).toString(),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  });
  return { status: response.status, body: (await response.json()) as Reply["body"], sent };
}

/** Callers on all services, and a summary of the responses. */
export class Load {
  /** Acknowledged steps by entry id. */
  readonly acknowledged = new Map<number, Acknowledged>();
  /** Rejected or unanswered requests by code. */
  readonly rejected = new Map<string, number>();
  /** Number of changes that were proposed, approved, applied and rolled back. */
  completed = 0;
  /** Number of entry ids that were acknowledged twice. */
  duplicates = 0;
  /** The longest time without an acknowledgement since `watch`. */
  #longest = 0;
  #last = performance.now();
  #ended = false;
  #calling: Promise<void>[] = [];
  #watchers = new Set<(number: number, reply: Reply) => void>();

  constructor(
    readonly services: readonly Service[],
    readonly fail: (text: string) => void,
  ) {}

  start(): void {
    for (const { number } of this.services) {
      for (let count = 0; count < CALLERS_PER_SERVICE.proposals; count++)
        this.#calling.push(this.#repeat(() => this.#propose(number, "crm.followup")));
      for (let count = 0; count < CALLERS_PER_SERVICE.changes; count++)
        this.#calling.push(this.#repeat(() => this.runChange(number, `crm.life_${number}_${count}`)));
    }
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#calling);
  }

  /** Starts to measure the longest time without an acknowledgement. */
  watch(): void {
    this.#longest = 0;
    this.#last = performance.now();
  }

  longestGap(): number {
    return Math.max(this.#longest, performance.now() - this.#last);
  }

  /** Calls `onEachReply` with each reply from now on; returns a function that ends this. */
  onReply = (onEachReply: (number: number, reply: Reply) => void): (() => void) => {
    this.#watchers.add(onEachReply);
    return () => this.#watchers.delete(onEachReply);
  };

  /** Proposes, approves, applies and rolls back a change; resolves to whether all steps were acknowledged. */
  async runChange(number: number, target: string): Promise<boolean> {
    const change_id = await this.#propose(number, target);
    if (change_id === undefined) return false;
    if (!(await this.#step(number, "approve", { change_id, approver: "ana" }))) return false;
    if (!(await this.#step(number, "apply", { change_id }))) return false;
    if (!(await this.#step(number, "rollback", { change_id }))) return false;
    this.completed++;
    return true;
  }

  async #propose(number: number, target: string): Promise<string | undefined> {
    const proposal = { tenant_id: "t1", kind: "config", target, summary: "Show the banner" };
    return (await this.#step(number, "propose", proposal))?.body["change_id"] as string | undefined;
  }

  async #repeat(run: () => Promise<unknown>): Promise<void> {
    while (!this.#ended) if (!(await run())) await wait(PAUSE_MS);
  }

  /** Sends one step and stores its receipt; returns undefined if it was rejected or not answered. */
  async #step(number: number, path: string, fields: Record<string, string>): Promise<Reply | undefined> {
    try {
      const reply = await post(this.services[number]!.url, path, fields);
      for (const onEachReply of this.#watchers) onEachReply(number, reply);
      if (reply.status < 300 && reply.body.audit_entry) {
        this.#recordReceipt(reply.body.audit_entry, path);
        return reply;
      }
      this.#reject(String(reply.body.code));
    } catch {
      this.#reject("no answer");
    }
    return undefined;
  }

  #reject(code: string): void {
    this.rejected.set(code, (this.rejected.get(code) ?? 0) + 1);
  }

  #recordReceipt({ id, current_hash }: { id: number; current_hash: string }, step: string): void {
    if (this.acknowledged.has(id)) {
      this.duplicates++;
      this.fail(`entry ${id} was acknowledged twice`);
    }
    this.acknowledged.set(id, { hash: current_hash, step });
    this.#longest = Math.max(this.#longest, performance.now() - this.#last);
    this.#last = performance.now();
  }
}

/** The parts in use of the module that the Workers runtime provides. */
declare module "cloudflare:workers" {
  type State = import("./service.ts").EdgeState;

  /** The base of a Durable Object whose methods can be called by a Worker. */
  export class DurableObject<Env = unknown> {
    constructor(ctx: State, env: Env);
    protected readonly ctx: State;
    protected readonly env: Env;
    fetch?(request: Request): Promise<Response>;
    alarm?(): Promise<void>;
  }
}

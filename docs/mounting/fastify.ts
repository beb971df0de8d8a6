// fastify.ts
import { change } from "countersign/handlers/product/change";
import { fastify, type FastifyReply, type FastifyRequest } from "fastify";
import { governance, findPerson, service, settings } from "./governance.js";
import { onNode } from "./on_node.js";

const host = fastify();
host.addHook("onRequest", async (request, reply) => {
  if (!findPerson(request.headers.authorization)) return reply.code(401).send("log in first");
});
host.get("/settings", async () => Object.fromEntries(settings));

/** Answers on Node's own request and response, which Fastify then leaves alone. */
const answeredBy = (handler: (request: Request) => Promise<Response>) => {
  const answer = onNode(handler);
  return (request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    answer(request.raw, reply.raw);
  };
};
await host.register(async (mounted) => {
  mounted.removeAllContentTypeParsers(); // the service reads bodies itself
  mounted.addContentTypeParser("*", (_request, _body, done) => done(null));
  mounted.all("/governance/*", answeredBy(governance)); // all of it
  mounted.get("/crm/history/:change_id", answeredBy(change(service.deps))); // one endpoint by itself
});

console.log(await host.listen({ port: Number(process.env["PORT"] ?? 3000), host: "127.0.0.1" }));

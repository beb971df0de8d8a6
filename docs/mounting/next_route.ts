// app/governance/[...path]/route.ts
import { governance, findPerson } from "../../../governance.js";

export const GET = async (request: Request): Promise<Response> =>
  findPerson(request.headers.get("authorization"))
    ? governance(request)
    : new Response("log in first", { status: 401 });
export const POST = GET;

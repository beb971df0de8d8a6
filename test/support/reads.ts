import { endpoints } from "../../handlers/index.ts";

/** What a GET must be asked with. */
const QUERY: Record<string, string> = { "/api/memory/search": "?q=banner", "/api/product/audit/proof": "?id=1" };
/** Answers that go on for as long as somebody listens. */
const STREAMS = ["/api/events"];

/** Every GET whose answer ends; `CHANGE` stands for a change's id, `FILE` for the name of a file that is not there. */
export const READS: string[] = endpoints
  .filter(({ method, path }) => method === "GET" && !STREAMS.includes(path))
  .map(({ path }) => path.replace(":change_id", "CHANGE").replace(":file", "FILE.md") + (QUERY[path] ?? ""));

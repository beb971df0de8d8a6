/** The document as a page to read: plain HTML, one style sheet in it, no scripts. */
import { escapeHtml } from "../kit/escape_html.ts";
import type { OpenApi } from "./document.ts";
import type { Content, JsonSchema } from "./json_schema.ts";
import type { Operation } from "./operation.ts";

/** The style sheet; its hash goes into the policy that lets it in and nothing else. */
export const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; }
article { border-top: 1px solid; margin-top: 2rem; padding-top: .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid; padding: .25rem .5rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; }
`;

/** A whole page. */
export function pageOf({ info, servers, tags, paths, components }: OpenApi): string {
  const base = (servers[0]?.url ?? "").replace(/\/$/, "");
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: base + path,
      method: method.toUpperCase(),
      operation,
    })),
  );
  const groups = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<section><h2 id="${idOf(name)}">${escapeHtml(name)}</h2><p>${escapeHtml(description)}</p>${own.map(article).join("")}</section>`;
  });
  const shapes = Object.entries(components.schemas).map(
    ([name, schema]) => `<article><h3 id="${idOf(name)}">${escapeHtml(name)}</h3>${fields(schema)}</article>`,
  );
  const contents = [...tags.map(({ name }) => name), "Shapes"].map((name) => `<li>${link(name)}</li>`);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(info.title)} API</title>`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>`,
    `<header><h1>${escapeHtml(info.title)} API ${escapeHtml(info.version)}</h1><p>${escapeHtml(info.description)}</p>`,
    `<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p></header>`,
    `<nav aria-label="Contents"><ul>${contents.join("")}</ul></nav>`,
    `<main>${groups.join("")}<section><h2 id="${idOf("Shapes")}">Shapes</h2>${shapes.join("")}</section></main>`,
    "</body></html>",
  ].join("\n");
}

const idOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const link = (name: string): string => `<a href="#${idOf(name)}">${escapeHtml(name)}</a>`;
const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;

function article({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const { operationId, summary, security, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: place, required, description = "", schema }) =>
    row([code(name), place, required ? "required" : "", typeOf(schema), escapeHtml(description)]),
  );
  const body = requestBody?.content["application/json"]?.schema;
  const answers = Object.entries(responses).map(([status, { description, content = {} }]) =>
    row([status, escapeHtml(description), mediaTypes(content)]),
  );
  return [
    `<article><h3 id="${idOf(operationId)}">${code(`${method} ${path}`)}</h3><p>${escapeHtml(summary)}.`,
    security.length === 1 ? " Needs the admin token where one is set." : "",
    "</p>",
    rows.length > 0 ? table(["Parameter", "In", "", "Type", ""], rows) : "",
    body ? `<h4>Body: a form or JSON</h4>${fields(body)}` : "",
    `<h4>Answers</h4>${table(["Status", "", "Body"], answers)}</article>`,
  ].join("");
}

/** The media types of an answer; errors are all of one shape, so only their place is named. */
const mediaTypes = (content: Content): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const shown = schema.allOf ? typeOf(schema.allOf[0]!) : type === "application/json" ? typeOf(schema) : "";
      return `${escapeHtml(type)} ${shown}`;
    })
    .join("<br>");

function fields({ properties = {}, required = [] }: JsonSchema): string {
  const rows = Object.entries(properties).map(([name, schema]) =>
    row([
      code(name),
      required.includes(name) ? "required" : "",
      typeOf(schema),
      escapeHtml(String(schema["description"] ?? "")),
    ]),
  );
  return rows.length > 0 ? table(["Field", "", "Type", ""], rows) : "";
}

/** What may stand there, in a few words. */
function typeOf(schema: JsonSchema): string {
  if (schema.$ref) return link(schema.$ref.split("/").at(-1)!);
  if (schema.enum) return schema.enum.map((value) => code(JSON.stringify(value))).join(", ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" or ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "object" && schema.properties)
    return `{ ${Object.entries(schema.properties)
      .map(([name, property]) => `${escapeHtml(name)}: ${typeOf(property)}`)
      .join("; ")} }`;
  const bounds = ["minimum", "maximum", "maxLength", "default"]
    .filter((keyword) => schema[keyword] !== undefined)
    .map((keyword) => ` ${keyword} ${JSON.stringify(schema[keyword])}`);
  return escapeHtml(`${[schema["format"] ?? schema.type ?? "any JSON"].flat().join(" or ")}${bounds.join(",")}`);
}

const row = (cells: readonly string[]): string => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
const table = (heads: readonly string[], rows: readonly string[]): string =>
  `<table><thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;

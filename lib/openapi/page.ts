/** Renders the document as a page: plain HTML with an inline style sheet and no scripts. */
import { escapeHtml } from "../kit/escape_html.ts";
import type { OpenApi } from "./document.ts";
import { fieldRows, describeType } from "./field_rows.ts";
import { code, anchorId, link, row, shapeId, shapeLink, table } from "./html.ts";
import type { Content, JsonSchema, Parameter } from "./json_schema.ts";
import type { Operation } from "./operation.ts";
import { type ApiResponse, groupByStatus, readErrorCodes } from "./responses.ts";
import { makeSample } from "./sample.ts";

/** The style sheet; the page's content security policy allows only its hash. */
export const STYLE = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0 auto; padding: 1rem; max-width: 64rem; overflow-wrap: break-word; }
nav > ul { columns: 18rem; list-style: none; padding: 0; }
nav li { break-inside: avoid; }
nav li li { margin-left: 1rem; list-style: none; }
nav ul ul { padding: 0; margin-bottom: 1rem; }
article { border-top: 1px solid GrayText; margin-top: 2.5rem; padding-top: .5rem; }
h3 { margin-bottom: .25rem; }
h4 { margin: 1.25rem 0 .25rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid GrayText; padding: .25rem 1rem .25rem 0; text-align: left; vertical-align: top; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { background: color-mix(in srgb, CanvasText 7%, Canvas); margin: .25rem 0; overflow-wrap: anywhere; padding: .75rem; white-space: pre-wrap; }
@media (max-width: 46rem) {
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { border-bottom: 1px solid GrayText; padding: .4rem 0; }
  td { border: 0; padding: 0; }
  td:empty { display: none; }
  td:first-child { font-weight: bold; }
}
`;

const EXAMPLE_HOST = "localhost:8420";

export function renderPage({ info, servers, tags, paths, components }: OpenApi): string {
  const base = (servers[0]?.url ?? "").replace(/\/$/, "");
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path: base + path,
      method: method.toUpperCase(),
      operation,
    })),
  );
  const listOperations = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag));
  const groups = tags.map(({ name, description }) => {
    const articles = listOperations(name).map((operation) => renderArticle(operation, components.schemas));
    return `<section><h2 id="${anchorId(name)}">${escapeHtml(name)}</h2><p>${escapeHtml(description)}</p>${articles.join("")}</section>`;
  });
  const shapes = Object.entries(components.schemas).map(([name, schema]) => renderShape(name, schema));
  const contents = [
    ...tags.map(({ name }) =>
      renderContentsEntry(
        name,
        listOperations(name).map(({ operation }) => link(operation.operationId, operation.summary)),
      ),
    ),
    renderContentsEntry("Shapes", Object.keys(components.schemas).map(shapeLink)),
  ];
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(info.title)} API</title>`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><style>${STYLE}</style></head><body>`,
    `<header><h1>${escapeHtml(info.title)} API ${escapeHtml(info.version)}</h1><p>${escapeHtml(info.description)}</p>`,
    `<p>For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1). The examples ask a service at ${code(EXAMPLE_HOST)};`,
    `what stands in the example answers is made up.</p></header>`,
    `<nav aria-label="Contents"><ul>${contents.join("")}</ul></nav>`,
    `<main>${groups.join("")}<section><h2 id="${anchorId("Shapes")}">Shapes</h2>${shapes.join("")}</section></main>`,
    "</body></html>",
  ].join("\n");
}

const renderContentsEntry = (name: string, links: readonly string[]): string =>
  `<li>${link(name)}<ul>${links.map((html) => `<li>${html}</li>`).join("")}</ul></li>`;

type Shapes = Readonly<Record<string, JsonSchema>>;

const renderShape = (name: string, schema: JsonSchema): string =>
  `<article><h3 id="${shapeId(name)}">${escapeHtml(name)}</h3><p>${escapeHtml(String(schema["description"] ?? ""))}</p>${fieldTable(schema)}</article>`;

interface PageOperation {
  path: string;
  method: string;
  operation: Operation;
}

function renderArticle(pageOperation: PageOperation, shapes: Shapes): string {
  const { path, method, operation } = pageOperation;
  const { operationId, summary, description, security, parameters = [], requestBody, responses } = operation;
  const body = requestBody?.content["application/json"]?.schema;
  const isForm = "application/x-www-form-urlencoded" in (requestBody?.content ?? {});
  const answers = Object.entries(responses).flatMap(([status, response]) => answerRows(status, response));
  // The first response is the success: statuses are in rising order, and `default` comes last.
  const success = Object.entries(responses).slice(0, 1);
  return [
    `<article><h3 id="${anchorId(operationId)}">${escapeHtml(summary)}</h3>`,
    `<p><code>${method} ${pathText(path)}</code> · ${code(operationId)}</p><p>${escapeHtml(description)}`,
    tokenText(security),
    "</p>",
    parameters.length > 0
      ? `<h4>Parameters</h4>${table(["Name", "Where", "Type", "Required", "What it is"], parameters.map(parameterRow))}`
      : "",
    body ? `<h4>Body: ${isForm ? "a form or JSON" : "JSON"}</h4>${fieldTable(body)}` : "",
    `<h4>Example</h4><pre><code>${escapeHtml(buildCurl(pageOperation))}</code></pre>`,
    ...success.map(([status, { content = {} }]) => exampleAnswer(status, content, shapes)),
    `<h4>Answers</h4>${table(["Status", "What it says", "Body"], answers)}`,
    ...success.map(([, { content = {} }]) => answerFields(content)),
    "</article>",
  ].join("");
}

/** Allows a line break after each slash of a path. */
const pathText = (path: string): string => escapeHtml(path).replace(/\/(?!$)/g, "/<wbr>");

const needsCredential = (security: Operation["security"]): boolean =>
  security.length > 0 && security.every((needed) => Object.keys(needed).length > 0);

/** Describes the credentials of an operation; empty if one of the alternatives is to send none. */
function tokenText(security: Operation["security"]): string {
  if (!needsCredential(security)) return "";
  return ` Needs the admin token${security.length > 1 ? " or a bearer secret" : ""} where one is set.`;
}

const parameterRow = ({ name, in: location, required, description = "", schema }: Parameter): string =>
  row([code(name), location, describeType(schema), required ? "required" : "", escapeHtml(description)]);

/** The fields of a success body that is no shape of its own. */
function answerFields(content: Content): string {
  const schema = content["application/json"]?.schema;
  return schema?.properties ? `<h4>Fields of the answer</h4>${fieldTable(schema)}` : "";
}

function fieldTable(schema: JsonSchema): string {
  const rows = fieldRows(schema);
  if (rows.length > 0)
    return table(
      ["Name", "Type", "Required", "What it is"],
      rows.map((cells) => row(cells)),
    );
  return schema.$ref || schema.anyOf || schema["oneOf"] ? `<p>${describeType(schema)}</p>` : "";
}

/** Builds the example request as a command. */
function buildCurl({ path, method, operation }: PageOperation): string {
  const { parameters = [], requestBody, security } = operation;
  const filledPath = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const example = parameters.find((parameter) => parameter.name === name)?.example;
    return encodeURIComponent(String(example ?? name));
  });
  const query = parameters
    .filter((parameter) => parameter.in === "query" && parameter.example !== undefined)
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
  const url = `${EXAMPLE_HOST}${filledPath}${query.length > 0 ? `?${query.join("&")}` : ""}`;
  const [type, media] =
    Object.entries(requestBody?.content ?? {}).find(([, { example }]) => example !== undefined) ?? [];
  const data = typeof media?.example === "string" ? media.example : JSON.stringify(media?.example, null, 2);
  return [
    `curl${method === "POST" && !media ? " -X POST" : ""} ${quoteForShell(url)}`,
    ...(needsCredential(security) ? ['-H "X-Svc-Admin-Token: $SVC_ADMIN_TOKEN"'] : []),
    ...(media ? [`-H ${quoteForShell(`content-type: ${type}`)}`, `--data-binary ${quoteForShell(data)}`] : []),
  ].join(" \\\n  ");
}

/** Quotes text so that a shell takes it literally. */
const quoteForShell = (text: string): string =>
  /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function exampleAnswer(status: string, content: Content, shapes: Shapes): string {
  const schema = content["application/json"]?.schema;
  if (!schema) return "";
  const sample = JSON.stringify(makeSample(schema, shapes), null, 2);
  return `<details><summary>An answer (${status})</summary><pre><code>${escapeHtml(sample)}</code></pre></details>`;
}

/** Builds the rows of a response. Errors have a row for each status of the operation's own codes, and one for the others. */
function answerRows(status: string, response: ApiResponse): string[] {
  const media = mediaTypes(response.content ?? {});
  if (status !== "default") return [row([status, escapeHtml(response.description), media])];
  const { kindCodes, ownCodes } = readErrorCodes(response);
  const groups = [...groupByStatus(ownCodes)].sort(([a], [b]) => a - b);
  const rows: [group: string, codes: readonly string[]][] = [
    ...groups.map(([group, codes]): [string, string[]] => [String(group), codes]),
    ["other", kindCodes],
  ];
  return rows.map(([group, codes]) => row([group, codes.map(code).join(", "), media]));
}

/** Lists the media types of an answer, each with the named shape that it has. */
const mediaTypes = (content: Content): string =>
  Object.entries(content)
    .map(([type, { schema }]) => {
      const shape = schema.allOf?.[0] ?? (schema.$ref ? schema : undefined);
      return `${escapeHtml(type)} ${shape ? describeType(shape) : ""}`.trim();
    })
    .join("<br>");

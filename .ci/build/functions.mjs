/**
 * Writes the arrow functions of a bundle as functions, where that is the same. Of a module the engine parses an arrow function
 * in full when it is loaded, another when it is called first; an eighth of a cold start. esbuild's own way (`supported.arrow`)
 * is wrong in fields of classes and in defaults of parameters.
 */
import { parse } from "acorn";

/** A module's text with as few arrow functions as can be. */
export function withFunctions(text) {
  const arrows = [];
  findArrows(parse(text, { ecmaVersion: "latest", sourceType: "module" }), { arrows, barred: new Set() });
  const edits = arrows
    .filter((arrow) => isPlain(arrow, text))
    .flatMap((arrow) => editsOf(arrow, text))
    .toSorted((one, other) => one.at - other.at);
  const parts = [];
  let from = 0;
  for (const { at, cut = 0, put } of edits) {
    parts.push(text.slice(from, at), put);
    from = at + cut;
  }
  return `${parts.join("")}${text.slice(from)}`;
}

/** Syntax that means something else in a function than in an arrow function. */
const OF_THE_FUNCTION_AROUND = {
  ThisExpression: () => true,
  Super: () => true,
  MetaProperty: () => true,
  Identifier: ({ name }) => name === "arguments" || name === "eval",
};

/** Adds the arrow functions in a node that can become functions; true if the node uses `this` or `arguments` of its function. */
function findArrows(node, found) {
  const { arrows, barred } = found;
  // At the beginning of a statement a function is a declaration.
  if (node.type === "ExpressionStatement") barred.add(node.start);
  if (node.type === "ExportDefaultDeclaration") barred.add(node.declaration.start);
  let uses = OF_THE_FUNCTION_AROUND[node.type]?.(node) ?? false;
  for (const part of Object.values(node))
    for (const child of Array.isArray(part) ? part : [part])
      if (typeof child?.type === "string" && findArrows(child, found)) uses = true;
  if (node.type === "FunctionExpression" || node.type === "FunctionDeclaration") return false;
  if (node.type === "ArrowFunctionExpression" && !uses && !barred.has(node.start)) arrows.push(node);
  return uses;
}

const NEW_LINE = /[\n\r\u2028\u2029]/;

/** Returns whether an arrow function can be rewritten: no comment before its body, and no end of a line that ends a statement. */
const isPlain = ({ start, end, body }, text) =>
  !/\/[/*]/.test(text.slice(start, body.start)) && !NEW_LINE.test(/^\s*/.exec(text.slice(end, end + 100))[0]);

/** Returns the edits that rewrite an arrow function. */
function editsOf({ start, end, async, params: [first], expression, body }, text) {
  const head = async ? start + "async".length : start;
  const bare = first !== undefined && text.slice(head, first.start).trim() === "";
  const arrow = text.lastIndexOf("=>", body.start);
  const keyword = { at: head, put: `${/[\w$]/.test(text[head - 1] ?? "") ? " " : ""}function${bare ? "(" : ""}` };
  const parameters = bare ? ")" : "";
  if (!expression) return [keyword, { at: arrow, cut: "=>".length, put: parameters }];
  // A value on the line after a return is not returned.
  const [open, close] = NEW_LINE.test(text.slice(arrow, body.start)) ? ["(", ")"] : ["", ""];
  return [keyword, { at: arrow, cut: "=>".length, put: `${parameters}{return ${open}` }, { at: end, put: `${close}}` }];
}

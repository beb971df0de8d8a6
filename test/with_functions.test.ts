/** The arrow functions of a bundle are replaced by functions only where the behaviour stays the same. */
import { expect, test } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../.ci/build/functions.mjs";

const { replaceArrowFunctions } = building as { replaceArrowFunctions(text: string): string };

const load = async (text: string): Promise<unknown> =>
  ((await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(text)}`)) as { default: unknown })
    .default;

test.each([
  ["no parameters", "const f = () => 1; export default f();"],
  ["a bare parameter", "const f = a => a + 1; export default f(1);"],
  ["a bare parameter with a body in parentheses", "const f = a => (a + 1); export default f(1);"],
  ["parameters", "const f = (a, b) => a + b; export default f(1, 2);"],
  [
    "rest and patterns",
    "const f = ({ a, ...b }, [c, ...d], ...e) => ({ a, b, c, d, e }); export default f({ a: 1, x: 2 }, [3, 4], 5);",
  ],
  ["a default that is an arrow function", "const f = (g = a => a * 2, b = g(3)) => g(b); export default f();"],
  ["an object", "const f = a => ({ a }); export default f(1);"],
  ["a sequence", "const f = a => (a++, a); export default f(1);"],
  ["a block", "const f = a => { const b = a; return b; }; export default f(1);"],
  ["nested functions", "const f = a => b => c => a + b + c; export default f(1)(2)(3);"],
  [
    "async",
    "const f = async a => await a; const g = async (a, b) => { return a + await b; }; export default await f(1) + await g(2, 3);",
  ],
  [
    "after a keyword",
    "function f(a) { switch (a) { case 1: return(a)=>a; default: return b=>b + typeof(c=>c); } } export default [f(1)(2), f(2)(3)];",
  ],
  ["a function that is called immediately", "export default (a => a + 1)(1) + (() => { return 1; })();"],
  ["on the next line", "const f = () =>\n  1; export default f();"],
  ["on the next line of other kinds", "const f = () =>\r 1, g = () =>\u2028 2; export default f() + g();"],
  ["an arrow in a text", "const f = a => `${[1].map(b => b + '=>')}=>` + '=>' + /=>/.test(a); export default f('=>');"],
  ["in a field", "class A { f = a => a + 1; static g = () => 2; } export default new A().f(1) + A.g();"],
  [
    "its name and length",
    "const f = (a, b) => a; const o = { g: a => a }; export default [f.name, f.length, o.g.name, o.g.length];",
  ],
])("an arrow function is replaced: %s", async (_, text) => {
  const written = replaceArrowFunctions(text);
  // Arrows in texts and in a regular expression stay.
  expect(written.replaceAll(/'=>'|=>`|\/=>\//g, "")).not.toContain("=>");
  expect(await load(written)).toEqual(await load(text));
});

test.each([
  ["this", "class A { b = 1; f() { return [1].map(() => this.b); } } export default new A().f();"],
  [
    "this in a nested arrow function",
    "class A { b = 1; f() { return (() => () => this.b)()(); } } export default new A().f();",
  ],
  ["this in a field", "class A { b = 1; f = () => this.b; } const { f } = new A(); export default f();"],
  ["this in a default", "class A { b = 1; f(c = () => this.b) { return c(); } } export default new A().f();"],
  ["arguments", "function f() { return (() => arguments.length)(); } export default f(1, 2);"],
  [
    "super",
    "class A { b() { return 1; } } class B extends A { c() { return (() => super.b())(); } } export default new B().c();",
  ],
  [
    "super of a constructor",
    "class A { b = 1; } class B extends A { constructor() { const f = () => super(); f(); } } export default new B().b;",
  ],
  ["new.target", "function F() { this.b = (() => new.target === F)(); } export default new F().b;"],
  ["the beginning of a statement", "() => 1; a => a, 2; export default 1;"],
  [
    "a line that is not ended by a semicolon",
    "let b = 1; const f = () => {}\n[1].map(() => b++); export default [f(), b];",
  ],
  ["a line after its class field", "class A { f = () => {}\n ['x'] = 1 } export default new A().x;"],
  ["a comment before its body", "const f = a => /* => */ a; const g = async/**/a => a; export default f(await g(1));"],
  ["the default export", "export default () => 1;"],
])("an arrow function stays: %s", async (_, text) => {
  const written = replaceArrowFunctions(text);
  expect(written).toContain("=>");
  const [actual, expected] = [await load(written), await load(text)];
  expect(typeof actual === "function" ? actual() : actual).toEqual(
    typeof expected === "function" ? expected() : expected,
  );
});

test("an arrow function that does not use the outer function is replaced", async () => {
  const text = "class A { b = 1; f() { return [this.b].map(c => c + 1); } } export default new A().f();";
  const written = replaceArrowFunctions(text);
  expect(written).not.toContain("=>");
  expect(await load(written)).toEqual([2]);
});

test("an inner function with its own `this` does not prevent a replacement", async () => {
  const text =
    "const f = () => ({ b: 1, c() { return this.b; }, d: function () { return this.b + 1; } }); export default f().c() + f().d();";
  const written = replaceArrowFunctions(text);
  expect(written).not.toContain("=>");
  expect(await load(written)).toBe(3);
});

/** Resolves `typescript` to the one that has a compiler in JavaScript, which a generator prints its files with. */
import { createRequire, register } from "node:module";
import { pathToFileURL } from "node:url";

const ownerOfCompiler = createRequire(import.meta.resolve("@arethetypeswrong/core"));
const compiler = pathToFileURL(ownerOfCompiler.resolve("typescript")).href;
const hooks = `export const resolve = (name, context, next) =>
  name === "typescript" ? { url: ${JSON.stringify(compiler)}, shortCircuit: true } : next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

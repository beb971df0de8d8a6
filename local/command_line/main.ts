#!/usr/bin/env node
/** `countersign`: everything that the package does, on a command line. */
import { nodeIo } from "./node_io.ts";
import { run } from "./run.ts";

/** A reader of the output may close it early. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

const code = await run(process.argv.slice(2), nodeIo);
// Undefined: another program was started and runs on.
if (code !== undefined) process.exitCode = code;

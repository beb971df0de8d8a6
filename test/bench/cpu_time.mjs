/** Processor time that a process has used. */
import { readdir, readFile } from "node:fs/promises";

/** Returns the processor time of all threads of a process so far, in microseconds; NaN without /proc. */
export async function processorTime({ child }) {
  const tasks = `/proc/${child.pid}/task`;
  const names = await readdir(tasks).catch(() => []);
  const times = names.map((name) => readFile(`${tasks}/${name}/schedstat`, "utf8").catch(() => "0"));
  const nanoseconds = (await Promise.all(times)).reduce((sum, text) => sum + Number(text.split(" ")[0]), 0);
  return names.length > 0 ? nanoseconds / 1000 : NaN;
}

/** A reporter that prints the elapsed time, the total time and the slowest files of each project. */
import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

const MAX_LISTED_FILES = 3;

interface FileDuration {
  file: string;
  ms: number;
}

interface ProjectDurations {
  began: number;
  ended: number;
  files: FileDuration[];
}

/** Writes to standard error, since another program may read a report on standard output. */
export class ProjectTimes implements Reporter {
  readonly #projects = new Map<string, ProjectDurations>();
  #root = "";

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
  }

  onTestModuleQueued({ project }: TestModule): void {
    if (!this.#projects.has(project.name))
      this.#projects.set(project.name, { began: performance.now(), ended: 0, files: [] });
  }

  onTestModuleEnd(module: TestModule): void {
    const times = this.#projects.get(module.project.name)!;
    const { prepareDuration, collectDuration, duration } = module.diagnostic();
    times.ended = performance.now();
    times.files.push({ file: relative(this.#root, module.moduleId), ms: prepareDuration + collectDuration + duration });
  }

  onTestRunEnd(): void {
    for (const [name, { began, ended, files }] of this.#projects) {
      const slowest = files.sort((a, b) => b.ms - a.ms).slice(0, MAX_LISTED_FILES);
      const sum = files.reduce((total, { ms }) => total + ms, 0);
      const reported = slowest.map(({ file, ms }) => `${file} ${formatSeconds(ms)}`).join(", ");
      process.stderr.write(
        `${name}: ${files.length} files in ${formatSeconds(ended - began)}, ${formatSeconds(sum)} in sum; ` +
          `slowest: ${reported}\n`,
      );
    }
  }
}

const formatSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

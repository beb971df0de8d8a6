/** Takes hold of what a folder stands for: resolves with its release, or with undefined when another process holds it. */
export type Hold = (folder: string) => Promise<(() => Promise<void>) | undefined>;

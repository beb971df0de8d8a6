/** Describes a failed fetch by its cause: its own message is only "fetch failed". */
export function describeCause(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? ((cause as Error & { code?: string }).code ?? cause.message) : message;
}

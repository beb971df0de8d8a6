/** What fetch says is "fetch failed"; why, it keeps behind that. */
export function describeCause(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? ((cause as Error & { code?: string }).code ?? cause.message) : message;
}

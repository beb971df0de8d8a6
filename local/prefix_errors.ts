/** Prefixes the message of an error with the option or file that it is about. */
export async function prefixErrors<T>(subject: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${subject}: ${(error as Error).message}`, { cause: error });
  }
}

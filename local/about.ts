/** Names the option or file that an error is about. */
export async function about<T>(subject: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${subject}: ${(error as Error).message}`, { cause: error });
  }
}

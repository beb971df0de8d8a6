/** Placeholder. */
export async function dynamoDb(_: { short: boolean }): Promise<void> {}

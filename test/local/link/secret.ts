/** The secret that the nodes of these tests share. */
export const SECRET = "a secret of the tests, long enough";

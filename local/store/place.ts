/** Where an operation lies: a file of the journal and an offset in it, as one number. */

const SPAN = 2 ** 32;

/** The number for an offset in a file; `file` counts the files this process has opened, from 1. */
export const placeOf = (file: number, offset: number): number => file * SPAN + offset;

/** The file of a place. */
export const fileOf = (place: number): number => Math.floor(place / SPAN);

/** The offset of a place in its file, in bytes. */
export const offsetOf = (place: number): number => place % SPAN;

/** Controls and characters that nobody sees: in a name they would make two that look equal differ. */
export const INVISIBLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

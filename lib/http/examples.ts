/** Values that the examples of several endpoints share. */

export const CHANGE_ID = "chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1";

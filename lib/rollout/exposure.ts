/** The part of the users who have the value of a rollout now. */

export interface Exposure {
  /** Current step, from 0; the number of steps once everybody has the value. */
  step: number;
  /** Share of the users who have the value, of 10,000; 10,000 once nobody keeps the earlier value. */
  share: number;
  /** Attribute of the evaluation context that distinguishes users. */
  unit: string;
  /** Prefix of the unit in the hash: the id of the change. */
  salt: string;
  /** When the step began, RFC 3339. */
  since: string;
}

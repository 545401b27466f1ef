/** How one test in the virtual machine ended, as the machine says it: one line of JSON each. */
export type Outcome = {
  readonly name: string;
  readonly isSuite: boolean;
  /** Why it was skipped. */
  readonly skip?: string;
  /** What went wrong, as text with its stack. */
  readonly failure?: string;
};

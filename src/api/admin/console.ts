/** The longest lifetime of a code for the console, in milliseconds. */
export const maxCodeMs = 300_000;

/** The path of the console. */
export const consolePath = '/console';

/** Returns the "aud" of codes and sessions of the console, for a gateway whose tokens have this one. */
export function consoleAudience(audience: string): string {
  return `${audience}/console`;
}

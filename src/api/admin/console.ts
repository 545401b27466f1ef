/** The longest lifetime of a code for the console, in milliseconds. */
export const maxCodeMs = 300_000;

/** The path of the console. */
export const consolePath = '/console';

/** The path to which an OpenID provider sends browsers back after a login. */
export const callbackPath = `${consolePath}/oidc/callback`;

/** Returns the "aud" of codes and sessions of the console, for a gateway whose tokens have this one. */
export function consoleAudience(audience: string): string {
  return `${audience}/console`;
}

/** The reason why a login at the provider opened no session; `unavailable`: the provider or the store did not answer. */
export type LoginFault = 'refused' | 'unavailable';

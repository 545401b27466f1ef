/** The contexts and secrets of a driver for its node plugin, which an attachment over `csi` carries among its secrets. */
export type DriverSecretKind =
  | 'publish-context'
  | 'volume-context'
  | 'stage-secret'
  | 'publish-secret'
  | 'expand-secret';

type Texts = Readonly<Record<string, string>>;

/** Makes secrets of an attachment from texts of a kind: their keys become `KIND/KEY`. */
export function toDriverSecrets(kind: DriverSecretKind, texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [`${kind}/${key}`, text]));
}

/** Takes the texts of a kind out of the secrets of an attachment. */
export function driverTextsOf(kind: DriverSecretKind, secrets: Texts): Record<string, string> {
  const own = Object.entries(secrets).filter(([key]) => key.startsWith(`${kind}/`));
  return Object.fromEntries(own.map(([key, text]) => [key.slice(kind.length + 1), text]));
}

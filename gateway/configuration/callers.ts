import type { KeyOwner, TrustedCaller } from '../callers/authenticate.ts';
import type { ConfigFile } from './file.ts';

export type OwnKeysFile = KeyOwner & { readonly keys: string };

/** A trusted caller, and the path of the file with the issuer's keys, or `discovery` if the issuer publishes them. */
export type IssuerKeysFile = Omit<TrustedCaller, 'keys'> & { readonly keys: string };

export function callersOf({ clusters, operators }: ConfigFile) {
  const own: OwnKeysFile[] = [];
  const trusted: IssuerKeysFile[] = [];
  const add = (caller: KeyOwner['caller'], issuer: string, keys: string | undefined): void => {
    if (keys !== undefined) own.push({ caller, issuer, keys });
  };
  for (const [name, entry] of Object.entries(clusters)) {
    const { keys, readers, serviceAccount, issuer = name, ...rest } = entry;
    const cluster = { name, ...rest };
    const controller = { role: 'controller', cluster } as const;
    add(controller, issuer, keys);
    add({ role: 'reader', cluster }, issuer, readers);
    if (serviceAccount) {
      const { subject, ...account } = serviceAccount;
      trusted.push({ caller: controller, subjects: [subject], ...account });
    }
  }
  const operator = { role: 'operator' } as const;
  add(operator, 'operators', operators?.keys);
  add({ role: 'reader' }, 'operators', operators?.readers);
  if (operators?.oidc) trusted.push({ caller: operator, ...operators.oidc });
  return { own, trusted };
}

import type { KeyOwner, Trusted } from '../http/auth.ts';
import type { ConfigFile } from './file.ts';

/** Who calls with keys of its own, and the file that has them. */
export type OwnKeysFile = KeyOwner & { readonly keys: string };

/** Who calls with tokens that an issuer signs, and the file with the issuer's keys; `discovery`: as it publishes them. */
export type IssuerKeysFile = Omit<Trusted, 'keys'> & { readonly keys: string };

/** All who may call, as the configuration file names them. */
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

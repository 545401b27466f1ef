import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { unavailableProblem } from '../../src/api/problem.ts';
import { describeStartFault } from '../../src/lib/lifecycle.ts';
import { silentLog } from '../../src/lib/log.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import type { BackendPlugin, Identity } from '../backend.ts';
import { createIdentity } from './identity.ts';
import { judgeMark } from './owner.ts';
import { pluginOf, type PoolEntry, type Plugins } from './plugins.ts';
import { withoutPoolName } from './state/waiting.ts';

/**
 * A part of the gateway with its faults. `note` says that the part, or some of it, was not checked. `warning` says what is no
 * fault, or none yet.
 */
export type Finding = {
  readonly part: string;
  readonly faults: readonly string[];
  readonly warning?: string | undefined;
  readonly note?: string | undefined;
};

/** The id of a store; undefined for a new one. */
export type StoreIdentity = { readonly id: string | undefined };

/** A pool's entry as it is written in the file. */
type WrittenPool = { readonly name: string; readonly written: Readonly<Record<string, unknown>> };

type CheckOptions = {
  readonly plugins: Plugins;
  /** Undefined if the gateway cannot use the store. */
  readonly storeIdentity: Promise<StoreIdentity | undefined>;
  readonly gatewayName: string | undefined;
  readonly adopted: readonly string[];
  readonly keyFile: string | undefined;
  readonly directory: string;
};

/** Checks the machine and the storage for a pool, and the files that its entry names. Changes nothing. */
export async function checkPool(
  { name, written, entry }: WrittenPool & { readonly entry: PoolEntry },
  options: CheckOptions,
): Promise<Finding> {
  const part = `pool ${name}`;
  const { settings } = entry;
  const plugin = options.plugins[entry.backend];
  if (!plugin?.check) return { part, faults: [], note: 'a check would have to open the pool' };
  const { identity, lacks } = identify(options);
  const context = { log: silentLog, directory: options.directory, name, identity };
  const found: string[] = [];
  const failed = await faultsOf(async () => found.push(...((await plugin.check?.(settings, context)) ?? [])));
  const note = lacks();
  const ownFaults = [...found, ...failed].map(fault => withoutPoolName(name, fault));
  const files = await unreadableFiles(plugin, written, options);
  // The storage's client reports the same file in the same words.
  const faults = [...new Set([...files, ...ownFaults])].filter(fault => fault !== note);
  if (note !== undefined) return { part, faults, note: faults.length > 0 ? note : `${note}; all else is ok` };
  if (faults.length > 0) return { part, faults };
  const missing = (await plugin.missingFeatures?.(settings)) ?? [];
  const warning = missing.length > 0 ? missing.join('; ') : undefined;
  return { part, warning, ...(await checkOwner(plugin, { name, settings, ...options })) };
}

/** Checks the files that an entry with faults names. */
export async function checkFaultyPool(
  { name, written }: WrittenPool,
  options: CheckOptions,
): Promise<Finding> {
  const plugin = pluginOf(options.plugins, written['backend']);
  const faults = plugin ? await unreadableFiles(plugin, written, options) : [];
  return { part: `pool ${name}`, faults, note: 'the storage, because its entry has faults' };
}

/** Returns the error's line, if the work fails. */
export async function faultsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [describeStartFault(error)];
  }
}

async function unreadableFiles(
  { filesOf }: BackendPlugin,
  written: WrittenPool['written'],
  { directory }: Pick<CheckOptions, 'directory'>,
): Promise<readonly string[]> {
  const paths = (filesOf?.(written) ?? []).map(path => resolve(directory, path));
  const faults = paths.map(path =>
    readFile(path).then(
      () => [],
      (error: unknown) => [`"${path}" cannot be read: ${reasonOf(error)}`],
    ),
  );
  return (await Promise.all(faults)).flat();
}

/** Checks whose pool it is, as far as its mark shows it. */
async function checkOwner(
  { readOwner }: BackendPlugin,
  {
    name,
    settings,
    storeIdentity,
    adopted,
  }: CheckOptions & Pick<PoolEntry, 'settings'> & { readonly name: string },
): Promise<Omit<Finding, 'part'>> {
  let note: string | undefined;
  const faults = await faultsOf(async () => {
    const found = await readOwner?.(settings);
    const store = await storeIdentity;
    note = store
      ? judgeMark(found, { name, ...store, adopted })
      : 'whose pool it is, because the store cannot be used; all else is ok';
  });
  return { faults, note };
}

/**
 * Makes the identity that the gateway would have. `lacks` says why a pool that asked for a token could not get one,
 * because a check makes no key file. The token's issuer comes from the store, which may answer slowly.
 */
function identify({ keyFile, gatewayName, storeIdentity }: CheckOptions) {
  let note: string | undefined;
  const identity: Identity = {
    name: gatewayName ?? 'gateway',
    async token(audience, renew) {
      if (keyFile === undefined || !existsSync(keyFile)) {
        const reason = keyFile === undefined ? 'has no valid path' : `"${keyFile}" does not exist yet`;
        note = `whether its storage accepts this gateway's tokens, because the key file ${reason}`;
        throw unavailableProblem(note);
      }
      const id = gatewayName === undefined ? (await storeIdentity)?.id : undefined;
      const name = gatewayName ?? (id && `gateway-${id.slice(0, 8)}`) ?? 'gateway';
      return createIdentity(name, keyFile).token(audience, renew);
    },
  };
  return { identity, lacks: () => note };
}

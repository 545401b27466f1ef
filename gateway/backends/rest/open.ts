import { asProblem, wordsForOperators } from '../../../src/api/problem.ts';
import { repeat } from '../../../src/lib/concurrency.ts';
import { sameJson } from '../../../src/lib/json.ts';
import type { Backend, PoolContext } from '../../backend.ts';
import { createAttachments } from './attachments.ts';
import { createNames } from './names.ts';
import { describe, readOffer, type Offer } from './offer.ts';
import { ignoredKeywords } from './parameters.ts';
import type { RestSettings } from './settings.ts';
import { createSnapshots } from './snapshots.ts';
import { createStorage } from './storage.ts';
import { createTokenSource, type TokenSource } from './tokens.ts';
import { createVendor, reachStorage } from './vendor.ts';
import { createVolumes } from './volumes.ts';

/**
 * Asks the storage once for its capabilities, and returns its fault, if it has one. Without a token it returns also the
 * fault of the way to the storage.
 */
export async function checkRest(settings: RestSettings, pool: PoolContext): Promise<readonly string[]> {
  let token: TokenSource | undefined;
  const noToken = await faultsOf(async () => {
    token = createTokenSource(settings, pool);
    await token(false);
  });
  if (noToken.length > 0) return [...noToken, ...(await faultsOf(() => reachStorage(settings, pool)))];
  const vendor = createVendor(settings, pool, token);
  const faults = await faultsOf(() => readOffer(vendor, settings.pool));
  await vendor.close();
  return faults;
}

async function faultsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    const { reason, message } = error as Error & { readonly reason?: string };
    return [reason ?? message];
  }
}

/**
 * Opens a pool over REST with the capabilities that the storage reports. They are read again every `lookEvery`, and when
 * the gateway asks whether the storage answers. The backend's members follow the last valid answer. UNAVAILABLE when the
 * storage reports none at the start.
 */
export async function openRest(settings: RestSettings, pool: PoolContext): Promise<Backend> {
  const vendor = createVendor(settings, pool);
  const { requireCaller } = pool;
  const names = createNames(pool.identity?.name ?? 'gateway', pool.name);
  const storageHost = new URL(settings.url).hostname;
  const detail = `pools.${pool.name}`;
  let known: Offer;
  let backend: Backend;
  let reported = '';
  let isClosed = false;

  function use(offer: Offer): void {
    const ignored = ignoredKeywords(offer);
    const storage = createStorage({ vendor, names, offer, pool: settings.pool, requireCaller });
    backend = {
      ...describe(offer),
      ...createVolumes(storage),
      ...createAttachments(storage),
      ...createSnapshots(storage),
      storageHost,
      reach: look,
      isPaused: vendor.isPaused,
    };
    known = offer;
    if (ignored.length > 0)
      pool.log.warn('the parameter schema of a storage has keywords that this gateway does not check', {
        detail: `${detail}: ${ignored.join(', ')}`,
      });
  }

  async function look(): Promise<void> {
    const offer = await readOffer(vendor, settings.pool);
    if (sameJson(offer, known)) return;
    use(offer);
    pool.log.info('the capabilities of a storage have changed', { detail });
  }

  async function refresh(): Promise<void> {
    try {
      await look();
      reported = '';
    } catch (error) {
      if (isClosed) return;
      const reason = wordsForOperators(asProblem(error));
      if (reason !== reported) pool.log.warn('a storage did not report its capabilities', { detail: reason });
      reported = reason;
    }
  }

  try {
    use(await readOffer(vendor, settings.pool));
  } catch (error) {
    await vendor.close();
    throw error;
  }
  const refreshing = repeat(refresh, settings.lookEvery);
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all([vendor.close(), refreshing.close()]);
  };
  // A proxy, so that holders of the backend always see its present members.
  return new Proxy({} as Backend, {
    get: (_, member) => (member === 'close' ? close : Reflect.get(backend, member)),
    ownKeys: () => [...Reflect.ownKeys(backend), 'close'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

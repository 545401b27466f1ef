import { asProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { repeat } from '../../../src/lib/concurrency.ts';
import { sameJson } from '../../../src/lib/json.ts';
import type { Backend, PoolContext } from '../../backend.ts';
import { createNames } from './names.ts';
import { toBackend } from './offer.ts';
import { ignoredKeywords } from './parameters.ts';
import type { RestSettings } from './settings.ts';
import type { Offer } from './storage.ts';
import { createVendor, type Vendor } from './vendor.ts';

type Discovery = { readonly offer: Offer; readonly backend: Backend };

/**
 * Opens a pool over REST with the capabilities that the storage reports. They are read again every `lookEvery`, and
 * the backend's members follow the last valid answer. UNAVAILABLE when the storage reports none at the start.
 */
export async function openRest(settings: RestSettings, pool: PoolContext): Promise<Backend> {
  const vendor = createVendor(settings, pool);
  const names = createNames(pool.identity?.name ?? 'gateway', pool.name);
  const discoverBackend = async (): Promise<Discovery> => {
    const offer = await discover(vendor, settings);
    const backend = toBackend({ vendor, names, offer, pool: settings.pool });
    return { offer, backend: { ...backend, storageHost: new URL(settings.url).hostname } };
  };
  let known = await discoverBackend().catch(async (error: unknown) => {
    await vendor.close();
    throw error;
  });
  reportIgnored();
  let reported = '';
  let isClosed = false;

  function reportIgnored(): void {
    const ignored = ignoredKeywords(known.offer);
    if (ignored.length === 0) return;
    const detail = `pools.${pool.name}: ${ignored.join(', ')}`;
    pool.log.warn('the parameter schema of a storage has keywords that this gateway does not check', {
      detail,
    });
  }

  async function refresh(): Promise<void> {
    try {
      const found = await discoverBackend();
      reported = '';
      if (sameJson(found.offer, known.offer)) return;
      known = found;
      reportIgnored();
      pool.log.info('the capabilities of a storage have changed', { detail: `pools.${pool.name}` });
    } catch (error) {
      if (isClosed) return;
      const { detail } = asProblem(error);
      if (detail !== reported) pool.log.warn('a storage did not report its capabilities', { detail });
      reported = detail;
    }
  }

  const refreshing = repeat(refresh, settings.lookEvery);
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all([vendor.close(), refreshing.close()]);
  };
  // A proxy, so that holders of the backend always see its present members.
  return new Proxy({} as Backend, {
    get: (_, member) => (member === 'close' ? close : Reflect.get(known.backend, member)),
    ownKeys: () => [...Reflect.ownKeys(known.backend), 'close'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

/** The maximum size of the capabilities without parameter schemas, in bytes of JSON; every cluster gets them. */
const maxOfferBytes = 65_536;

async function discover(vendor: Vendor, settings: RestSettings): Promise<Offer> {
  const { parameters, ...rest } = await findOffer(vendor, settings);
  const { length } = JSON.stringify(rest);
  if (length > maxOfferBytes)
    throw unavailableProblem(
      `the capabilities of the storage have ${length} bytes, more than the ${maxOfferBytes} allowed`,
    );
  return { ...rest, ...(parameters && { parameters }) };
}

async function findOffer(vendor: Vendor, { pool }: RestSettings): Promise<Offer> {
  const { version: _, pools, ...all } = await vendor.ask('getCapabilities', {});
  const names = pools.map(({ name }) => `"${name}"`).join(', ');
  if (pool === undefined) {
    if (pools.length <= 1) return { ...all, ...pools[0] };
    throw unavailableProblem(`the storage has several pools; set "pool" to one of ${names}`);
  }
  const found = pools.find(({ name }) => name === pool);
  if (!found) throw unavailableProblem(`the storage has no pool "${pool}"; it has ${names || 'none'}`);
  return found;
}

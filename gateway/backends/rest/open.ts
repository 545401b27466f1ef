import { asProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { repeat } from '../../../src/lib/concurrency.ts';
import { sameJson } from '../../../src/lib/json.ts';
import type { Backend, PoolContext } from '../../backend.ts';
import { createNames } from './names.ts';
import { toBackend } from './offer.ts';
import type { RestSettings } from './settings.ts';
import type { Offer } from './storage.ts';
import { createVendor, type Vendor } from './vendor.ts';

type Learned = { readonly offer: Offer; readonly backend: Backend };

/**
 * Opens a pool whose storage is reached over REST, by what it says that it can do. That is asked again every so often, and
 * the backend's members are as the last sound answer has them. UNAVAILABLE when nothing can be learned of it now.
 */
export async function openRest(settings: RestSettings, pool: PoolContext): Promise<Backend> {
  const vendor = createVendor(settings, pool);
  const names = createNames(pool.identity?.name ?? 'gateway', pool.name);
  const learn = async (): Promise<Learned> => {
    const offer = await discover(vendor, settings);
    return { offer, backend: toBackend({ vendor, names, offer, pool: settings.pool }) };
  };
  let known = await learn().catch(async (error: unknown) => {
    await vendor.close();
    throw error;
  });
  let reported = '';
  let isClosed = false;

  async function look(): Promise<void> {
    try {
      const found = await learn();
      reported = '';
      if (sameJson(found.offer, known.offer)) return;
      known = found;
      pool.log.info('a storage can do other things than before', { detail: `pools.${pool.name}` });
    } catch (error) {
      if (isClosed) return;
      const { detail } = asProblem(error);
      if (detail !== reported) pool.log.warn('a storage does not say what it can do', { detail });
      reported = detail;
    }
  }

  const looking = repeat(look, settings.lookEvery);
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all([vendor.close(), looking.close()]);
  };
  // Whoever holds the backend sees what it is now.
  return new Proxy({} as Backend, {
    get: (_, member) => (member === 'close' ? close : Reflect.get(known.backend, member)),
    ownKeys: () => [...Reflect.ownKeys(known.backend), 'close'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

async function discover(vendor: Vendor, { pool }: RestSettings): Promise<Offer> {
  const { version: _, pools, ...all } = await vendor.ask('getCapabilities', {});
  const names = pools.map(({ name }) => `"${name}"`).join(', ');
  if (pool === undefined) {
    if (pools.length <= 1) return { ...all, ...pools[0] };
    throw unavailableProblem(`the storage has several pools, and "pool" names none of them: ${names}`);
  }
  const found = pools.find(({ name }) => name === pool);
  if (!found) throw unavailableProblem(`the storage has no pool "${pool}"; it has ${names || 'none'}`);
  return found;
}

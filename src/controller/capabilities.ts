import type { StorageClient } from '../api/client.ts';
import { asProblem, invalidProblem, type Problem, unavailableProblem } from '../api/problem.ts';
import { hasFeature, type Capabilities, type Feature } from '../api/storage.ts';
import type { _csi_v1_ControllerServiceCapability_RPC_Type as RpcType } from '../csi/generated/csi/v1/ControllerServiceCapability.ts';
import { advertisable, type CapabilityName, type AdvertisedCapabilities } from '../csi/identity.ts';
import { pause } from '../lib/concurrency.ts';
import { sameJson } from '../lib/json.ts';
import type { Log } from '../lib/log.ts';
import { isVendor } from './vendor.ts';

export type ControllerOptions = {
  readonly client: StorageClient;
  readonly capabilities: ReturnType<typeof createCapabilitySource>;
  readonly cluster: string;
  /**
   * The plugin's capabilities. A request that needs another one is INVALID_ARGUMENT, and answers leave its fields
   * out.
   */
  readonly advertised: AdvertisedCapabilities;
};

const requestTimeoutMs = 10_000;
const firstPauseMs = 250;
const maxPauseMs = 15_000;

/** The callback for each answer that differs from the one before, and the time between two requests. */
type SourceOptions = {
  readonly onChange: (capabilities: Capabilities) => void;
  readonly refreshMs?: number;
};

/**
 * Asks the storage for its capabilities until the gateway answers, and again every so often: a pool that was not
 * ready then may offer more now. Sidecars refreshForever only once, so they see new capabilities after a restart.
 */
export function createCapabilitySource(
  client: Pick<StorageClient, 'getCapabilities'>,
  log: Log,
  { onChange, refreshMs = 60_000 }: SourceOptions,
) {
  let known: Capabilities | undefined;
  let reason = 'the first request has not ended';
  const closing = new AbortController();

  async function refresh(): Promise<void> {
    const found = await client.getCapabilities({}, { deadlineMs: Date.now() + requestTimeoutMs });
    if (sameJson(found, known)) return;
    known = found;
    const pools = known.pools.map(({ name, backend }) => `${name} (${backend})`);
    log.info('the gateway reported its capabilities', { detail: pools.join(', ') });
    onChange(known);
  }

  async function refreshForever(): Promise<void> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        await refresh();
      } catch (error) {
        if (closing.signal.aborted) return;
        reason = asProblem(error).detail;
        if (!known) log.warn('the gateway did not report its capabilities', { detail: reason });
      }
      await pause((known ? refreshMs : pauseMs) * (0.5 + Math.random()), closing.signal);
    }
  }

  // `refreshForever` rejects only when `close` ends a pause.
  refreshForever().catch(() => {});
  return {
    /** Returns the last capabilities. UNAVAILABLE, with the reason, until the gateway has answered once. */
    get(): Capabilities {
      if (!known) throw unavailableProblem(`the gateway has not reported its capabilities: ${reason}`);
      return known;
    },
    isKnown: () => known !== undefined,
    close: () => closing.abort(),
  };
}

/** Lists the RPCs that the Controller service offers for a storage with these capabilities. */
export function offeredRpcs(storage: Capabilities): RpcType[] {
  const has = (feature: Feature, ...types: RpcType[]): RpcType[] =>
    hasFeature(storage, feature) ? types : [];
  return [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'LIST_VOLUMES',
    ...has('capacity', 'GET_CAPACITY'),
    // A snapshot is of no use to a cluster that cannot create a volume from it (CSI spec,
    // "ControllerGetCapabilities").
    ...(hasFeature(storage, 'restore')
      ? has('snapshots', 'CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS', 'GET_SNAPSHOT')
      : []),
    ...has('clone', 'CLONE_VOLUME'),
    'PUBLISH_READONLY',
    ...has('expand', 'EXPAND_VOLUME'),
    'LIST_VOLUMES_PUBLISHED_NODES',
    'GET_VOLUME',
    ...(storage.accessModes.includes('SINGLE_NODE_MULTI_WRITER')
      ? (['SINGLE_NODE_MULTI_WRITER'] as const)
      : []),
    ...has('modify', 'MODIFY_VOLUME'),
    ...has('health', 'GET_VOLUME_HEALTH'),
    ...(isVendor(storage) ? [] : has('health', 'LIST_VOLUME_HEALTH')),
  ];
}

/** INVALID_ARGUMENT for a field of a capability that the plugin does not advertise. */
export function unofferedProblem(field: string): Problem {
  return invalidProblem(`${field} is set, but this driver does not support it; remove it`);
}

/** The features that a storage must have for each capability of the plugin. */
const needs: Readonly<Record<CapabilityName, readonly Feature[]>> = {
  'group-snapshots': ['groups'],
  'changed-blocks': ['changes'],
  topology: ['topology'],
  'snapshot-topology': ['topology', 'snapshots'],
};

/**
 * Compares the setting, which is the same on all nodes, with the storage. Returns a sentence for each capability that
 * only one of them has.
 */
export function findDisagreements(
  advertised: AdvertisedCapabilities,
  storage: Capabilities,
): readonly string[] {
  return advertisable.flatMap(word => {
    const has = needs[word].every(feature => hasFeature(storage, feature));
    // A cluster without backup programs has no sidecar that passes changed blocks on.
    if (has === advertised.includes(word) || (has && word === 'changed-blocks')) return [];
    return has
      ? [`the storage supports "${word}" but clusters cannot use it; add it to --plugin-capabilities`]
      : [`--plugin-capabilities has "${word}" but the storage does not support it; remove it`];
  });
}

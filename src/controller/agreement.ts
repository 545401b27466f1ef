import { hasFeature, type Feature } from '../api/storage.ts';
import type { Capabilities } from '../api/storage.ts';
import { advertisable, type Advertisable, type Advertised } from '../csi/plugin-capabilities.ts';

/** What a storage must have for what is advertised, and what comes of it when it is not advertised. */
const needs: Readonly<
  Record<Advertisable, { readonly features: readonly Feature[]; readonly loss: string }>
> = {
  'group-snapshots': { features: ['groups'], loss: 'clusters cannot use its groups of snapshots' },
  'changed-blocks': { features: ['changes'], loss: 'clusters cannot ask which blocks of a snapshot changed' },
  topology: {
    features: ['topology'],
    loss: 'pods may be put on nodes that do not reach their volumes, which is only refused when one is attached',
  },
  'snapshot-topology': {
    features: ['topology', 'snapshots'],
    loss: 'snapshots may be restored where they are not, which is refused',
  },
};

/**
 * One sentence for each thing in which the setting and the storage do not agree. What the plugin advertises stays as it
 * is set: it must be the same on all nodes, and none of them knows the storage.
 */
export function findDisagreements(advertised: Advertised, storage: Capabilities): readonly string[] {
  return advertisable.flatMap(word => {
    const has = needs[word].features.every(feature => hasFeature(storage, feature));
    if (has === advertised.includes(word)) return [];
    return has
      ? [`the storage has "${word}", and --plugin-capabilities does not: ${needs[word].loss}`]
      : [`--plugin-capabilities has "${word}", and the storage does not: clusters count on it in vain`];
  });
}

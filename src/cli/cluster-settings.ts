import { onOrOff, type SettingsOf } from '../lib/settings.ts';
import { contextSettings } from './commands/contexts.ts';

/** The settings that choose the cluster of a list. */
export const clusterSettings = toClusterSettings(
  'show this cluster only, unless --all-clusters is given',
  'show all clusters, even if the context has a cluster',
);

/** The settings that choose the cluster of a named resource. */
export const ownerSettings = toClusterSettings(
  'cluster to put in front of a name without one, unless --all-clusters is given',
  'take the name as it is, even if the context has a cluster',
);

function toClusterSettings(one: string, all: string) {
  return {
    cluster: { ...contextSettings.cluster, doc: one },
    'all-clusters': { ...onOrOff, doc: all, short: 'A' },
  } as const;
}

/** Returns the chosen cluster; undefined for all. */
export function clusterOf(values: SettingsOf<typeof clusterSettings>): string | undefined {
  return values['all-clusters'] ? undefined : values.cluster;
}

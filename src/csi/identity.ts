import type { IdentityHandlers } from './generated/csi/v1/Identity.ts';
import { version } from '../lib/version.ts';
import type { PluginCapability } from './generated/csi/v1/PluginCapability.ts';
import type { UnaryHandlers } from './unary.ts';

/**
 * What the plugin is as a whole. All instances of one version must say the same (CSI spec, "GetPluginCapabilities"), and
 * a node cannot know what the storage offers: so these are the services that are there in every installation. What they
 * offer in front of a given storage is told by the capabilities of each service; the rest answers UNIMPLEMENTED.
 */
const pluginCapabilities: readonly PluginCapability[] = [
  { service: { type: 'CONTROLLER_SERVICE' } },
  { service: { type: 'GROUP_CONTROLLER_SERVICE' } },
  { service: { type: 'SNAPSHOT_METADATA_SERVICE' } },
  { volume_expansion: { type: 'ONLINE' } },
];

/** What a program says of the plugin. Name, version and capabilities are the same in all programs of one release. */
export type IdentityOptions = {
  readonly driverName: string;
  /** False while the program still waits for something it needs. */
  readonly isReady: () => boolean;
};

/** The Identity service (CSI spec, "Identity Service RPC"). */
export function createIdentity({ driverName, isReady }: IdentityOptions): UnaryHandlers<IdentityHandlers> {
  return {
    GetPluginInfo: async () => ({ name: driverName, vendor_version: version }),
    GetPluginCapabilities: async () => ({ capabilities: [...pluginCapabilities] }),
    Probe: async () => ({ ready: { value: isReady() } }),
  };
}

/** A driver's name as CSI rules it: a domain name of at most 63 characters. */
export function parseDriverName(value: string): string {
  const wellFormed = /^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$/.test(value) && value.length <= 63;
  if (!wellFormed) throw new Error(`"${value}" is not a driver name: a domain name of at most 63 characters`);
  return value;
}

/** The driver's name when none is set. */
export const defaultDriverName = 'csi.fairlead.dev';

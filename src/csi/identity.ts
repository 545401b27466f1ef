import { version } from '../lib/version.ts';
import type { Handlers } from './call.ts';
import type { IdentityHandlers } from './generated/csi/v1/Identity.ts';
import type { PluginCapability } from './generated/csi/v1/PluginCapability.ts';

type ServiceType = NonNullable<NonNullable<PluginCapability['service']>['type']>;

/**
 * Optional capabilities of the whole plugin, and CSI's names for them. Every plugin advertises the other
 * capabilities.
 */
const services = {
  'group-snapshots': 'GROUP_CONTROLLER_SERVICE',
  'changed-blocks': 'SNAPSHOT_METADATA_SERVICE',
  topology: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  'snapshot-topology': 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS',
} as const satisfies Record<string, ServiceType>;

/** A word of the setting `plugin-capabilities`. */
export type CapabilityName = keyof typeof services;

/** The advertised capabilities, in the order of the table; the same in all programs of one installation. */
export type AdvertisedCapabilities = readonly CapabilityName[];

export const advertisable = Object.keys(services) as CapabilityName[];

/**
 * The default: none. Few storages can snapshot several volumes in use at one instant, and csi-snapshotter retries for
 * ever when a storage cannot. Changed blocks need a sidecar that backup programs reach. Topology needs nodes that
 * report their location.
 */
export const advertisedByDefault: AdvertisedCapabilities = [];

/** Parses comma-separated words in any order, or `none`. */
export function parseAdvertised(text: string): AdvertisedCapabilities {
  const words = text === 'none' ? [] : text.split(',').map(word => word.trim());
  const unknown = words.find(word => !Object.hasOwn(services, word));
  if (unknown !== undefined)
    throw new Error(
      `"${unknown}" is not a plugin capability; use words of ${advertisable.join(', ')}, or "none"`,
    );
  const advertised = advertisable.filter(word => words.includes(word));
  if (advertised.length < words.length) throw new Error(`"${text}" names a capability twice; remove one`);
  if (advertised.includes('snapshot-topology') && !advertised.includes('topology'))
    throw new Error(`"${text}" has "snapshot-topology" without "topology"; add "topology"`);
  return advertised;
}

/** Formats capabilities as text that `parseAdvertised` reads. */
export function formatAdvertised(advertised: AdvertisedCapabilities): string {
  return advertised.join(',') || 'none';
}

/** The setting `plugin-capabilities`, shared by all programs. */
export const advertisedSetting = {
  doc: `capabilities that the plugin advertises: words of ${advertisable.join(', ')}, or none; use the same value in the controller and on all nodes`,
  parse: parseAdvertised,
  default: formatAdvertised(advertisedByDefault),
} as const;

/**
 * Makes the vendor version. Each set of capabilities has a version of its own, as the CSI spec demands
 * ("GetPluginCapabilities").
 */
export function toVendorVersion(release: string, advertised: AdvertisedCapabilities): string {
  const shown = formatAdvertised(advertised);
  return shown === advertisedSetting.default ? release : `${release}+${shown.replaceAll(',', '.')}`;
}

/** The plugin's description. All instances of one version must give the same (CSI spec). */
type IdentityOptions = {
  readonly driverName: string;
  /** Default: `advertisedByDefault`. */
  readonly advertised?: AdvertisedCapabilities;
  /** False while the program waits for a dependency. */
  readonly isReady: () => boolean;
};

/** The Identity service (CSI spec, "Identity Service RPC"). */
export function createIdentity(options: IdentityOptions): Handlers<IdentityHandlers> {
  const { driverName, advertised = advertisedByDefault, isReady } = options;
  const capabilities: PluginCapability[] = [
    { service: { type: 'CONTROLLER_SERVICE' } },
    ...advertised.map(word => ({ service: { type: services[word] } })),
    { volume_expansion: { type: 'ONLINE' } },
  ];
  const info = { name: driverName, vendor_version: toVendorVersion(version, advertised) };
  return {
    GetPluginInfo: async () => info,
    GetPluginCapabilities: async () => ({ capabilities }),
    Probe: async () => ({ ready: { value: isReady() } }),
  };
}

export const defaultDriverName = 'csi.fairlead.dev';

/** The setting of the driver's name, the same in all programs. */
export const driverNameSetting = {
  doc: 'the name of the CSI driver, the same in all programs of one installation',
  parse: parseDriverName,
  default: defaultDriverName,
} as const;

/** Parses a driver name by CSI's rule: a domain name of at most 63 characters. */
function parseDriverName(value: string): string {
  const wellFormed = /^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$/.test(value) && value.length <= 63;
  if (!wellFormed)
    throw new Error(`"${value}" is not a driver name; use a domain name of at most 63 characters`);
  return value;
}

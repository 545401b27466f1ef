import { version } from '../lib/version.ts';
import type { Handlers } from './call.ts';
import type { IdentityHandlers } from './generated/csi/v1/Identity.ts';
import type { PluginCapability } from './generated/csi/v1/PluginCapability.ts';

type ServiceType = NonNullable<NonNullable<PluginCapability['service']>['type']>;

/** What a plugin may advertise as a whole, beside what every one does, and CSI's name for it. */
const services = {
  'group-snapshots': 'GROUP_CONTROLLER_SERVICE',
  'changed-blocks': 'SNAPSHOT_METADATA_SERVICE',
  topology: 'VOLUME_ACCESSIBILITY_CONSTRAINTS',
  'snapshot-topology': 'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS',
} as const satisfies Record<string, ServiceType>;

/** One of the words of the setting `plugin-capabilities`. */
export type Advertisable = keyof typeof services;

/** What the plugin advertises, in the order of the table; the same in all programs of one installation. */
export type Advertised = readonly Advertisable[];

/** All words. */
export const advertisable = Object.keys(services) as Advertisable[];

/** What is advertised where nothing is set; topology is not, because that needs nodes that report where they are. */
export const advertisedByDefault: Advertised = ['group-snapshots', 'changed-blocks'];

/** Reads words with commas between them, in any order, or `none`. */
export function parseAdvertised(text: string): Advertised {
  const words = text === 'none' ? [] : text.split(',').map(word => word.trim());
  const unknown = words.find(word => !Object.hasOwn(services, word));
  if (unknown !== undefined)
    throw new Error(`"${unknown}" is not one of ${advertisable.join(', ')}, or none`);
  const advertised = advertisable.filter(word => words.includes(word));
  if (advertised.length < words.length) throw new Error('names something twice');
  if (advertised.includes('snapshot-topology') && !advertised.includes('topology'))
    throw new Error('"snapshot-topology" needs "topology"');
  return advertised;
}

/** The text that is read as this. */
export function formatAdvertised(advertised: Advertised): string {
  return advertised.join(',') || 'none';
}

/** The setting, the same in all programs. */
export const advertisedSetting = {
  doc: `what the plugin advertises as a whole, the same in the controller and on all nodes: ${advertisable.join(', ')}, or none`,
  parse: parseAdvertised,
  default: formatAdvertised(advertisedByDefault),
} as const;

/** The version of a plugin that advertises this: each set of capabilities has its own (CSI spec, "GetPluginCapabilities"). */
export function toVendorVersion(release: string, advertised: Advertised): string {
  const shown = formatAdvertised(advertised);
  return shown === advertisedSetting.default ? release : `${release}+${shown.replaceAll(',', '.')}`;
}

/** What a program says of the plugin; all instances of one version must say the same (CSI spec). */
type IdentityOptions = {
  readonly driverName: string;
  /** Absent: what is advertised by default. */
  readonly advertised?: Advertised;
  /** False while the program still waits for something it needs. */
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

/** The driver's name when none is set. */
export const defaultDriverName = 'csi.fairlead.dev';

/** The setting of the driver's name, the same in all programs. */
export const driverNameSetting = {
  doc: 'the name of the CSI driver, the same in all programs of one installation',
  parse: parseDriverName,
  default: defaultDriverName,
} as const;

/** A driver's name as CSI rules it: a domain name of at most 63 characters. */
function parseDriverName(value: string): string {
  const wellFormed = /^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$/.test(value) && value.length <= 63;
  if (!wellFormed) throw new Error(`"${value}" is not a driver name: a domain name of at most 63 characters`);
  return value;
}

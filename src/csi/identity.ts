import type { IdentityHandlers } from './generated/csi/v1/Identity.ts';
import { version } from '../lib/version.ts';
import {
  advertisedByDefault,
  toPluginCapabilities,
  toVendorVersion,
  type Advertised,
} from './plugin-capabilities.ts';
import type { UnaryHandlers } from './unary.ts';

/**
 * What a program says of the plugin. All instances of one version must say the same (CSI spec,
 * "GetPluginCapabilities"), and a node cannot know what the storage offers: so what is advertised is set, and the
 * version says what that is. What is advertised and not offered by the storage answers UNIMPLEMENTED.
 */
export type IdentityOptions = {
  readonly driverName: string;
  /** Absent: what is advertised by default. */
  readonly advertised?: Advertised;
  /** False while the program still waits for something it needs. */
  readonly isReady: () => boolean;
};

/** The Identity service (CSI spec, "Identity Service RPC"). */
export function createIdentity({
  driverName,
  advertised = advertisedByDefault,
  isReady,
}: IdentityOptions): UnaryHandlers<IdentityHandlers> {
  const vendor_version = toVendorVersion(version, advertised);
  return {
    GetPluginInfo: async () => ({ name: driverName, vendor_version }),
    GetPluginCapabilities: async () => ({ capabilities: [...toPluginCapabilities(advertised)] }),
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

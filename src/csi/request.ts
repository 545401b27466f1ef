import { invalidProblem, Problem } from '../api/problem.ts';
import { byteLength, mapByteLength, maxIdBytes, maxMapBytes, namePattern } from '../api/ids.ts';
import type { AccessMode, Capability } from '../api/storage.ts';
import type { CapacityRange__Output } from './generated/csi/v1/CapacityRange.ts';
import type { VolumeCapability, VolumeCapability__Output } from './generated/csi/v1/VolumeCapability.ts';

/** From the CSI spec, "NodeGetInfo". */
const maxNodeIdBytes = 256;

/** Reads a required id of at most 128 bytes. INVALID_ARGUMENT that names the field otherwise. */
export function readId(value: string, field: string): string {
  if (value === '') throw invalidProblem(`${field} is missing`);
  return readShort(value, field, maxIdBytes);
}

/**
 * Reads the required id of a resource that may exist. A malformed or overlong id is accepted: no resource has it, and
 * the lookup says so.
 */
export function readKnownId(value: string, field: string): string {
  if (value === '') throw invalidProblem(`${field} is missing`);
  return value;
}

/** Reads the name that the caller chose for a new resource: an id without control characters. */
export function readName(value: string): string {
  const name = readId(value, 'name');
  if (!namePattern.test(name)) throw invalidProblem('name has control characters; remove them');
  return name;
}

/** Reads an optional node id of at most 256 bytes; `''` when the caller gives none. */
export function readNodeId(value: string): string {
  return readShort(value, 'node_id', maxNodeIdBytes);
}

export function readMap(map: Readonly<Record<string, string>>, field: string): typeof map {
  requireSize(mapByteLength(map), maxMapBytes, field);
  return map;
}

/**
 * Reads a required capability. INVALID_ARGUMENT when it is incomplete or has a `volume_mount_group`, which this
 * driver does not offer.
 */
export function readCapability(
  capability: VolumeCapability__Output | null | undefined,
  field = 'volume_capability',
): Capability {
  if (!capability) throw invalidProblem(`${field} is missing`);
  const accessMode = readAccessMode(capability, field);
  if (capability.access_type === 'block') return { accessType: 'block', accessMode };
  if (capability.access_type !== 'mount')
    throw invalidProblem(`${field} has no access type; set block or mount`);
  const { fs_type = '', mount_flags: mountFlags = [], volume_mount_group = '' } = capability.mount ?? {};
  if (volume_mount_group !== '')
    throw invalidProblem(
      `${field} has the volume_mount_group "${volume_mount_group}", which this driver does not support; remove it`,
    );
  requireSize(byteLength(mountFlags.join('')), maxMapBytes, `${field}.mount.mount_flags`);
  return {
    accessType: 'mount',
    accessMode,
    ...(fs_type !== '' && { fsType: readShort(fs_type, `${field}.mount.fs_type`, maxIdBytes) }),
    ...(mountFlags.length > 0 && { mountFlags }),
  };
}

/** Reads a list of at least one capability. */
export function readCapabilities(capabilities: readonly VolumeCapability__Output[]): Capability[] {
  if (capabilities.length === 0) throw invalidProblem('volume_capabilities is missing');
  return capabilities.map((capability, index) => readCapability(capability, `volume_capabilities[${index}]`));
}

/** The bounds of a size in bytes; 0 for an absent bound. */
export type SizeBounds = { readonly requiredBytes: number; readonly limitBytes: number };

/**
 * Reads a capacity range. INVALID_ARGUMENT when no size can meet it, OUT_OF_RANGE when it requires more than 2^53
 * bytes.
 */
export function readCapacityRange(range: CapacityRange__Output | null | undefined): SizeBounds {
  if (!range) return { requiredBytes: 0, limitBytes: 0 };
  const requiredBytes = readSize(range.required_bytes, 'capacity_range.required_bytes');
  const limitBytes = readSize(range.limit_bytes, 'capacity_range.limit_bytes');
  if (requiredBytes > Number.MAX_SAFE_INTEGER) {
    const detail = `capacity_range requires ${range.required_bytes} bytes, more than any volume can have`;
    throw new Problem('OUT_OF_RANGE', detail);
  }
  if (requiredBytes === 0 && limitBytes === 0)
    throw invalidProblem('capacity_range has neither required_bytes nor limit_bytes');
  if (limitBytes > 0 && requiredBytes > limitBytes)
    throw invalidProblem(
      `capacity_range requires ${requiredBytes} bytes but limits the size to ${limitBytes}; raise the limit`,
    );
  return { requiredBytes, limitBytes: Math.min(limitBytes, Number.MAX_SAFE_INTEGER) };
}

function readSize(value: string | number, field: string): number {
  const number = Number(value);
  if (!(number >= 0)) throw invalidProblem(`${field} is ${value}; use 0 or more`);
  return number;
}

/** Makes the CSI message of a capability. */
export function toCsiCapability({
  accessType,
  accessMode,
  fsType,
  mountFlags,
}: Capability): VolumeCapability {
  const mode = { access_mode: { mode: accessMode } };
  if (accessType === 'block') return { ...mode, block: {} };
  return { ...mode, mount: { fs_type: fsType ?? '', mount_flags: [...(mountFlags ?? [])] } };
}

function readAccessMode({ access_mode }: VolumeCapability__Output, field: string): AccessMode {
  const mode = access_mode?.mode ?? 'UNKNOWN';
  if (mode === 'UNKNOWN') throw invalidProblem(`${field} has no access mode`);
  if (typeof mode !== 'string') throw invalidProblem(`${field} has the unknown access mode ${String(mode)}`);
  return mode;
}

function readShort(value: string, field: string, maxBytes: number): string {
  requireSize(byteLength(value), maxBytes, field);
  return value;
}

function requireSize(bytes: number, maxBytes: number, field: string): void {
  if (bytes > maxBytes)
    throw invalidProblem(`${field} has ${bytes} bytes, more than the ${maxBytes} allowed`);
}

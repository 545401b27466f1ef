import { invalidProblem, Problem } from '../api/problem.ts';
import { byteLength, mapByteLength, maxIdBytes, maxMapBytes, namePattern } from '../api/ids.ts';
import type { AccessMode, Capability } from '../api/storage.ts';
import type { CapacityRange__Output } from './generated/csi/v1/CapacityRange.ts';
import type { VolumeCapability__Output } from './generated/csi/v1/VolumeCapability.ts';

/** Most bytes of a node's id (CSI spec, "NodeGetInfo"). */
const maxNodeIdBytes = 256;

/** A string that must be there, of at most 128 bytes, or INVALID_ARGUMENT that names the field. */
export function readId(value: string, field: string): string {
  if (value === '') throw invalidProblem(`${field} is missing`);
  return readShort(value, field, maxIdBytes);
}

/** The name that the caller chose for something: an id without control characters. */
export function readName(value: string): string {
  const name = readId(value, 'name');
  if (!namePattern.test(name)) throw invalidProblem('name has control characters');
  return name;
}

/** A node's id, of at most 256 bytes; `''` where none is given. */
export function readNodeId(value: string): string {
  return readShort(value, 'node_id', maxNodeIdBytes);
}

/** A map of at most 4 KiB. */
export function readMap(map: Readonly<Record<string, string>>, field: string): typeof map {
  requireSize(mapByteLength(map), maxMapBytes, field);
  return map;
}

/** One capability that must be there, complete; a group to mount for is refused, since no driver of ours offers it. */
export function readCapability(
  capability: VolumeCapability__Output | null | undefined,
  field = 'volume_capability',
): Capability {
  if (!capability) throw invalidProblem(`${field} is missing`);
  const accessMode = readAccessMode(capability, field);
  if (capability.access_type === 'block') return { accessType: 'block', accessMode };
  if (capability.access_type !== 'mount')
    throw invalidProblem(`${field} has no access type: neither block nor mount`);
  const { fs_type = '', mount_flags: mountFlags = [], volume_mount_group = '' } = capability.mount ?? {};
  if (volume_mount_group !== '')
    throw invalidProblem(`${field} has a volume_mount_group, which this driver does not offer`);
  requireSize(byteLength(mountFlags.join('')), maxMapBytes, `${field}.mount.mount_flags`);
  return {
    accessType: 'mount',
    accessMode,
    ...(fs_type !== '' && { fsType: readShort(fs_type, `${field}.mount.fs_type`, maxIdBytes) }),
    ...(mountFlags.length > 0 && { mountFlags }),
  };
}

/** All capabilities; at least one must be there. */
export function readCapabilities(capabilities: readonly VolumeCapability__Output[]): Capability[] {
  if (capabilities.length === 0) throw invalidProblem('volume_capabilities is missing');
  return capabilities.map((capability, index) => readCapability(capability, `volume_capabilities[${index}]`));
}

/** The bounds of a size in bytes; 0 where nothing is asked. */
export type SizeBounds = { readonly requiredBytes: number; readonly limitBytes: number };

/** A capacity range: INVALID_ARGUMENT for one that no size can meet, OUT_OF_RANGE for one beyond 2^53 bytes. */
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
    throw invalidProblem(`capacity_range requires ${requiredBytes} bytes but limits them to ${limitBytes}`);
  return { requiredBytes, limitBytes: Math.min(limitBytes, Number.MAX_SAFE_INTEGER) };
}

function readSize(value: string | number, field: string): number {
  const number = Number(value);
  if (!(number >= 0)) throw invalidProblem(`${field} is ${value}, less than 0`);
  return number;
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

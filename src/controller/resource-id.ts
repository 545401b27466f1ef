import { createHash } from 'node:crypto';
import { maxIdBytes, plainPattern } from '../api/ids.ts';

const hashedPattern = /-x[0-9a-f]{32}$/;

/**
 * The id of the resource that a caller names: `<cluster>.<name>`, at most 128 bytes of letters, digits, `_`, `.` and
 * `-`. A name that is too long or has other characters is cut and given a hash, so that two names never share an id.
 */
export function resourceId(cluster: string, name: string): string {
  const plain = `${cluster}.${name}`;
  if (plainPattern.test(name) && !hashedPattern.test(name) && plain.length <= maxIdBytes) return plain;
  const suffix = `-x${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  const readable = name.replaceAll(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'name';
  return `${cluster}.${readable}`.slice(0, maxIdBytes - suffix.length) + suffix;
}

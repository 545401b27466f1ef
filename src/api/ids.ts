import { createHash } from 'node:crypto';

/** Most bytes in an id or a name (CSI spec, "Size Limits"). */
export const maxIdBytes = 128;

const clusterPattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
const plainPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const hashedPattern = /-x[0-9a-f]{32}$/;

/** True for a cluster's name: lower-case letters, digits and inner dashes, at most 32 bytes. */
export function isClusterName(name: string): boolean {
  return clusterPattern.test(name);
}

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

/** The cluster that an id belongs to, or undefined when it is not an id that `resourceId` can make. */
export function clusterOf(id: string): string | undefined {
  const dot = id.indexOf('.');
  const cluster = id.slice(0, dot);
  const well =
    dot > 0 && id.length <= maxIdBytes && isClusterName(cluster) && plainPattern.test(id.slice(dot + 1));
  return well ? cluster : undefined;
}

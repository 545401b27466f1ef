/** Most bytes in an id or a name (CSI spec, "Size Limits"). */
export const maxIdBytes = 128;

/** Most bytes of a map's keys and values together (CSI spec, "Size Limits"). */
export const maxMapBytes = 4_096;

const encoder = new TextEncoder();
const asciiExpression = /^[\0-\x7f]*$/;
const nul = '\\u0000';
const lastControls = '\\u001F\\u007F-\\u009F';
/** A cluster's name. */
export const clusterPattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
/** Names that stand in an id as they are. */
export const plainPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
/** A name without control characters but white space (CSI spec, "CreateVolume"). */
export const namePattern = new RegExp(`^[^\\u0000-\\u0008\\u000B\\u000C\\u000E-${lastControls}]+$`);
/** Any text; no NUL is in it. */
export const textPattern = new RegExp(`^[^${nul}]*$`);
/** A node's id, of at most 256 bytes: without control characters. */
export const nodeIdPattern = new RegExp(`^[^\\u0000-${lastControls}]+$`);
/** What an id looks like, but for its length: a cluster's name, a dot, and a plain name. */
export const idPattern = `${clusterPattern.source.slice(0, -1)}\\.${plainPattern.source.slice(1)}`;
/** An id at a vendor, of at most 128 bytes: any that stands in a path as it is. */
export const vendorIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/;
const idExpression = new RegExp(idPattern);

/** True for a cluster's name: lower-case letters, digits and inner dashes, at most 32 bytes. */
export function isClusterName(name: string): boolean {
  return clusterPattern.test(name);
}

/** Reads a setting that is a cluster's name; throws what it should be. */
export function parseClusterName(value: string): string {
  if (!isClusterName(value))
    throw new Error(`"${value}" is not a name of at most 32 lower-case letters, digits and inner dashes`);
  return value;
}

/** The cluster that an id belongs to, or undefined when it is not an id that `resourceId` can make. */
export function clusterOf(id: string): string | undefined {
  return id.length <= maxIdBytes && idExpression.test(id) ? id.slice(0, id.indexOf('.')) : undefined;
}

/** A node's name, and the public key behind which it is: X25519, 32 bytes in base64url. */
type NodeParts = { readonly name: string; readonly key?: string };

const keyedNodeId = /^(.+)~([A-Za-z0-9_-]{43})$/s;

/** The id of the node with this name and, where it has one, this key: another key is another node. */
export function toNodeId({ name, key }: NodeParts): string {
  return key === undefined ? name : `${name}~${key}`;
}

/** The name in a node's id, and the key, where it has one. */
export function readNodeId(nodeId: string): NodeParts {
  const [, name = nodeId, key] = keyedNodeId.exec(nodeId) ?? [];
  return key === undefined ? { name } : { name, key };
}

/** How many bytes the text has in UTF-8. */
export function byteLength(text: string): number {
  // Nearly all text, of which a body of topologies has much.
  return asciiExpression.test(text) ? text.length : encoder.encode(text).length;
}

/** How many bytes the map's keys and values have together. */
export function mapByteLength(map: Readonly<Record<string, string>>): number {
  return Object.entries(map).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
}

/** Maximum bytes of an id or a name (CSI spec, "Size Limits"). */
export const maxIdBytes = 128;

/** Maximum bytes of a map's keys and values together (CSI spec, "Size Limits"). */
export const maxMapBytes = 4_096;

const encoder = new TextEncoder();
const asciiExpression = /^[\0-\x7f]*$/;
const nul = '\\u0000';
const lastControls = '\\u001F\\u007F-\\u009F';
export const shortNamePattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
/** Names that can be part of an id without encoding. */
export const plainPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
/** A name without control characters other than white space (CSI spec, "CreateVolume"). */
export const namePattern = new RegExp(`^[^\\u0000-\\u0008\\u000B\\u000C\\u000E-${lastControls}]+$`);
/** Any text without NUL. */
export const textPattern = new RegExp(`^[^${nul}]*$`);
/** A node's id: text without control characters. Its length is checked elsewhere. */
export const nodeIdPattern = new RegExp(`^[^\\u0000-${lastControls}]+$`);
/** An id of any length: a cluster's name, a dot, and a plain name. */
export const idPattern = `${shortNamePattern.source.slice(0, -1)}\\.${plainPattern.source.slice(1)}`;
/** An id at a vendor: any text that can be part of a path without encoding. Its length is checked elsewhere. */
export const vendorIdPattern = /^[A-Za-z0-9][A-Za-z0-9._~-]*$/;
const idExpression = new RegExp(idPattern);

/** True for the name of a cluster or a pool: lower-case letters, digits and inner dashes, at most 32 bytes. */
export function isShortName(name: string): boolean {
  return shortNamePattern.test(name);
}

/** Parses a setting with the name of a cluster or a pool. */
export function parseShortName(value: string): string {
  if (!isShortName(value))
    throw new Error(`"${value}" is not a name of at most 32 lower-case letters, digits and inner dashes`);
  return value;
}

/** Returns the cluster of an id; undefined for text that is not an id of the gateway. */
export function clusterOf(id: string): string | undefined {
  return id.length <= maxIdBytes && idExpression.test(id) ? id.slice(0, id.indexOf('.')) : undefined;
}

/** A node's name and its public key: X25519, 32 bytes in base64url. */
type NodeParts = { readonly name: string; readonly key?: string };

const keyedNodeId = /^(.+)~([A-Za-z0-9_-]{43})$/s;

/** Makes a node's id of its name and its key, if it has one. Another key makes another node. */
export function toNodeId({ name, key }: NodeParts): string {
  return key === undefined ? name : `${name}~${key}`;
}

/** Splits a node's id into its name and its key, if it has one. */
export function readNodeId(nodeId: string): NodeParts {
  const [, name = nodeId, key] = keyedNodeId.exec(nodeId) ?? [];
  return key === undefined ? { name } : { name, key };
}

export function byteLength(text: string): number {
  // Nearly all text is ASCII, and a body of topologies has a lot of text.
  return asciiExpression.test(text) ? text.length : encoder.encode(text).length;
}

/** Counts the bytes of a map's keys and values together. */
export function mapByteLength(map: Readonly<Record<string, string>>): number {
  return Object.entries(map).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
}

import {
  segmentKeyPattern,
  segmentValuePattern,
  withoutEmpty,
  type Segments,
} from '../../src/api/topology.ts';
import type { Survey } from './preflight.ts';

/** Begins the keys that say which attach protocols work on a node. */
const protocolPrefix = 'protocol-';

/** Reads `zone=a,rack=r1`, or one on each line; keys have no prefix yet. What has no value says nothing and is left out. */
export function parseTopology(text: string): Segments {
  const segments: Record<string, string> = {};
  const keys = new Set<string>();
  for (const part of text.split(/[,\n]/).map(piece => piece.trim())) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    if (equals < 0) throw new Error(`"${part}" is not key=value`);
    const [key, value] = [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    requireKey(key);
    // Keys that differ in case alone are one.
    if (keys.has(key.toLowerCase())) throw new Error(`key "${key}" is given twice`);
    keys.add(key.toLowerCase());
    if (!segmentValuePattern.test(value)) throw new Error(`value "${value}" of key "${key}" is ${notWord}`);
    segments[key] = value;
  }
  return withoutEmpty(segments);
}

const notWord = 'not of at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends';

function requireKey(key: string): void {
  if (key.includes('/'))
    throw new Error(`key "${key}" has a prefix of its own; all keys get the driver's name as their prefix`);
  if (!segmentKeyPattern.test(key)) throw new Error(`key "${key}" is ${notWord}`);
  if (key.toLowerCase().startsWith(protocolPrefix))
    throw new Error(`key "${key}" is reserved for attach protocols, which the node finds by itself`);
}

/**
 * The node's topology, by keys with the driver's name as their one prefix, with a segment `protocol-<name>` of value
 * `true` for each attach protocol that works here. A driver's name that is no prefix is an error at once.
 */
export function createTopology(
  given: Segments,
  driverName: string,
  survey: Pick<Survey, 'ask'>,
): () => Promise<Segments> {
  const prefix = driverName.toLowerCase();
  if (!segmentKeyPattern.test(`${prefix}/key`))
    throw new Error(
      `the driver name "${driverName}" is no domain name, so that no topology key can begin with it`,
    );
  return async () => {
    const working = (await survey.ask()).filter(({ reason }) => reason === undefined);
    const protocols = working.map(({ protocol }) => [protocolPrefix + protocol, 'true'] as const);
    const all = [...Object.entries(given), ...protocols];
    return Object.fromEntries(all.map(([key, value]) => [`${prefix}/${key}`, value]));
  };
}

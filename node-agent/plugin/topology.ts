import {
  segmentKeyPattern,
  segmentValuePattern,
  withoutEmpty,
  type Segments,
} from '../../src/api/topology.ts';
import type { Survey } from './preflight.ts';

/** The prefix of the keys for attach protocols that work on a node. */
const protocolPrefix = 'protocol-';

/** Parses `zone=a,rack=r1`, or one pair on each line, and omits keys without a value. The keys have no prefix yet. */
export function parseTopology(text: string): Segments {
  const segments: Record<string, string> = {};
  const keys = new Set<string>();
  for (const part of text.split(/[,\n]/).map(piece => piece.trim())) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    if (equals < 0) throw new Error(`"${part}" is not key=value`);
    const [key, value] = [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    requireKey(key);
    // Keys are compared without case.
    if (keys.has(key.toLowerCase())) throw new Error(`key "${key}" is given twice`);
    keys.add(key.toLowerCase());
    if (!segmentValuePattern.test(value)) throw new Error(`value "${value}" of key "${key}" is ${notWord}`);
    segments[key] = value;
  }
  return withoutEmpty(segments);
}

const notWord =
  'invalid: use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends';

function requireKey(key: string): void {
  if (key.includes('/'))
    throw new Error(`key "${key}" has a prefix; remove it, since all keys get the driver's name as prefix`);
  if (!segmentKeyPattern.test(key)) throw new Error(`key "${key}" is ${notWord}`);
  if (key.toLowerCase().startsWith(protocolPrefix))
    throw new Error(`key "${key}" is reserved for attach protocols, which the node detects; remove it`);
}

/**
 * Returns a function that reads the node's topology. Its keys have the driver's name as prefix, and each attach protocol that
 * works on the node adds a segment `protocol-<name>` with value `true`. Throws if the driver's name cannot be a prefix.
 */
export function createTopology(
  given: Segments,
  driverName: string,
  survey: Pick<Survey, 'ask'>,
): () => Promise<Segments> {
  const prefix = driverName.toLowerCase();
  if (!segmentKeyPattern.test(`${prefix}/key`))
    throw new Error(
      `the driver name "${driverName}" is not a domain name, so it cannot be the prefix of a topology key; choose another one`,
    );
  return async () => {
    const working = (await survey.ask()).filter(({ reason }) => reason === undefined);
    const protocols = working.map(({ protocol }) => [protocolPrefix + protocol, 'true'] as const);
    const all = [...Object.entries(given), ...protocols];
    return Object.fromEntries(all.map(([key, value]) => [`${prefix}/${key}`, value]));
  };
}

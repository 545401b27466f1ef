import { byteLength } from '../../src/api/ids.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';

/**
 * Throws INVALID_ARGUMENT when the record of `subject`, such as `volume "east.pvc-1"`, is larger as JSON than
 * `limits.recordBytes`.
 */
export function requireRecordSize(subject: string, record: object): void {
  const bytes = byteLength(JSON.stringify(record));
  if (bytes > limits.recordBytes.max) throw limitProblem('recordBytes', `the record of ${subject}`, bytes);
}

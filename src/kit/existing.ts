import * as z from 'zod';
import { existingVolumeSchema } from '../api/volume.ts';
import { parseJson } from '../lib/json.ts';
import { runShell } from './vendor-process.ts';

const madeSchema = existingVolumeSchema.extend({
  sizeBytes: z.int().min(1),
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/)
    .optional(),
});

/** A volume that a CSI driver made for the kit, its size, and the hash of its bytes if they are known. */
export type DriverVolume = z.infer<typeof madeSchema>;

/** Makes a function that makes a volume with the driver by a shell command, and throws when the command fails. */
export function existingBy(command: string): () => Promise<DriverVolume> {
  return async () => {
    const output = await runShell('--create-existing', command);
    const { data, error } = madeSchema.safeParse(parseJson(output));
    if (data) return data;
    const wrong = error.issues.flatMap(({ path }) => path.join('.') || []).join(', ') || 'no JSON object';
    throw new Error(
      `the command of --create-existing must print a volume such as {"driver": "ebs.csi.aws.com", "handle": "vol-0123", "sizeBytes": 1048576}; wrong or missing: ${wrong}; printed: ${output.trim().slice(0, 200)}`,
    );
  };
}

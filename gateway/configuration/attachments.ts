import * as z from 'zod';
import { protocols } from '../../src/api/attachment.ts';
import { isAddressPattern } from '../pools/addresses.ts';
import { networkProtocols } from '../pools/attachment-bounds.ts';
import { absoluteDirectory } from '../local/settings-schemas.ts';

const address = z.string().refine(isAddressPattern, {
  error: ({ input }) =>
    `${JSON.stringify(input)} is not an address, a network or a host name such as 192.0.2.10:4420, 192.0.2.0/24 or nas.example`,
});

/** The bounds of a pool's attachments in its entry. */
export const attachmentsSchema = z
  .strictObject({
    protocols: z
      .array(z.enum(protocols))
      .min(1)
      .default([...networkProtocols])
      .describe(
        'attach protocols; `loop`, `bind`, `device` and `csi` use files, directories, disks and drivers of the nodes themselves',
      ),
    addresses: z
      .array(address)
      .min(1)
      .optional()
      .describe(
        'hosts and networks of its servers, each with or without a port; without it: all numeric addresses except those of other pools and of the node itself, and host names if no other pool has addresses',
      ),
    roots: z
      .array(absoluteDirectory)
      .min(1)
      .optional()
      .describe(
        'directories above its paths, on nodes or on servers; required with `loop` and `bind`; without it: all directories except those of other pools',
      ),
    serials: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('first characters of the wwid or the serial of its disks; required with `device`'),
    drivers: z
      .array(z.string().regex(/^[a-z0-9.-]{1,63}$/i, 'is not the name of a CSI driver'))
      .min(1)
      .optional()
      .describe('names of its CSI drivers; required with `csi`'),
  })
  .superRefine(({ protocols: chosen, roots = [], serials, drivers }, context) => {
    const report = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message });
    const isOnNode = chosen.includes('loop') || chosen.includes('bind');
    if (isOnNode && roots.length === 0)
      report('roots', 'is missing; "loop" and "bind" need the directories of the volumes');
    if (isOnNode && roots.includes('/')) report('roots', 'has "/"; name the directories of the volumes');
    if (chosen.includes('csi') && !drivers)
      report('drivers', 'is missing; "csi" needs the names of the drivers');
    if (chosen.includes('device') && !serials)
      report(
        'serials',
        'is missing; "device" needs the first characters of the wwid or the serial of its disks',
      );
  })
  .describe(
    'bounds of its attachments, for backends without their own bounds: `rest`, and packages; a change takes effect without a restart',
  );

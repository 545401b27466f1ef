import * as z from 'zod';
import { isDroppedProtocol } from '../../src/api/attachment.ts';
import type { ExportPlugin } from '../export.ts';
import { iscsi } from './iscsi.ts';
import { libvirt } from './libvirt.ts';
import { faultsOfEachKind } from '../local/settings-schemas.ts';
import { loop } from './loop.ts';
import { nfs } from './nfs.ts';
import { nvmeTcp } from './nvme-tcp.ts';

export const exports = { loop, 'nvme-tcp': nvmeTcp, iscsi, libvirt, nfs } as const;

const kinds = [loop.settings, nvmeTcp.settings, iscsi.settings, libvirt.settings, nfs.settings] as const;

const settings = z
  .discriminatedUnion('protocol', kinds, {
    error({ code, input }) {
      if (code !== 'invalid_union') return undefined;
      const { protocol } = Object(input) as { readonly protocol?: unknown };
      const all = Object.keys(exports).join(', ');
      if (protocol === undefined) return `is missing; choose one of ${all}`;
      const isDropped = typeof protocol === 'string' && isDroppedProtocol(protocol);
      return `${JSON.stringify(protocol)} is ${isDropped ? 'no longer offered: choose one' : 'none'} of ${all}`;
    },
  })
  .superRefine(
    (value, { issues }) => {
      for (const issue of faultsOfEachKind(value, kinds))
        if (issue.path[0] !== 'protocol') issues.push({ ...issue, input: value } as (typeof issues)[number]);
    },
    { when: ({ value }) => isOfNoKind(value) },
  );

/** The export that a pool's setting `export` chooses. */
export const anyExport: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: chosen => pluginOf(chosen).protocolOf(chosen),
  kindsOf: chosen => pluginOf(chosen).kindsOf(chosen),
  open: (chosen, context) => pluginOf(chosen).open(chosen, context),
};

function pluginOf({ protocol }: z.output<typeof settings>): ExportPlugin {
  return exports[protocol];
}

/** Returns true for an export without a known protocol; its other members are checked nevertheless. */
function isOfNoKind(value: unknown): boolean {
  if (!z.util.isPlainObject(value)) return false;
  return !Object.hasOwn(exports, String(value['protocol']));
}

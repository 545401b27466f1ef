import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { z } from 'zod';
import type { BackendPlugin } from '../../../../gateway/backend.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';
import type { OfferedBackend } from '../../../suites/backend-fixtures.ts';

const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
/** A node's use of a volume. */
const access = { nodeId: 'n1', attachmentId: 'x', capability, readonly: false };

/** Opens a backend in a new directory; it closes when the test ends. */
export function createLocal<Settings extends z.ZodType>(plugin: BackendPlugin<Settings>) {
  return {
    plugin: plugin as BackendPlugin,
    async open(t: TestContext, settings: Partial<z.input<Settings>> = {}) {
      const root = join(temporaryDirectory(t), 'root');
      mkdirSync(root);
      const backend = await openPlugin(plugin, { dir: root, ...settings } as z.input<Settings>);
      t.after(() => backend.close?.());
      return { backend: backend as OfferedBackend['backend'], root, access };
    },
  };
}

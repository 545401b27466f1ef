import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

/** An image to export for one attachment, under its UUID, which nobody guesses. */
export type Export = { uuid: string; pool: string; namespace: string; image: string; readonly: boolean };

// QEMU gives a name 31 bytes at most.
const nameOf = (uuid: string): string => `n${uuid.replaceAll('-', '').slice(2)}`;

/** Drives a qemu-storage-daemon that has an NBD server, over its QMP socket. */
export function openNbd(socket: string) {
  return {
    /** Returns once the image is exported. */
    async serve({ uuid, readonly, ...image }: Export): Promise<void> {
      const [id, node] = [nameOf(uuid), { 'node-name': nameOf(uuid) }];
      const rbd = { driver: 'rbd', ...image, cache: { direct: true }, 'read-only': readonly };
      const open = ['blockdev-add', { ...node, ...rbd }] as const;
      const named = { type: 'nbd', id, name: uuid, writable: !readonly };
      const add = ['block-export-add', { ...node, ...named }] as const;
      const answers = await run(socket, [open, add, ['query-block-exports']]);
      if (!answers.at(-1)?.includes(id)) throw new Error(`it is not exported: ${answers.join()}`);
    },
    /** Returns once nobody can read or write over it any more; one that is missing is fine. */
    async withdraw(uuid: string): Promise<void> {
      const end = ['block-export-del', { id: nameOf(uuid), mode: 'hard' }] as const;
      const close = ['blockdev-del', { 'node-name': nameOf(uuid) }] as const;
      const isOpen = async () => (await run(socket, [end, close, ['query-named-block-nodes']])).at(-1);
      while ((await isOpen())?.includes(nameOf(uuid))) await setTimeout(20);
    },
  };
}

/** What the daemon answers to commands; its socket serves one caller after the other. */
async function run(path: string, commands: readonly (readonly [string, object?])[]) {
  const signal = AbortSignal.timeout(20_000);
  const socket = createConnection(path);
  await once(socket, 'connect', { signal });
  socket.on('error', () => {});
  for (const [execute, args] of [['qmp_capabilities'] as const, ...commands])
    socket.write(`${JSON.stringify({ execute, arguments: args })}\n`);
  const answers: string[] = [];
  for await (const line of createInterface({ input: socket, signal })) {
    if (/^\{"(return|error)"/.test(line)) answers.push(line);
    if (answers.length > commands.length) break;
  }
  socket.destroy();
  if (answers.length <= commands.length) throw new Error('the storage daemon does not answer');
  return answers;
}

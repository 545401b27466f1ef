// Writes to a volume as a pod does: writes and syncs until it is told to end, and counts. Any error ends it with status
// 1. node test/fakes/kubelet/writer.ts PATH
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

const [path = ''] = process.argv.slice(2);
const file = openSync(path, 'r+');
const block = Buffer.alloc(64 * 1024, 7);
let count = 0;
process.on('message', () => {
  closeSync(file);
  process.send?.({ count });
  process.disconnect?.();
});
write();

function write(): void {
  if (!process.connected) return;
  writeSync(file, block, 0, block.length, (count % 64) * block.length);
  fsyncSync(file);
  count++;
  if (count === 1) process.send?.({ count });
  setImmediate(write);
}

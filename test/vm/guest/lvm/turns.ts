// Writes a counter to the first volume, then to the second, each time durably: turns.ts PATH PATH.

import { constants, openSync, writeSync } from 'node:fs';

const volumes = process.argv.slice(2).map(path => openSync(path, constants.O_RDWR | constants.O_SYNC));
const record = Buffer.alloc(4_096);
for (let count = 1n; ; count++) {
  record.writeBigUInt64LE(count);
  for (const volume of volumes) writeSync(volume, record, 0, record.length, 0);
}

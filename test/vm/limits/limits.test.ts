import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { testInMachine } from '../guests.ts';

const directory = mkdtempSync(join(tmpdir(), 'limits-'));
after(() => rmSync(directory, { recursive: true }));
const disk = join(directory, 'disk');
writeFileSync(disk, '');
truncateSync(disk, 1_024 * 2 ** 20);

testInMachine('a machine whose pods have limits of I/O', ['test/vm/guest/limits/pods.guest.ts'], { disk });

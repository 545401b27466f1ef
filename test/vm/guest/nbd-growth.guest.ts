import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bringUp, startGuestNode, takeDown } from './agent.ts';
import { expand, MiB, mounted, portsOf, roomAt } from './nbd-growth.ts';
import { openNbdServer } from './nbd-server.ts';
import { findWrong, startVersions } from './version-writer.ts';

for (const { fsType, from, to, filled } of [
  { fsType: 'ext4', from: 64 * MiB, to: 192 * MiB, filled: 128 * MiB },
  { fsType: 'xfs', from: 320 * MiB, to: 512 * MiB, filled: 32 * MiB },
])
  test(`a ${fsType} over nbd grows while it is written, and every version is there that was made durable`, async t => {
    const node = await startGuestNode(t);
    const server = openNbdServer(t);
    const attachment = server.makeVolume('one', from);
    const other = server.makeVolume('other', 64 * MiB);
    await server.start();
    const fields = mounted(node, attachment, fsType);
    const beside = mounted(node, other, 'ext4');
    await bringUp(node, fields);
    await bringUp(node, beside);
    const [before, besideBefore] = [await portsOf(0), await portsOf(1)];
    assert.deepEqual([before.length, besideBefore.length], [1, 1]);
    const names = ['a', 'b', 'c'].map(name => join(fields.target_path, name));
    const writers = await Promise.all(names.map(startVersions));
    server.resize(attachment, to);
    assert.equal(await expand(node, fields, to), to);
    assert.ok(roomAt(fields.target_path) > 0.85 * to);
    assert.equal(await expand(node, fields, to), to);
    assert.notDeepEqual(await portsOf(0), before);
    assert.deepEqual(await portsOf(1), besideBefore);
    const versions = await Promise.all(writers.map(writer => writer.finish()));
    const filler = join(fields.target_path, 'filler');
    const filling = Buffer.alloc(filled, 'filled');
    writeFileSync(filler, filling, { flush: true });
    await takeDown(node, fields);
    await bringUp(node, fields);
    for (const [index, name] of names.entries()) assert.deepEqual(findWrong(name, versions[index] ?? []), []);
    assert.ok(readFileSync(filler).equals(filling));
    await takeDown(node, fields);
    await takeDown(node, beside);
    assert.deepEqual([await portsOf(0), await portsOf(1)], [[], []]);
  });

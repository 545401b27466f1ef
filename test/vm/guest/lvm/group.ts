// Takes a group of snapshots, for as long as it takes: group.ts PLACE MEMBERS.

import { createCommands, type PoolName } from '../../../../gateway/backends/lvm/commands.ts';
import { openPool } from '../../../../gateway/backends/lvm/pool.ts';
import { createSnapshots } from '../../../../gateway/backends/lvm/snapshots.ts';
import type { NewSnapshot } from '../../../../gateway/backend.ts';

const [place = '', members = '', lockPath = ''] = process.argv.slice(2);
const poolName = JSON.parse(place) as PoolName;
const snapshots = createSnapshots(openPool(poolName, createCommands(poolName, lockPath)), 600_000);
await snapshots.createGroup(JSON.parse(members) as readonly NewSnapshot[]);

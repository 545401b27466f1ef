import { existsSync } from 'node:fs';
import type { Log } from '../../src/lib/log.ts';
import { describeSettings } from '../../src/lib/settings.ts';
import { findFormerPlaces } from '../volumes/former-places.ts';
import { openBackend } from '../main.ts';
import { createRecovery } from '../operations/recovery.ts';
import { restoreKept } from '../tables/kept.ts';
import { migrate } from '../tables/schema.ts';
import { createServices } from '../services.ts';
import type { Engine } from '../store.ts';
import { openSqlite } from '../stores/sqlite.ts';
import { createWork } from '../operations/operation.ts';
import { audit } from './audit.ts';
import { adminSettings, type AdminConfig } from './config.ts';
import { plan, repair, type RepairOptions } from './repair.ts';
import { toJson, toTable, type Row } from './report.ts';

/** What was done, for standard output, and the exit status: 2 when something is left that should not be. */
export type AdminResult = { readonly text: string; readonly status: number };

/** What `fairlead admin --help` tells. */
export function describeAdmin(): string {
  return `fairlead admin: looks after the store and the storage of a gateway, which may run meanwhile

  fairlead admin audit                  shows what the storage and the store do not agree on
  fairlead admin audit --repair         shows what a repair would do (--dry-run, the default)
  fairlead admin audit --repair --yes   does it: finishes what is stuck, removes what is unknown
  fairlead admin restore ID             brings back a deleted volume that is kept

With --json, audit tells it as JSON. The exit status is 0 when nothing is wrong, 2 when something is, else 1.

Settings, as flags or variables (a flag wins); they are the gateway's own:

${describeSettings(adminSettings)}
`;
}

/** Runs one command; what cannot be used is one thrown error. */
export async function runAdmin(config: AdminConfig, log: Log): Promise<AdminResult> {
  const { path } = config.gateway.store;
  // To make an empty one would make an orphan of everything.
  if (!existsSync(path)) throw new Error(`there is no store "${path}"`);
  const engine = openSqlite(path);
  try {
    await migrate(engine);
    return await (config.command === 'restore' ? restore(engine, config.id) : auditAll(engine, config, log));
  } finally {
    await engine.close();
  }
}

async function restore(engine: Engine, id: string): Promise<AdminResult> {
  const restored = await engine.transaction(sql => restoreKept(sql, id));
  if (!restored) throw new Error(`there is no deleted volume "${id}" that is kept`);
  return { text: `volume "${id}" is ready again\n`, status: 0 };
}

async function auditAll(engine: Engine, config: AdminConfig, log: Log): Promise<AdminResult> {
  const { gateway, stuckAfterMs, safetyAgeMs, has } = config;
  const backend = await openBackend(gateway, { log });
  const work = createWork({ engine, leaseMs: gateway.claimLeaseMs });
  try {
    if (!backend.list) throw new Error(`backend "${backend.name}" does not list what it has`);
    const services = createServices({ engine, backend, work });
    const recovery = createRecovery({ engine, services, log });
    const options: RepairOptions = { engine, backend, work, stuckAfterMs, recovery };
    const former = await findFormerPlaces(engine.reader, backend);
    const show = (rows: readonly Row[]): string => (has('json') ? toJson : toTable)(rows, former);
    const found = await audit(options);
    const wrong = found.findings.filter(({ problem }) => problem !== 'kept');
    if (!has('repair')) return { text: show(found.findings), status: wrong.length > 0 ? 2 : 0 };
    const steps = plan(found, safetyAgeMs);
    if (!has('yes')) return { text: show(steps), status: wrong.length > 0 ? 2 : 0 };
    const done = await repair(options, steps);
    const left = done.filter(({ problem, outcome }) => problem !== 'kept' && outcome !== 'done');
    return { text: show(done), status: left.length > 0 ? 2 : 0 };
  } finally {
    await work.idle();
    await backend.close?.();
  }
}

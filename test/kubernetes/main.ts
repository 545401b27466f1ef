import { once } from 'node:events';
import { whyNoCluster } from './build/main.ts';
import { install, openInstallationSite } from './installation/installation.ts';

/** Runs the test clusters with Fairlead until it is interrupted. */
async function main(): Promise<void> {
  const reason = whyNoCluster();
  if (reason !== false) throw new Error(reason);
  const stop = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const site = await openInstallationSite();
  try {
    const { east, west } = await install(site);
    for (const { cluster } of [east, west]) {
      say(await cluster.kubectl('get', 'nodes,csinodes', '--output', 'wide'));
      say(`kubectl: ${cluster.commandLine([]).join(' ')}`);
    }
    await stop;
  } catch (error) {
    say(`logs: ${site.saveLogs()}`);
    throw error;
  } finally {
    await site.end();
  }
}

const say = (line: string) => process.stdout.write(`${line}\n`);

if (import.meta.main) await main();

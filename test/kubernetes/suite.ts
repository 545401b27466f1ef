import { after, before, test, type TestContext } from 'node:test';
import type { Site } from './cluster/site.ts';
import { requireGone } from './scenarios/leftovers.ts';

/** Adds a test, which gets the installation of its suite. */
export type AddScenario<T> = (
  sentence: string,
  play: (installation: T, t: TestContext) => Promise<void>,
) => void;

/**
 * Opens a site and installs programs there before the tests of a suite, and ends the site after them. If one fails, the
 * programs' logs are kept.
 */
export function useSite<T>(open: () => Promise<Site>, install: (site: Site) => Promise<T>): AddScenario<T> {
  let site: Site;
  let installation: T;
  let hasFailed = true;
  before(async () => {
    site = await open();
    installation = await install(site);
    hasFailed = false;
  });
  after(async () => {
    if (hasFailed) process.stderr.write(`logs: ${site.saveLogs()}\n`);
    await site.end();
    requireGone(site.directory);
  });
  return (sentence, play) =>
    void test(sentence, t =>
      play(installation, t).catch((error: unknown) => {
        hasFailed = true;
        throw error;
      }),
    );
}

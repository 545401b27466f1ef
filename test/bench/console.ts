import type { Page } from 'playwright-core';
import { openSqlite } from '../../gateway/stores/sqlite.ts';
import { migrate } from '../../gateway/tables/schema.ts';
import { openBrowser, openPage, whyNoBrowser } from '../browser/browser.ts';
import { operatorCli } from '../harness/cli/run-cli.ts';
import { runGateway, type RunningGateway } from '../harness/gateway/program.ts';
import { copyRow } from '../harness/scale/full-store.ts';
import { median } from '../harness/values.ts';
import { inScope, type Bench, type Figure } from './figure.ts';

/** The numbers of volumes of the floor and of the figures, and the number of measured rounds. */
const [few, many, rounds] = [100, 100_000, 15] as const;

const targets = { 'first page': '≤ 500 ms', search: '≤ 300 ms' } as const;

type Times = Readonly<Record<keyof typeof targets, number>>;

/** Measures the list of volumes in a browser. */
export const consoleBench: Bench = {
  name: 'console',
  doc: `the first page of the console's list of ${many.toLocaleString('en')} volumes, from the click, and a search in it, from the last letter, in a browser`,
  run: () =>
    inScope(async t => {
      if (whyNoBrowser !== false) throw new Error(whyNoBrowser);
      const gateway = await runGateway(t, { flags: { console: 'true' }, process: {} });
      const { page } = await openPage(await openBrowser(t));
      await page.goto((await operatorCli(gateway)('console')).stdout.trim());
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await gateway.create('a.template');
      await fill(gateway, 0, few);
      const floors = await measure(page, few);
      await fill(gateway, few, many);
      const times = await measure(page, many);
      return (Object.keys(targets) as (keyof typeof targets)[]).map((name): Figure => ({
        name: `${name} of ${many.toLocaleString('en')} volumes`,
        value: times[name],
        unit: 'ms',
        floor: [`the same of ${few}`, floors[name]],
        target: targets[name],
      }));
    }),
};

/** Adds copies of the template, numbered from `old` to `size`. */
async function fill({ store }: RunningGateway, old: number, size: number): Promise<void> {
  const engine = openSqlite(store.replace(/^sqlite:/, ''));
  await using _ = { [Symbol.asyncDispose]: () => engine.close() };
  const name = `'m' || (1000000 + i + ${old})`;
  const row = { of: 'volumes', where: "id = 'a.template'", count: size - old };
  await engine.transaction(sql => copyRow(sql, row, { id: `'a.' || ${name}`, name }));
  await migrate(engine);
}

/** Measures the median times after a first round. */
async function measure(page: Page, size: number): Promise<Times> {
  const first: number[] = [];
  const search: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    first.push(await timeFirstPage(page));
    search.push(await timeSearch(page, `m${1_000_000 + size - 1 - round}`));
  }
  return { 'first page': median(first.slice(1)), search: median(search.slice(1)) };
}

/** Clicks on "Volumes", and returns the time until a frame shows a full page, in milliseconds. */
function timeFirstPage(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const startMs = performance.now();
    document.querySelector<HTMLElement>('a[href="/console/volumes"]')?.click();
    while (document.querySelectorAll('tbody tr').length < 100)
      await new Promise(shown => requestAnimationFrame(shown));
    return performance.now() - startMs;
  });
}

/** Types a part of an id, and returns the time until a frame shows only its volume, in milliseconds. */
function timeSearch(page: Page, part: string): Promise<number> {
  return page.evaluate(async text => {
    const inputs = document.querySelectorAll<HTMLInputElement>('input[type=search]');
    const input = [...inputs].at(-1);
    const startMs = performance.now();
    if (input) input.value = text;
    input?.dispatchEvent(new InputEvent('input', { bubbles: true }));
    const isFound = (): boolean => {
      const rows = document.querySelectorAll('tbody tr');
      return rows.length === 1 && rows[0]?.textContent?.includes(text) === true;
    };
    while (!isFound()) await new Promise(shown => requestAnimationFrame(shown));
    return performance.now() - startMs;
  }, part);
}

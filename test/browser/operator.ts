import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { operatorCli } from '../harness/cli/run-cli.ts';
import { runGateway, type GatewayRun, type RunningGateway } from '../harness/gateway/program.ts';
import { openBrowser, openPage } from './browser.ts';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A gateway in this process, and an operator's browser that shows its console. */
export type Console = {
  readonly gateway: RunningGateway;
  readonly page: Page;
  /** Opens a page of the console by its path below `/console/`. */
  show(path: string): Promise<void>;
};

/** Starts a gateway with the console and a browser that is logged in; both end with the test. */
export async function openConsole(
  t: TestContext,
  { keyFile, ...run }: GatewayRun & { readonly keyFile?: string } = {},
): Promise<Console> {
  const gateway = await runGateway(t, { ...run, flags: { console: 'true', ...run.flags } });
  const { page } = await openPage(await openBrowser(t));
  const env = keyFile === undefined ? {} : { FAIRLEAD_KEY_FILE: keyFile };
  const { stdout } = await operatorCli(gateway)('console', { env });
  await page.goto(stdout.trim());
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  const show = async (path: string): Promise<void> => {
    await page.goto(`${gateway.url}/console/${path}`);
    await page.getByText('Loading…').waitFor({ state: 'detached' });
  };
  return { gateway, page, show };
}

/** Opens the dialog of an action by its button, and fills its fields by their labels. */
export async function openAction(
  page: Page,
  word: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Locator> {
  await page.getByRole('button', { name: `${word}…` }).click();
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(fields)) {
    const field = dialog.getByLabel(label, { exact: true });
    const isChoice = await field.evaluate(one => one instanceof HTMLSelectElement);
    await (isChoice ? field.selectOption(value) : field.fill(value));
  }
  const planning = dialog.getByRole('button', { name: 'Show the consequences' });
  if (Object.keys(fields).length > 0) await planning.click();
  return dialog;
}

/** Takes the planned action of a dialog, after its typed name if it asks for one, and closes the dialog. */
export async function takeAction(
  dialog: Locator,
  { word, typed, outcome }: { readonly word: string; readonly typed?: string; readonly outcome: string },
): Promise<void> {
  const button = dialog.getByRole('button', { name: word, exact: true });
  await button.waitFor();
  if (typed !== undefined) await dialog.getByLabel(`Type ${typed} to go on`).fill(typed);
  await button.click();
  await dialog.getByText(outcome).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
}

/** Lists the violations of WCAG 2.2 AA that axe finds. */
export async function findBarriers(page: Page): Promise<readonly string[]> {
  // The page's policy refuses other scripts, but not the browser's own debugger.
  await page.evaluate(readFileSync(axe, 'utf8'));
  return page.evaluate(async () => {
    const { violations } = await (window as unknown as AxeWindow).axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

type AxeWindow = {
  readonly axe: {
    run(
      root: Document,
      options: { readonly runOnly: readonly string[] },
    ): Promise<{
      readonly violations: readonly {
        readonly id: string;
        readonly nodes: readonly { readonly html: string }[];
      }[];
    }>;
  };
};

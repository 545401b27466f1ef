import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { chart } from '../../../deploy/render.ts';
import { readEvidence } from '../../../docs/generate/evidence.ts';
import { alertCases, type AlertCase } from './alerts.ts';
import { exportedMetrics } from './exported.ts';

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

const rulesFile = resolve(chart, 'rules/fairlead.yaml');
const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
  groups: readonly { rules: readonly Rule[] }[];
};
const rules = groups.flatMap(group => group.rules);
const alertNames = rules.map(({ alert }) => alert);

const fetched = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fairlead/promtool');
const promtool = [fetched, '/usr/bin/promtool'].find(path => existsSync(path)) ?? '';
const skip = promtool === '' && 'promtool is not there: deploy/fetch-promtool.sh fetches it';

/** Lists the metrics that a file names, without a histogram's suffixes. */
function metricsIn(path: string): readonly string[] {
  const names = readFileSync(path, 'utf8').match(/\b(fairlead_(gateway|controller|node)|process)_\w+/g) ?? [];
  return names.map(name => name.replace(/_(bucket|sum|count)$/, ''));
}

test('dashboards, alerts and docs name exported metrics, and the docs name all of them', async t => {
  const exported = await exportedMetrics(t);
  const documented = metricsIn('docs/observability.md');
  const asked = [...globSync(`${chart}/dashboards/*.json`), rulesFile].flatMap(metricsIn);
  assert.ok(asked.length > 40);
  const strangers = [...asked, ...documented].filter(name => !exported.has(name));
  assert.deepEqual(strangers, []);
  const unsaid = [...exported].filter(name => !documented.includes(name));
  assert.deepEqual(unsaid, []);
});

test('each alert links to its own section of the runbook, and each section belongs to an alert', () => {
  const titles = readFileSync('docs/runbook.md', 'utf8').matchAll(/^## (\w+)$/gm);
  const anchors = [...titles].map(([, title = '']) => `docs/runbook.md#${title.toLowerCase()}`);
  const asked = rules.map(({ annotations }) => annotations['runbook_url']);
  assert.deepEqual(anchors.toSorted(), asked.toSorted());
});

test('a test causes the incident of each alert and reads its metrics, and for those of the gateway it follows the runbook', () => {
  const { alerts } = readEvidence();
  assert.deepEqual(Object.keys(alerts), alertNames);
  for (const { alert, expr } of rules) {
    const files = (alerts[alert] ?? []).map(({ file }) => file);
    const text = files.map(file => readFileSync(file, 'utf8')).join('\n');
    const metrics = expr.match(/\bfairlead_\w+/g)?.map(metric => metric.replace(/_bucket$/, '')) ?? [];
    assert.ok(
      metrics.some(metric => text.includes(metric)),
      `${alert}: ${files.join()}`,
    );
    const isOfGateway = metrics.every(metric => metric.startsWith('fairlead_gateway_'));
    assert.ok(!isOfGateway || text.includes(`walk('${alert}'`), `${files.join()} does not walk ${alert}`);
  }
});

type Panel = {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly thresholds?: { readonly steps: readonly Step[] } } };
};
/** A colour, and the value from which on it is used; the first step has none. */
type Step = { readonly color: string; readonly value: number | null };
type Dashboard = {
  readonly annotations: { readonly list: readonly object[] };
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};

const dashboards = globSync(`${chart}/dashboards/*.json`).map(path => ({
  name: path.split('/').at(-1) ?? '',
  dashboard: JSON.parse(readFileSync(path, 'utf8')) as Dashboard,
}));

for (const { name, dashboard } of dashboards) {
  const { annotations, panels, templating } = dashboard;
  test(`${name} has the members that Grafana's schema of dashboards requires`, () => {
    assert.deepEqual(annotations, { list: [] });
    assert.ok(panels.every(({ id }) => Number.isSafeInteger(id) && id > 0));
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  });

  test(`${name} has rows, and each panel quotes the runbook`, () => {
    const [first] = panels;
    assert.equal(first?.type, 'row');
    const runbook = readFileSync('docs/runbook.md', 'utf8').replaceAll(/\s+/g, ' ');
    for (const { title, description = '' } of panels.filter(({ type }) => type !== 'row')) {
      const [, alert = '', words = ''] = /^(\w+): (.+)$/s.exec(description) ?? [];
      assert.ok(words !== '' && runbook.includes(`## ${alert} ${words}`), `${title}: ${description}`);
    }
  });

  test(`${name} has a variable for pools and for clusters, and all metrics with these labels are filtered by it`, () => {
    const labels = panels
      .flatMap(({ targets = [] }) => targets)
      .flatMap(({ expr }) => Array.from(expr.matchAll(/\b(fairlead_\w+)(?:\{([^}]*)\})?/g)))
      .flatMap(([, metric = '', selectors = '']) =>
        ['pool', 'cluster']
          .filter(label => documentedLabels(metric).includes(label))
          .map(label => ({ label, metric, isFiltered: selectors.includes(`${label}=~"$${label}"`) })),
      );
    assert.deepEqual(
      labels.filter(({ isFiltered }) => !isFiltered),
      [],
    );
    const variables = templating.list
      .map(variable => variable.name)
      .filter(variable => variable !== 'source');
    assert.deepEqual(variables.toSorted(), [...new Set(labels.map(({ label }) => label))].toSorted());
  });
}

/** Lists the labels of a metric, or of a histogram's part, that the documentation names. */
function documentedLabels(metric: string): readonly string[] {
  const name = metric.replace(/_(bucket|sum|count)$/, '');
  const [, labels = ''] =
    new RegExp(`\`${name}\\{([\\w,]+)\\}`).exec(readFileSync('docs/observability.md', 'utf8')) ?? [];
  return labels.split(',');
}

test('each alert with a bound has a panel that shows its expression with this bound as the threshold', () => {
  const panels = dashboards.flatMap(({ dashboard }) => dashboard.panels);
  const missing = rules
    .filter(({ expr }) => !expr.startsWith('absent('))
    .filter(({ expr }) => {
      const [condition = ''] = expr.split(/\band\b/);
      const [, value = '', sign = '', bound = ''] = /^(.*) (>|==) ([\d.]+)$/s.exec(condition.trim()) ?? [];
      assert.notEqual(bound, '', expr);
      // A count is red from 1 on, and a panel that says yes or no below 1.
      const red =
        sign === '==' && bound === '0'
          ? { color: 'green', value: 1 }
          : { color: 'red', value: Number(bound) || 1 };
      return !panels.some(
        ({ targets = [], fieldConfig }) =>
          (targets.some(target => simplify(target.expr) === simplify(value)) && hasStep(fieldConfig, red)) ||
          (targets.some(target => simplify(target.expr) === simplify(`count(${condition})`)) &&
            hasStep(fieldConfig, { color: 'red', value: 1 })),
      );
    });
  assert.deepEqual(
    missing.map(({ alert }) => alert),
    [],
  );
});

/** Removes spaces and the dashboards' own filters, so that expressions of panels and alerts can be compared. */
function simplify(expr: string): string {
  return expr
    .replaceAll(/(pool|cluster)=~"\$\1",?|\s/g, '')
    .replaceAll(/\{\}|,(?=\})/g, '')
    .replaceAll('[5m]', '[10m]');
}

function hasStep(fieldConfig: Panel['fieldConfig'], { color, value }: Step): boolean {
  const steps = fieldConfig?.defaults.thresholds?.steps ?? [];
  return steps.some(step => step.color === color && step.value === value) && steps.length === 2;
}

test('promtool finds nothing wrong with the alerts', { skip }, () => {
  execFileSync(promtool, ['check', 'rules', rulesFile], { stdio: ['ignore', 'ignore', 'inherit'] });
});

test('each alert fires when it should, and not before', { skip }, t => {
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-alerts-'));
  t.after(() => rmSync(directory, { recursive: true }));
  assert.deepEqual(Object.keys(alertCases).toSorted(), alertNames.toSorted());
  const path = join(directory, 'alerts.yaml');
  const tests = rules.map(rule => toUnitTest(rule, alertCases[rule.alert] ?? assert.fail(rule.alert)));
  writeFileSync(path, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests }));
  execFileSync(promtool, ['test', 'rules', path], { stdio: ['ignore', 'ignore', 'inherit'] });
});

/** Converts a case to promtool's format; the expected annotations are those in git, with the labels filled in. */
function toUnitTest({ alert, labels, annotations }: Rule, { series, quietAt, firesAt, ...found }: AlertCase) {
  const fill = (text: string): string =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => found.labels[name] ?? '');
  const said = Object.entries(annotations).map(([name, text]) => [name, fill(text)]);
  const firing = {
    exp_labels: { ...labels, ...found.labels },
    exp_annotations: Object.fromEntries(said) as object,
  };
  return {
    name: alert,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [
      { eval_time: quietAt, alertname: alert, exp_alerts: [] },
      { eval_time: firesAt, alertname: alert, exp_alerts: [firing] },
    ],
  };
}

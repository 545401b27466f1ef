import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { backends } from '../../gateway/backends/index.ts';
import { exports } from '../../gateway/exports/index.ts';
import { gatewaySettings } from '../../gateway/config.ts';
import { clusterSchema, operatorsSchema, topologySchema } from '../../gateway/configuration/file.ts';
import { attachmentsSchema } from '../../gateway/configuration/attachments.ts';
import { concurrencySchema } from '../../gateway/configuration/concurrency.ts';
import { nodeSettings } from '../../node-agent/config.ts';
import { bridgeSettings } from '../../src/bridge/config.ts';
import { type Limit, limits } from '../../src/api/limits.ts';
import { vendorDocument } from '../../src/api/http/openapi.ts';
import { problemTable } from '../../src/api/problem.ts';
import { enrollSettings } from '../../src/cli/commands/enroll.ts';
import { initCommands } from '../../src/cli/commands/init.ts';
import { verifySettings } from '../../src/kit/settings.ts';
import { controllerSettings } from '../../src/controller/config.ts';
import { devSettings } from '../../src/dev/config.ts';
import type { SettingsTable } from '../../src/lib/settings.ts';
import { version } from '../../src/lib/version.ts';
import { apiPage } from './api.ts';
import { chartFiles } from './chart.ts';
import { cli } from './cli.ts';
import { evidencePage } from './evidence.ts';
import { type Schema, toMembers } from './members.ts';
import { vendorApi } from './vendor-api.ts';

const usage = `Usage: node docs/generate/main.ts [--check]

Writes the generated pages and lists of docs/reference, and the chart's values, from their sources; --check fails when one is stale.
`;

const { values } = parseArgs({ options: { check: { type: 'boolean' }, help: { type: 'boolean' } } });
if (values.help) process.stdout.write(usage);
else
  for (const [name, text] of Object.entries({
    'reference/api.md': apiPage(),
    'reference/errors.md': errors(),
    'reference/limits.md': limitsPage(),
    'reference/config.md': config(),
    'reference/cli.md': await cli(toTable),
    'reference/evidence.md': evidencePage(),
    'reference/vendor-api.md': vendorApi(),
    'reference/vendor-openapi.json': `${JSON.stringify(vendorDocument(version), null, 2)}\n`,
    ...chartFiles(),
  }))
    keep(name, text);

function keep(name: string, text: string): void {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (!values.check) return writeFileSync(path, text);
  if (readIfThere(path) === text) return;
  process.stderr.write(`docs/${name} is stale; run npm run generate\n`);
  process.exitCode = 1;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function errors(): string {
  const rows = Object.entries(problemTable).map(
    ([code, { grpc, http, title, final }]) =>
      `| ${code} | ${grpc} | ${http} | ${final ? 'no' : 'yes'} | ${title} |`,
  );
  return `# Errors

Generated from \`src/api/problem.ts\`. Over HTTP an error is an RFC 9457 problem document. Its \`code\` decides, and the status is a
hint. Over gRPC an error is the code with this number. If a code is marked "may still run", the operation may continue.

| code | gRPC | HTTP | may still run | meaning |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

function limitsPage(): string {
  const rows = Object.entries<Limit>(limits).map(
    ([name, { max, unit, of, code, remedy }]) =>
      `| \`${name}\` | ${of} | ${max.toLocaleString('en')} ${unit} | ${code === 'cut' ? 'the answer is cut' : code} | ${remedy} |`,
  );
  return `# Limits

Generated from \`src/api/limits.ts\`. Everything that a cluster can make grow has a limit here. A message about a limit gives its
name, its value and a remedy. [Quotas](../tenancy.md#quotas) and a cluster's \`rate\` in \`gateway.yaml\` can be narrower.

| limit | subject | max | beyond the max | remedy |
|---|---|---|---|---|
${rows.join('\n')}

A group of snapshots has no separate limit: each member counts as a snapshot. Refused calls of one caller add at most 1,000
entries for single resources in an hour to the [audit log](../tenancy.md#the-audit-log), and one for each operation and code
beyond these.
`;
}

function config(): string {
  const programs = {
    gateway: gatewaySettings,
    controller: controllerSettings,
    node: nodeSettings,
    bridge: bridgeSettings,
    enroll: enrollSettings,
    'init vendor': initCommands.vendor.settings,
    verify: verifySettings,
    // The node's id is this machine's name, which differs from one machine to the next.
    dev: { ...devSettings, 'node-id': { ...devSettings['node-id'], default: "the machine's name" } },
  };
  const sections = Object.entries(programs).map(
    ([name, table]) => `## fairlead ${name}\n\n${toTable(table)}`,
  );
  return `# Settings and the gateway's configuration

Generated from each program's \`config.ts\`. Every setting is a flag \`--name\` or a variable \`FAIRLEAD_NAME\`; the flag wins. Some
settings can also come from a file, with \`--name-file\` or \`FAIRLEAD_NAME_FILE\`; their descriptions say so.

${sections.join('\n\n')}

${gatewayFile()}
`;
}

function gatewayFile(): string {
  const parts: readonly (readonly [string, string, z.ZodType])[] = [
    ['clusters.NAME', 'a cluster that may call', clusterSchema([])],
    ['operators', 'the callers of the admin operations; they may call nothing else', operatorsSchema],
    ['pools.NAME.attachments', 'the bounds of the attachments that a storage may answer', attachmentsSchema],
    ...Object.entries(backends).map(
      ([name, { settings }]) =>
        [
          `pools.NAME, backend: ${name}`,
          'beside `backend`, `topology`, `concurrency` and `attachments`',
          settings,
        ] as const,
    ),
    ...Object.entries(exports).map(
      ([name, { settings }]) =>
        [
          `pools.NAME.export, protocol: ${name}`,
          'the way from other machines to the volumes of a pool',
          settings,
        ] as const,
    ),
  ];
  const tables = parts.map(([title, what, schema]) => {
    const rows = toMembers(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema);
    const lines = rows.map(({ path, state, doc }) => `| \`${path}\` | ${state} | ${doc} |`);
    return `### ${title}\n\n${what}\n\n| member | default | meaning |\n|---|---|---|\n${lines.join('\n')}`;
  });
  return `## gateway.yaml

\`fairlead gateway --config\` reads this file, as YAML 1.2, or as JSON, which is YAML. Names of pools and clusters have lower-case
letters, digits and inner dashes, at most 32. All faults are reported at once, each with its line and its path.

\`\`\`yaml
pools:
  fast: { backend: image, dir: /srv/fast, capacity: 2Ti, topology: { csi.fairlead.dev/zone: a } }
  files: { backend: dir, dir: /srv/files, nfs: { server: nas.example, path: /srv/files } }
clusters:
  east: { keys: east.jwks.json, pools: [fast, files], quota: { bytes: 10Ti, volumes: 500, pools: { fast: { bytes: 2Ti } } } }
  west: { serviceAccount: { issuer: https://k8s.west.example, subject: system:serviceaccount:fairlead:fairlead-controller, keys: discovery } }
operators: { keys: operators.jwks.json }
\`\`\`

A pool is a backend with its settings and a name. Each pool has \`backend\`, one of ${Object.keys(backends).join(', ')} or the name of an npm
package ([backends.md](../backends.md#a-backend-as-a-package)), and may have

* \`topology\`: ${topologySchema.description}
* \`concurrency\`: ${concurrencySchema.description}
* \`attachments\`: ${attachmentsSchema.description}

${tables.join('\n\n')}`;
}

function toTable(table: SettingsTable): string {
  const rows = Object.entries(table).map(([name, setting]) => {
    const isOptional = setting.optional || setting.default === '';
    const state = setting.default ? `\`${setting.default}\`` : isOptional ? 'optional' : 'required';
    const short = setting.short === undefined ? '' : `\`-${setting.short}\`, `;
    const also = [
      ...(setting.variable === undefined ? [] : [`\`${setting.variable}\``]),
      ...(setting.file ? [`\`--${name}-file\``] : []),
    ];
    const others = also.length > 0 ? ` (also ${also.join(', ')})` : '';
    return `| ${short}\`--${name}\` | ${state} | ${setting.doc.replaceAll('|', '\\|').replaceAll('<', '&lt;')}${others} |`;
  });
  return `| setting | default | what it does |\n|---|---|---|\n${rows.join('\n')}`;
}

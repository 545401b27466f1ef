import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rollup } from 'vite';
import { defineConfig, type DefaultTheme } from 'vitepress';

/** Makes the entries of the sidebar from pairs of a title and a path below `docs`. */
function itemsOf(pages: Readonly<Record<string, string>>): DefaultTheme.SidebarItem[] {
  return Object.entries(pages).map(([text, path]) => ({ text, link: `/docs/${path}` }));
}

const sidebar: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [
      { text: 'Overview', link: '/README' },
      ...itemsOf({
        Kubernetes: 'guides/kubernetes',
        'Storage server': 'guides/storage-server',
        'Storage that you have': 'guides/existing-storage',
        'Storage vendors': 'guides/vendor',
        'Hosting for many clusters': 'guides/hosting',
        'Serverless gateways': 'guides/serverless',
        'Backups with Velero': 'guides/backup',
        Console: 'guides/console',
        'Container image': 'guides/image',
        'Coming from another driver': 'guides/coming-from',
      }),
    ],
  },
  {
    text: 'Operation',
    items: itemsOf({
      Gateway: 'gateway',
      Backends: 'backends',
      Nodes: 'nodes',
      Tenancy: 'tenancy',
      Store: 'store',
      Security: 'security',
      Observability: 'observability',
      Runbook: 'runbook',
      'Field failures': 'field-failures',
      Limitations: 'limitations',
    }),
  },
  {
    text: 'Reference',
    items: itemsOf({
      Commands: 'reference/cli',
      Configuration: 'reference/config',
      'Chart values': 'reference/chart',
      API: 'reference/api',
      'Vendor API': 'reference/vendor-api',
      Vendors: 'reference/vendors',
      Errors: 'reference/errors',
      Limits: 'reference/limits',
      Evidence: 'reference/evidence',
      Compatibility: 'compatibility',
    }),
  },
  {
    text: 'Project',
    items: [
      ...itemsOf({
        Architecture: 'architecture',
        Protocols: 'protocols',
        Figures: 'bench/figures',
        'Changes for speed': 'bench/tried',
        Releasing: 'releasing',
      }),
      { text: 'Changelog', link: '/CHANGELOG' },
    ],
  },
];

/** Makes the anchor of a title as GitHub does, which shows the same pages. */
function slugOf(title: string): string {
  return title
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** Finds Vue in this package for the code of pages, which lie outside it. */
function resolveVue(this: Rollup.PluginContext, source: string, importer?: string) {
  if (!importer?.endsWith('.md') || !/^vue(\/|$)/.test(source)) return undefined;
  return this.resolve(source, import.meta.filename, { skipSelf: true });
}

export default defineConfig({
  title: 'Fairlead',
  description: 'A remote CSI gateway for Kubernetes',
  lang: 'en',
  // Pages keep their paths in the repository, so that a link between them leads to the same page in both.
  srcDir: '../..',
  srcExclude: ['**/node_modules/**', 'test/**', 'deploy/**', '.github/**'],
  rewrites: { 'docs/site/index.md': 'index.md' },
  outDir: 'dist',
  cacheDir: '.cache',
  markdown: { anchor: { slugify: slugOf } },
  vite: { plugins: [{ name: 'vue-for-pages', enforce: 'pre', resolveId: resolveVue }] },
  buildEnd({ outDir, srcDir }) {
    // The page of the vendor API leads to it.
    const description = 'docs/reference/vendor-openapi.json';
    copyFileSync(join(srcDir, description), join(outDir, description));
  },
  themeConfig: { sidebar, outline: [2, 3], search: { provider: 'local' } },
});

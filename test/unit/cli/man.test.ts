import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manPages } from '../../../docs/generate/man.ts';
import { commands } from '../../../src/cli/commands.ts';
import { listCommands } from '../../../src/cli/run.ts';

/** Reads the text of a page as a reader sees it, in one line. */
function plainOf(page: string): string {
  return page
    .replaceAll(/^\.\w+ ?/gm, '')
    .replaceAll('\\-', '-')
    .replaceAll('\\&', '')
    .replaceAll('\\e', '\\')
    .replaceAll(/\s+/g, ' ');
}

test('each command has a manual page with all its settings, and fairlead(1) lists them all', async () => {
  const pages = await manPages();
  const overview = plainOf(pages.get('fairlead.1') ?? '');
  for (const [name, { doc }] of Object.entries(commands))
    assert.ok(overview.includes(`fairlead-${name} (1) ${doc}`), name);
  for (const { path, doc, command } of await listCommands({ path: 'fairlead', commands })) {
    const [, name = ''] = path.split(' ');
    const page = plainOf(pages.get(`fairlead-${name}.1`) ?? '');
    assert.ok(page.includes(doc), path);
    assert.ok(page.includes(path), path);
    for (const [flag, setting] of Object.entries(command.settings)) {
      assert.ok(page.includes(`--${flag} ${setting.doc.replaceAll('…', '...')}`), `${path} --${flag}`);
      const variable = `FAIRLEAD_${flag.toUpperCase().replaceAll('-', '_')}`;
      assert.match(page, new RegExp(`${variable}[,;] `), `${path} --${flag}`);
    }
  }
});

test('a manual page has its exit statuses, and examples of commands and flags that exist', async () => {
  const pages = await manPages();
  assert.match(plainOf(pages.get('fairlead-get.1') ?? ''), /EXIT STATUS .*2 fairlead get: a name, or/);
  assert.match(
    plainOf(pages.get('fairlead.1') ?? ''),
    /EXIT STATUS 0 success 1 .*2 fairlead explain: the volume/,
  );
  assert.match(plainOf(pages.get('fairlead-admin.1') ?? ''), /2 fairlead admin drain: something is left/);
  const all = await listCommands({ path: 'fairlead', commands });
  for (const [name, { examples = [] }] of Object.entries(commands))
    for (const example of examples) {
      assert.ok(
        plainOf(pages.get(`fairlead-${name}.1`) ?? '').includes(example.replaceAll(/ +/g, ' ')),
        example,
      );
      const called = all.find(({ path }) => `${example.replaceAll(')', '')} `.includes(`${path} `));
      assert.ok(called, example);
      for (const [, flag = ''] of example.matchAll(/--([a-z-]+)/g))
        assert.ok(flag in called.command.settings, `${example}: --${flag}`);
    }
});

test('a manual page has no request of troff but its own, and no other dash than a typed one', async () => {
  for (const [name, page] of await manPages()) {
    const requests = page.split('\n').filter(line => /^[.']/.test(line));
    for (const line of requests) assert.match(line, /^\.(\\"|TH|SH|TP|B|BR|I|br)( |$)/, name);
    assert.doesNotMatch(page.replaceAll(/^\.(TH|\\").*$/gm, ''), /(?<!\\)-/, name);
    assert.match(page, /^\.SH NAME\nfairlead[\w\\-]* \\- \S/m, name);
  }
});

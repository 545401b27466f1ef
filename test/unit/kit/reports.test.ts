import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Report } from '../../../src/kit/report.ts';
import { resultOf, toResults, type Standing } from '../../../src/kit/report.ts';
import { toHtml } from '../../../src/kit/reports/html.ts';
import { toJunit } from '../../../src/kit/reports/junit.ts';
import { toLines, toSummary } from '../../../src/kit/reports/lines.ts';
import { fault, skip, unproved } from '../../../src/kit/finding.ts';
import { requirementIds, requirements } from '../../../src/kit/requirements.ts';
import { sectionOf, sections } from '../../../src/kit/sections.ts';

const target = { url: new URL('http://vendor.example/base') };
const exchange = {
  request: {
    method: 'GET',
    path: '/v1/volumes/v',
    headers: { authorization: 'Bearer secret', prefer: 'wait=1' },
  },
  answer: {
    status: 404,
    headers: { 'content-type': 'text/html' },
    text: '<h1>"none" & \u0000gone</h1>',
    body: undefined,
  },
  tookMs: 3,
};
const more = { seed: 7, tookMs: 12, target, trail: [exchange] };
const report: Report = {
  url: target.url.href,
  version: '1.0',
  seed: 7,
  startedAt: '2026-01-31T12:00:00.000Z',
  tookMs: 1_500,
  results: [
    resultOf('FL-1.1-1', 'PASS', more),
    ...toResults('FL-1.2-1', fault('a "problem" document'), more),
    ...toResults('FL-1.2-7', fault('the detail names it'), more),
    ...toResults('FL-3.7-1', skip('the vendor does not offer "health"'), more),
  ],
  left: ['verify.verify-s7-1'],
  isInterrupted: false,
};

test('requirements are in the order of the sections and numbered from 1', () => {
  const numbered = Object.keys(sections).flatMap(section =>
    requirementIds.filter(id => sectionOf(id) === section).map((_, index) => `FL-${section}-${index + 1}`),
  );
  assert.deepEqual(requirementIds, numbered);
});

test('a fault counts once, under the requirement that is broken, and a fault of a SHOULD is a warning', () => {
  const results = toResults('FL-3.1-1', fault('x', { requirement: 'FL-1.1-1' }), more);
  assert.deepEqual(
    results.map(({ id, outcome }) => [id, outcome]),
    [
      ['FL-1.1-1', 'FAIL'],
      ['FL-3.1-1', 'SKIP'],
    ],
  );
  assert.equal(results[1]?.because, 'the check stopped at a fault of FL-1.1-1: x');
  const outcomesAfter = (standing: Standing) =>
    toResults('FL-3.1-1', fault('x', { requirement: 'FL-1.1-1' }), {
      ...more,
      standingOf: () => standing,
    }).map(({ id, outcome, failure }) => `${id} ${outcome} ${failure?.expected ?? ''}`);
  assert.deepEqual(outcomesAfter('passed'), ['FL-3.1-1 FAIL x (FL-1.1-1)']);
  assert.deepEqual(outcomesAfter('unselected'), ['FL-3.1-1 FAIL x (FL-1.1-1)']);
  assert.deepEqual(outcomesAfter('failed'), ['FL-3.1-1 SKIP ']);
  assert.equal(report.results[2]?.outcome, 'WARN');
  assert.equal(requirements['FL-1.2-7'].level, 'SHOULD');
});

test('a MUST that could not be proved is a warning with its reason in every report', () => {
  const [result] = toResults('FL-9.2-3', unproved('no writes'), more);
  assert.ok(result);
  assert.deepEqual([result.outcome, result.because], ['WARN', 'could not be proved: no writes']);
  assert.match(toLines(result, ''), /^WARN {2}FL-9\.2-3 .*\n {6}could not be proved: no writes$/);
  const whole = { ...report, results: [result] };
  assert.match(toHtml(whole), /<h2>Does not hold<\/h2>[^]*could not be proved: no writes/);
  assert.match(toJunit(whole), /<skipped message="WARN: could not be proved: no writes"/);
});

test('the HTML page begins with a table of the chapters and the faults, the MUSTs first', () => {
  const html = toHtml(report);
  const places = [
    '<th>chapter</th>',
    '<a href="#chapter-3">3 Volumes</a>',
    '<h2>Does not hold</h2>',
    'id="fault-FL-1.2-1"',
    'id="fault-FL-1.2-7"',
    '<h2 id="chapter-1">',
    'id="FL-1.1-1"',
    'href="#fault-FL-1.2-1"',
  ].map(part => html.indexOf(part));
  assert.ok(!places.includes(-1), String(places));
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.equal(html.match(/Expected: a &quot;problem&quot; document/g)?.length, 1);
});

test('lines have the expectation, the request, the answer, and the way to repeat it', () => {
  const [, failed, , skipped] = report.results.map(result => toLines(result, 'fairlead verify URL'));
  const answer = '404 <h1>"none" & \u0000gone</h1>';
  for (const part of [
    'FAIL  FL-1.2-1',
    'expected: a "problem" document',
    'request:  GET /v1/volumes/v',
    `answer:   ${answer}`,
    `curl:     curl -i --path-as-is -X GET -H "Authorization: Bearer $TOKEN" -H 'prefer: wait=1' 'http://vendor.example/base/v1/volumes/v'`,
    'repeat:   fairlead verify URL --only FL-1.2-1 --seed 7',
  ])
    assert.ok(failed?.includes(part), part);
  assert.match(skipped ?? '', /^SKIP {2}FL-3\.7-1 .*\n {6}skipped: the vendor does not offer "health"$/);
  const summary = toSummary(report);
  assert.match(summary, /^1 Transport and errors +1 +1 +1 +0$/m);
  assert.match(summary, /left behind, please remove by hand: verify\.verify-s7-1/);
  assert.match(summary, /1 requirement does not hold \(seed 7, 1\.5 s\)$/);
});

test('JUnit has a suite for each chapter, and only characters that XML allows', () => {
  const xml = toJunit(report);
  assert.match(
    xml,
    /<testsuites name="fairlead verify http:\/\/vendor\.example\/base" tests="4" failures="1"/,
  );
  assert.match(xml, /<testsuite name="1 Transport and errors" tests="3" failures="1" skipped="1">/);
  assert.match(
    xml,
    /<failure message="a &quot;problem&quot; document">[^<]*&lt;h1&gt;&quot;none&quot; &amp; gone/,
  );
  assert.match(xml, /<skipped message="the vendor does not offer &quot;health&quot;"\/>/);
  assert.ok(!xml.includes('\u0000'));
});

test('the HTML page is self-contained and shows an answer as text', () => {
  const html = toHtml(report);
  assert.doesNotMatch(html, /<script|<link|<img|src=|@import|url\(/);
  assert.match(html, /&lt;h1&gt;&quot;none&quot; &amp; gone&lt;\/h1&gt;/);
  assert.match(html, /<code>application\/json<\/code>/);
  assert.match(html, /Left behind: verify\.verify-s7-1/);
});

test('no report holds credentials', () => {
  const lines = report.results.map(result => toLines(result, ''));
  for (const text of [JSON.stringify(report), toHtml(report), toJunit(report), ...lines])
    assert.doesNotMatch(text, /secret/);
});

test('no report has a token that a vendor repeats', () => {
  const { request, answer } = exchange;
  const token = 'a-secret-token';
  const made = {
    ...exchange,
    request: { ...request, headers: { authorization: `Bearer ${token}` } },
    answer: { ...answer, headers: { 'x-who': token }, text: `"${token}"`, body: token },
  };
  const results = toResults('FL-2.1-8', fault('no token', { exchange: made }), { ...more, trail: [made] });
  const whole = { ...report, results };
  const lines = results.map(result => toLines(result, ''));
  for (const text of [JSON.stringify(whole), toHtml(whole), toJunit(whole), ...lines])
    assert.doesNotMatch(text, /secret/);
  assert.equal(results[0]?.failure?.exchange?.answer?.text, '"…"');
});

import { Problem } from '../../../../src/sdk/server/vendor.ts';
import { changeAnswer, withoutSchemas, type Breakage } from '../breakage.ts';

const whole = { limit: 1_000, pageToken: undefined };

/** Faults of lists, of the vendor's capabilities, and of its memory. */
export const lists = {
  'page-skips': {
    wrong: 'a page skips its first entry',
    caughtBy: 'FL-6.1-3',
    operations: right => ({
      listVolumes: asked =>
        changeAnswer(right.listVolumes(asked), ({ volumes }) => ({
          volumes: asked.pageToken ? (volumes as object[]).slice(1) : volumes,
        })),
    }),
  },
  'page-unlimited': {
    wrong: 'a page ignores the limit and has all entries',
    caughtBy: 'FL-6.1-2',
    operations: right => ({ listVolumes: asked => right.listVolumes({ ...asked, limit: 1_000 }) }),
  },
  'page-unordered': {
    wrong: 'a list is sorted by time, the newest first',
    caughtBy: 'FL-6.1-1',
    operations: right => ({
      listVolumes: asked =>
        changeAnswer(right.listVolumes(asked), ({ volumes }) => ({
          volumes: (volumes as object[]).toReversed(),
        })),
    }),
  },
  'page-by-position': {
    wrong: 'a page token counts entries, so that a deletion between pages skips entries',
    caughtBy: 'FL-6.2-1',
    operations: right => ({
      listVolumes({ limit, pageToken = '0' }) {
        if (!/^\d{1,6}$/.test(pageToken)) throw new Problem('ABORTED', 'the page token is none of this list');
        const [status, all] = right.listVolumes(whole);
        const [from, to] = [Number(pageToken), Number(pageToken) + limit];
        const { volumes = [] } = all as { readonly volumes?: readonly object[] };
        const more = to < volumes.length ? { nextPageToken: String(to) } : {};
        return [status, { volumes: volumes.slice(from, to), ...more }];
      },
    }),
  },
  'page-token-ignored': {
    wrong: 'an invalid page token restarts the list',
    caughtBy: 'FL-6.1-4',
    operations: right => ({
      listVolumes(asked) {
        try {
          return right.listVolumes(asked);
        } catch {
          return right.listVolumes(whole);
        }
      },
    }),
  },
  'capabilities-change': {
    wrong: 'capabilities change from one answer to the next',
    caughtBy: 'FL-7.1-1',
    operations: right => {
      let asked = 0;
      return {
        getCapabilities: () => changeAnswer(right.getCapabilities(), () => ({ version: `1.0.${asked++}` })),
      };
    },
  },
  'parameters-ignored': {
    wrong: 'unknown parameters are ignored',
    caughtBy: 'FL-3.1-7',
    offer: withoutSchemas,
    operations: right => ({
      createVolume({ body: { parameters = {}, ...body }, ...asked }) {
        const known = Object.entries(parameters).filter(([name]) => name === 'department');
        return right.createVolume({ ...asked, body: { ...body, parameters: Object.fromEntries(known) } });
      },
    }),
  },
  'list-endless': {
    wrong: 'the list of volumes never ends',
    caughtBy: 'FL-6.1-3',
    operations: right => {
      let page = 0;
      return {
        listVolumes: asked =>
          changeAnswer(right.listVolumes({ ...asked, pageToken: undefined }), () => ({
            volumes: [],
            nextPageToken: `page-${page++}`,
          })),
      };
    },
  },
  'schema-runs': {
    wrong: 'a schema of parameters has a pattern, which no caller evaluates',
    caughtBy: 'FL-7.1-3',
    offer: withoutSchemas,
    operations: right => ({
      getCapabilities: () =>
        changeAnswer(right.getCapabilities(), ({ parameters }) => ({
          parameters: { ...Object(parameters), volume: { type: 'object', patternProperties: { '^x-': {} } } },
        })),
    }),
  },
  'restart-forgets': {
    wrong: 'volumes are kept in memory and lost at a restart',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      for (const volume of disk.list('volume')) disk.remove(volume);
      return { getVolume: asked => right.getVolume(asked) };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

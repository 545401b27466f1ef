import { Problem } from '../../../../gateway/vendor/vendor.ts';
import { changed, withoutSchemas, type Breakage } from './breakage.ts';

const whole = { limit: 1_000, pageToken: undefined };

/** What is wrong with lists, with what the vendor says of itself, and with what it remembers. */
export const lists = {
  'page-skips': {
    wrong: 'a page begins one entry too late',
    caughtBy: 'FL-6.1-3',
    operations: right => ({
      listVolumes: asked =>
        changed(right.listVolumes(asked), ({ volumes }) => ({
          volumes: asked.pageToken ? (volumes as object[]).slice(1) : volumes,
        })),
    }),
  },
  'page-unlimited': {
    wrong: 'a page has all there is, whatever the limit',
    caughtBy: 'FL-6.1-2',
    operations: right => ({ listVolumes: asked => right.listVolumes({ ...asked, limit: 1_000 }) }),
  },
  'page-unordered': {
    wrong: 'a list has the newest first',
    caughtBy: 'FL-6.1-1',
    operations: right => ({
      listVolumes: asked =>
        changed(right.listVolumes(asked), ({ volumes }) => ({
          volumes: (volumes as object[]).toReversed(),
        })),
    }),
  },
  'page-by-position': {
    wrong: 'a page token counts entries, so that what is deleted meanwhile lets others be skipped',
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
    wrong: 'a page token that is none begins the list again',
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
    wrong: 'capabilities differ from one answer to the next',
    caughtBy: 'FL-7.1-1',
    operations: right => {
      let asked = 0;
      return {
        getCapabilities: () => changed(right.getCapabilities(), () => ({ version: `1.0.${asked++}` })),
      };
    },
  },
  'parameters-ignored': {
    wrong: 'parameters that are not known are dropped',
    caughtBy: 'FL-3.1-7',
    offer: withoutSchemas,
    operations: right => ({
      createVolume({ body: { parameters = {}, ...body }, ...asked }) {
        const known = Object.entries(parameters).filter(([name]) => name === 'department');
        return right.createVolume({ ...asked, body: { ...body, parameters: Object.fromEntries(known) } });
      },
    }),
  },
  'restart-forgets': {
    wrong: 'what was answered is only in memory, and lost at a restart',
    caughtBy: 'FL-8.3-1',
    needs: 'restart',
    operations(right, disk) {
      for (const volume of disk.list('volume')) disk.remove(volume);
      return { getVolume: asked => right.getVolume(asked) };
    },
  },
} as const satisfies Readonly<Record<string, Breakage>>;

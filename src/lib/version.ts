import packageJson from '../../package.json' with { type: 'json' };

/** The version of all programs of this release. */
export const { version } = packageJson;

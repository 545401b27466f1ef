/** The chapters by their numbers. A requirement's id is `FL-<chapter>.<section>-<n>`. */
export const chapters = {
  1: 'Transport and errors',
  2: 'Authentication',
  3: 'Volumes',
  4: 'Attachments',
  5: 'Snapshots and groups',
  6: 'Lists',
  7: 'Capabilities and capacity',
  8: 'Faults and restarts',
  9: 'Data',
} as const;

export const sections = {
  '1.1': 'Answers',
  '1.2': 'Errors',
  '1.3': 'Long-running work',
  '1.4': 'Requests',
  '2.1': 'Tokens',
  '2.2': 'Certificates',
  '3.1': 'Creating',
  '3.2': 'Repeated requests',
  '3.3': 'Reading',
  '3.4': 'Deleting',
  '3.5': 'Expanding',
  '3.6': 'Modifying',
  '3.7': 'Health',
  '3.8': 'Cloning',
  '3.9': 'Importing',
  '4.1': 'Attaching',
  '4.2': 'Exclusive use',
  '4.3': 'Detaching',
  '4.4': 'Nodes',
  '5.1': 'Creating and reading',
  '5.2': 'Deleting',
  '5.3': 'Restoring',
  '5.4': 'Groups',
  '5.5': 'Blocks',
  '6.1': 'Pages',
  '6.2': 'Pages during changes',
  '7.1': 'Capabilities',
  '7.2': 'Sizes',
  '7.3': 'Capacity',
  '8.1': 'Lost answers',
  '8.2': 'Network faults',
  '8.3': 'Restarts',
  '8.4': 'Any order of calls',
  '9.1': 'Volumes',
  '9.2': 'Copies',
  '9.3': 'Blocks',
} as const;

/** The id of a requirement: its section and its number there. */
export type RequirementId = `FL-${keyof typeof sections}-${number}`;

export function sectionOf(id: RequirementId): keyof typeof sections {
  return id.slice('FL-'.length, id.lastIndexOf('-')) as keyof typeof sections;
}

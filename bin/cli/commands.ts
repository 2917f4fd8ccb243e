import type { Command } from '../command-line/command.ts'

type Entry = { summary: string; load(): Promise<Command> }

/** Every command. A command's file, and all that it needs, is read when the command is called. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  serve: {
    summary: 'Run a node: edge, API and renderer, as PREPAINT_ROLES says',
    load: async () => (await import('./serve.ts')).serve,
  },
  demo: {
    summary: 'Run a node in front of a bundled shop and print commands to try',
    load: async () => (await import('./demo/demo.ts')).demo,
  },
  'account create': {
    summary: 'Create an account',
    load: async () => (await import('./account.ts')).accountCreate,
  },
  'account list': {
    summary: 'List all accounts',
    load: async () => (await import('./account.ts')).accountList,
  },
  'account set-plan': {
    summary: "Change an account's plan",
    load: async () => (await import('./account.ts')).accountSetPlan,
  },
  'account invite': {
    summary: 'Make a link by which somebody makes his account',
    load: async () => (await import('./account.ts')).accountInvite,
  },
  'account reset-link': {
    summary: 'Make a link by which the owner of an account sets a new password',
    load: async () => (await import('./account.ts')).accountResetLink,
  },
  'account set-role': {
    summary: 'Make an account an operator, or an owner like the others',
    load: async () => (await import('./account.ts')).accountSetRole,
  },
  'key create': {
    summary: 'Create an API key and print it, once',
    load: async () => (await import('./key.ts')).keyCreate,
  },
  'key list': {
    summary: "List an account's API keys",
    load: async () => (await import('./key.ts')).keyList,
  },
  'key revoke': {
    summary: 'Revoke an API key',
    load: async () => (await import('./key.ts')).keyRevoke,
  },
  'token create': {
    summary: 'Create a webhook token for a domain and print it, once',
    load: async () => (await import('./token.ts')).tokenCreate,
  },
  'token list': {
    summary: "List a domain's webhook tokens",
    load: async () => (await import('./token.ts')).tokenList,
  },
  'token revoke': {
    summary: 'Revoke a webhook token',
    load: async () => (await import('./token.ts')).tokenRevoke,
  },
  'domain add': {
    summary: 'Register a domain for an account',
    load: async () => (await import('./domain.ts')).domainAdd,
  },
  'domain list': {
    summary: 'List domains, of all accounts or of one',
    load: async () => (await import('./domain.ts')).domainList,
  },
  'domain show': {
    summary: 'Show one domain with its settings',
    load: async () => (await import('./domain.ts')).domainShow,
  },
  'domain set': {
    summary: "Change a domain's origin, settings, or whether it is active",
    load: async () => (await import('./domain.ts')).domainSet,
  },
  'domain remove': {
    summary: 'Remove a domain and everything that is stored for it',
    load: async () => (await import('./domain.ts')).domainRemove,
  },
  'certificate set': {
    summary: 'Serve a domain with a certificate of your own',
    load: async () => (await import('./certificate.ts')).certificateSet,
  },
  'certificate show': {
    summary: "Show a domain's certificate and how getting the next one goes",
    load: async () => (await import('./certificate.ts')).certificateShow,
  },
  'certificate remove': {
    summary: "Take a domain's certificate out of use",
    load: async () => (await import('./certificate.ts')).certificateRemove,
  },
  'certificate forget': {
    summary: 'Delete what is sealed with a master key that is lost',
    load: async () => (await import('./certificate.ts')).certificateForget,
  },
  'cache list': {
    summary: "List a domain's stored pages",
    load: async () => (await import('./cache.ts')).cacheList,
  },
  'cache purge': {
    summary: "Delete a domain's stored pages, or one of them",
    load: async () => (await import('./cache.ts')).cachePurge,
  },
  'cache refresh': {
    summary: 'Delete stored pages and render them again',
    load: async () => (await import('./cache.ts')).cacheRefresh,
  },
  'cache warm': {
    summary: "Render all of a domain's known paths, deleting none",
    load: async () => (await import('./cache.ts')).cacheWarm,
  },
  jobs: {
    summary: 'Show the render queue',
    load: async () => (await import('./fleet.ts')).jobs,
  },
  nodes: {
    summary: 'List the nodes that share the database, with their load and version',
    load: async () => (await import('./fleet.ts')).nodes,
  },
  render: {
    summary: 'Render one page to stdout, without a server or a database',
    load: async () => (await import('./render.ts')).render,
  },
  backup: {
    summary: 'Write all that is stored into one file, beside running nodes',
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: {
    summary: 'Fill an empty database from a file of "backup"',
    load: async () => (await import('./backup.ts')).restore,
  },
  migrate: {
    summary: 'Bring the database up to date',
    load: async () => (await import('./fleet.ts')).migrateCommand,
  },
  doctor: {
    summary: 'Say what is missing on this machine and how to get it',
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
}

import type { Command, Commands } from '../command-line/command.ts'

type Group = [load: () => Promise<{ commands: Commands }>, summaries: Record<string, string>]

const GROUPS: readonly Group[] = [
  [() => import('./serve.ts'), { serve: 'Run a node with the roles in PREPAINT_ROLES: edge, API, renderer' }],
  [() => import('./demo.ts'), { demo: 'Run a node in front of a bundled shop and print commands to try' }],
  [
    () => import('./account.ts'),
    {
      'account create': 'Create an account and its owner',
      'account list': 'List all accounts',
      'account rename': 'Rename an account',
      'account export': 'Print everything of an account but pages and secrets, a line of JSON each',
      'account delete': 'Delete an account and everything in it in 7 days, or cancel that',
      'account set-plan': "Change an account's plan",
      'account invite': 'Create a link with which the invited person creates an account',
      'account first-link': 'Create a new link for the first account, whose owner is an operator',
      'account reset-link': "Create a link that sets a new password for an account's owner",
      'account set-role': "Make an account's owner an operator, or end that",
    },
  ],
  [
    () => import('./members.ts'),
    {
      'member list': "List an account's members and their roles",
      'member invite': 'Create a link with which a person joins an account',
      'member set-role': 'Change the role of a member, or the domains that the member is limited to',
      'member remove': 'Remove a member from an account',
      'invitation list': "List an account's invitations",
      'invitation resend': 'Create a new link for an invitation',
      'invitation revoke': 'Revoke an invitation and its link',
    },
  ],
  [
    () => import('./share-links.ts'),
    {
      'share create': 'Make a link that shows some domains without a login, and print it once',
      'share list': "List an account's share links",
      'share revoke': 'Revoke a share link',
    },
  ],
  [() => import('./audit.ts'), { 'audit list': 'List who changed what in an account, newest first' }],
  [
    () => import('./persons.ts'),
    {
      'person list': 'List all persons who can sign in',
      'person set-operator': 'Make a person an operator, or end that',
      'person reset-link': 'Create a link that sets a new password for a person',
      'person set-email': 'Change the address of a person',
      'person reset-second-factor': 'Remove the second factors of a person who lost them',
      'person forget-sso': 'Let another login of the provider of single sign-on be this person',
      'session list': "List a person's open sessions",
      'session end': "End one or all of a person's sessions",
    },
  ],
  [
    () => import('./secrets.ts'),
    {
      'key create': 'Create an API key and print it once',
      'key list': "List an account's API keys",
      'key revoke': 'Revoke an API key',
      'token create': 'Create a webhook token for a domain and print it once',
      'token list': "List a domain's webhook tokens",
      'token revoke': 'Revoke a webhook token',
      'site-token create': "Create the token for a site's web server, CDN or middleware, and print it once",
      'site-token show': 'Show since when a domain has a site token, and when it was last used',
      'site-token revoke': "End a domain's site token and the one that it replaced",
    },
  ],
  [
    () => import('./domain.ts'),
    {
      'domain add': 'Register a domain for an account',
      'domain list': 'List the domains of all accounts or of one',
      'domain show': 'Show a domain with its settings',
      'domain set': "Change a domain's origin or settings, or whether it is active",
      'domain remove': 'Remove a domain and everything stored for it',
      'devices check': 'Compare pages as desktops and phones get them',
    },
  ],
  [
    () => import('./domain-proof.ts'),
    {
      'domain proof': 'Show whether an account has proven that a name is its own, and which others could',
      'domain prove': 'Vouch for the account of a domain: it counts as proven',
      'domain move': 'Give a name that its account has not proven to another account',
    },
  ],
  [
    () => import('./integration.ts'),
    {
      'integration show': 'Show by which way crawlers come to a domain, and whether its front is refused',
      'integration check': 'Ask a site for a page as a crawler, and say how the request arrives here',
    },
  ],
  [
    () => import('./site-files.ts'),
    {
      'redirect list': "List a domain's redirects and how often they were used",
      'redirect set': "Replace a domain's redirects by those of a file",
      'robots show': 'Show the robots.txt of a domain as it is served now',
      'robots set': "Replace a domain's robots.txt, or append to the origin's",
      'robots test': 'Say whether a crawler may request a path',
      'version list': 'List what was changed: robots.txt, redirects, crawler policy, rules',
      'version restore': 'Put a version back into force',
    },
  ],
  [
    () => import('./rules/rules.ts'),
    {
      'rules show': "Print a domain's rules as JSON",
      'rules set': "Replace a domain's rules with those of a file",
      'rules try': 'Render pages under the rules of a file, and say what changes, without saving them',
    },
  ],
  [
    () => import('./rules/origin-header.ts'),
    {
      'origin-header set': "Send a secret header to a domain's origin, so that it lets Prepaint in",
      'origin-header list': "List the headers for a domain's origin, without their values",
      'origin-header remove': "Stop sending a header to a domain's origin",
    },
  ],
  [
    () => import('./certificate.ts'),
    {
      'certificate set': 'Serve a domain with your own certificate',
      'certificate show': "Show a domain's certificate and the state of the next one",
      'certificate remove': "Stop using a domain's certificate",
      'certificate forget': 'Delete everything that is encrypted with a lost master key',
    },
  ],
  [
    () => import('./cache.ts'),
    {
      'cache list': "List a domain's stored pages",
      'cache purge': "Delete a domain's stored pages, or one of them",
      'cache refresh': 'Delete stored pages and render them again',
      'cache warm': "Render all of a domain's known paths without deleting any",
    },
  ],
  [
    () => import('./notifications/commands.ts'),
    {
      'endpoint add': 'Add an event endpoint for an account and print its secret once',
      'endpoint list': "List an account's event endpoints",
      'endpoint remove': 'Remove an event endpoint with its deliveries',
      'endpoint test': 'Send a test event to an endpoint',
      incidents: 'List incidents of all domains or of one',
    },
  ],
  [
    () => import('./fleet.ts'),
    {
      jobs: 'Show the render queue',
      nodes: 'List the nodes that share the database, with their load and version',
      migrate: 'Bring the database up to date',
    },
  ],
  [
    () => import('./bodies.ts'),
    {
      'bodies status': 'Show how many page bodies are in the object store and in PostgreSQL',
      'bodies move': 'Move page bodies to the object store, or back to PostgreSQL, while nodes run',
      'bodies sweep': 'Delete objects that no page has any more',
      'bodies check': 'Read random page bodies from the object store',
      'bodies adopt': 'Delete objects of a database that is gone as well, when their pages change',
    },
  ],
  [() => import('./render.ts'), { render: 'Render one page to stdout, without a server or a database' }],
  [
    () => import('./backup.ts'),
    {
      backup: 'Write everything that is stored into one file, while nodes run',
      restore: 'Fill an empty database from a file written by "backup"',
    },
  ],
  [() => import('./doctor.ts'), { doctor: 'Check this machine, and say what is missing and how to get it' }],
]

export const COMMANDS: Readonly<Record<string, { summary: string; load(): Promise<Command> }>> =
  Object.fromEntries(
    GROUPS.flatMap(([load, summaries]) =>
      Object.entries(summaries).map(([name, summary]) => [
        name,
        { summary, load: async () => (await load()).commands[name]! },
      ]),
    ),
  )

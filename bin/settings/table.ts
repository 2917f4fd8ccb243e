/** All settings of the environment. Reading them, their problems and the tables of docs/configuration.md come from this table. */
import path from 'node:path'
import { PROOF_MODES } from '@prepaint/contract/api/proof.ts'
import { parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { parseSmtpUrl } from '@prepaint/service/mail/mail-settings.ts'
import { z } from 'zod'
import type { Config } from './config.ts'
import {
  addressRanges,
  allowedRanges,
  bodies,
  contact,
  edgeTarget,
  egressAddresses,
  flag,
  integer,
  issuer,
  listOf,
  nameServers,
  oneOf,
  parsed,
  port,
  processes,
  url,
} from './schemas.ts'

const NODE_ROLES = ['edge', 'api', 'render'] as const
export type NodeRole = (typeof NODE_ROLES)[number]

/** What a setting needs for having an effect. Settings that require each other stop the start instead: `config.ts`. */
type Requirement = {
  /** Only nodes with one of these roles warn: a fleet may share one environment. */
  roles: readonly NodeRole[]
  /** Why the setting is ignored if the requirement is not met. */
  why: string
  isMet(config: Omit<Config, 'ignored'>): boolean
}

export type Setting = {
  /** The heading in docs/configuration.md. */
  section: string
  /** A message continues a sentence that begins with the name of the setting. */
  schema: z.ZodType<unknown, string>
  /** As it would be given in the environment, or null if it is not set then. */
  default: string | null
  /** What the document shows if the default depends on the machine or the installation. */
  defaultShown?: string
  unit?: 'bytes' | 'hours' | 'seconds' | 'ms'
  /** What the document says, in Markdown. */
  meaning: string
  /** An empty value switches the feature off. For other settings, it counts as not set. */
  isOffIfEmpty?: true
  requires?: Requirement
}

const VERIFICATION: Requirement = {
  roles: ['edge', 'api'],
  why: 'crawlers are verified only with PREPAINT_VERIFY_CRAWLERS=1',
  isMet: ({ crawlers }) => crawlers.verify,
}

const ORDERS: Requirement = {
  roles: ['edge'],
  why: 'certificates are ordered only with PREPAINT_ACME_DIRECTORY',
  isMet: ({ acme }) => acme.directory !== null,
}

const STORED_BODIES: Requirement = {
  roles: ['edge'],
  why: 'bodies are kept on disk only with PREPAINT_BODIES',
  isMet: ({ bodies, edge }) => bodies !== null || edge.diskBytes === 0,
}

const LOG_OF_REQUESTS: Requirement = {
  roles: ['edge', 'api'],
  why: 'live requests are logged only with PREPAINT_LOG_LEVEL=info, debug or trace',
  isMet: ({ accessLog, logLevel }) => accessLog === 'none' || ['info', 'debug', 'trace'].includes(logLevel),
}

/** The operator's own proxies and NAT: everyone behind them would share a limit. */
const OWN_NETWORKS =
  '127.0.0.0/8, ::1, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16, 100.64.0.0/10, fc00::/7, fe80::/10'

/** All settings, in the order of the document. */
export const SETTINGS = {
  PREPAINT_ROLES: {
    section: 'Node',
    schema: listOf(NODE_ROLES),
    default: 'edge,api,render',
    meaning: 'What this node does: serve live traffic, serve the API and dashboard, render pages',
  },
  PREPAINT_DATA_DIR: {
    section: 'Node',
    schema: z.string(),
    default: null,
    defaultShown: '`.prepaint`',
    meaning:
      'Directory of the private PostgreSQL, the unpacked Chromium and the master key. The default is for a checkout. Of the installed package it is `/var/lib/prepaint` for root and `~/.local/share/prepaint` for others',
  },
  XDG_DATA_HOME: {
    section: 'Node',
    schema: z.string(),
    default: null,
    meaning: 'Replaces `~/.local/share` in that path',
  },
  DATABASE_URL: {
    section: 'Node',
    schema: url(['postgres:', 'postgresql:']),
    default: null,
    meaning:
      'PostgreSQL 15 or newer that all nodes share. Not set: a private PostgreSQL in the data directory',
  },
  PREPAINT_BODIES: {
    section: 'Node',
    schema: bodies(),
    default: null,
    meaning:
      'Object store for the bodies of pages, the same on all nodes: `s3+https://KEY:SECRET@HOST[:PORT]/BUCKET[/PREFIX]?region=REGION[&style=virtual]`, key and secret percent-encoded, region by default `us-east-1`; `s3+http` for loopback and private addresses only ([operations](operations.md#bodies-in-an-object-store)). Not set: in PostgreSQL',
  },
  PREPAINT_PLANS_FILE: {
    section: 'Node',
    schema: z.string(),
    default: null,
    meaning:
      'Plan catalogue, JSON: `{"<plan>": {"site_limit", "monthly_render_limit", "api_keys", "webhooks"}}`. Not set: `starter`, `pro`, `agency` (API keys), `agency_plus` (API keys and webhooks), `enterprise`; limits in [decided.md](decided.md)',
  },
  PREPAINT_ALLOW_PRIVATE_ORIGINS: {
    section: 'Node',
    schema: allowedRanges(),
    default: null,
    meaning:
      'For development: private addresses that may be origins, as a list such as `127.0.0.1:19000, 10.0.0.0/8`',
  },
  PREPAINT_API_HOST: {
    section: 'API and dashboard',
    schema: z.string(),
    default: '127.0.0.1',
    meaning: 'Address to listen on',
  },
  PREPAINT_API_PORT: {
    section: 'API and dashboard',
    schema: port(),
    default: '3000',
    meaning: 'Port; 0 uses any free port',
  },
  PREPAINT_PUBLIC_URL: {
    section: 'API and dashboard',
    schema: url(['http:', 'https:'])
      .refine((raw) => !/[?#]/.test(raw), 'must not have a query or a fragment')
      .transform((raw) => raw.replace(/\/+$/, '')),
    default: null,
    meaning:
      'Base URL shown to users; renders name `<this URL>/bot` in their user agent. Not set: the address of the API, and renders name no URL',
  },
  PREPAINT_EDGE_TARGET: {
    section: 'API and dashboard',
    schema: edgeTarget(),
    default: null,
    meaning:
      'Where the DNS of domains must point: a host name (for CNAME or ALIAS records), or a list of addresses (for A and AAAA). Not set: the dashboard shows its own host name',
  },
  PREPAINT_EGRESS_ADDRESSES: {
    section: 'API and dashboard',
    schema: egressAddresses(),
    default: null,
    meaning:
      'Addresses or CIDR ranges, separated by commas, from which your nodes reach origins. Owners see them, to let Prepaint through their firewalls',
  },
  PREPAINT_CONTACT: {
    section: 'API and dashboard',
    schema: contact(),
    default: null,
    meaning: 'E-mail address or URL shown at `/bot`, for owners of sites who see renders in their logs',
  },
  PREPAINT_DOMAIN_PROOF: {
    section: 'API and dashboard',
    schema: oneOf(PROOF_MODES),
    default: 'takeover',
    meaning:
      "Of which domains a [proof](domain-proof.md) is asked that the name is the account's own, the same on all nodes. `off`: of none; `takeover`: of those that another account had before and whose name leads here; `required`: of all",
  },
  PREPAINT_DNS_SERVERS: {
    section: 'API and dashboard',
    schema: nameServers(),
    default: null,
    defaultShown: "the system's",
    meaning:
      'Name servers that are asked where the names of domains lead, and for their proofs: a list such as `192.0.2.53:53, [2001:db8::53]:53`',
  },
  PREPAINT_CONFIRM_SECONDS: {
    section: 'Sign-in',
    schema: integer(5, 86_400),
    default: '900',
    unit: 'seconds',
    meaning:
      'How long after a sign-in, or after proving again who it is, a person may do what is dangerous, such as deleting a domain ([operations](operations.md#signing-in))',
  },
  PREPAINT_OIDC_ISSUER: {
    section: 'Sign-in',
    schema: issuer(),
    default: null,
    meaning:
      'Issuer of your provider of single sign-on (OpenID Connect), https, or http on loopback ([single sign-on](single-sign-on.md)). Needs `PREPAINT_OIDC_CLIENT_ID`, `PREPAINT_OIDC_CLIENT_SECRET` and `PREPAINT_PUBLIC_URL`. Not set: people sign in by password or passkey',
  },
  PREPAINT_OIDC_CLIENT_ID: {
    section: 'Sign-in',
    schema: z.string(),
    default: null,
    meaning: 'Name under which the provider knows this installation',
  },
  PREPAINT_OIDC_CLIENT_SECRET: {
    section: 'Sign-in',
    schema: z.string(),
    default: null,
    meaning: 'The secret that the provider gave it',
  },
  PREPAINT_OIDC_NAME: {
    section: 'Sign-in',
    schema: z.string().regex(/^(?! )[^\p{Cc}\p{Cf}]{1,40}$/u, 'must be 1 to 40 printable characters'),
    default: 'single sign-on',
    meaning: 'What the dashboard calls the provider: "Sign in with ..."',
  },
  PREPAINT_OIDC_OPERATOR_GROUP: {
    section: 'Sign-in',
    schema: z.string(),
    default: null,
    meaning:
      'Who has this group in the claim `groups` of the ID token is an operator; each sign-in by the provider sets or ends that. Not set: these sign-ins change no operator',
  },
  PREPAINT_OIDC_ONLY: {
    section: 'Sign-in',
    schema: flag(),
    default: '0',
    meaning:
      '`1`: people sign in by the provider only; passwords and passkeys are closed ([single sign-on](single-sign-on.md#single-sign-on-only))',
  },
  PREPAINT_EDGE_HOST: {
    section: 'Edge',
    schema: z.string(),
    default: '127.0.0.1',
    meaning: 'Address to listen on',
  },
  PREPAINT_EDGE_PORT: {
    section: 'Edge',
    schema: port(),
    default: '8080',
    meaning: 'Port for HTTP; 0 uses any free port',
  },
  PREPAINT_EDGE_TLS_PORT: {
    section: 'Edge',
    schema: port(),
    default: '8443',
    meaning:
      'Port for HTTPS ([TLS](tls.md)). If it is not set and the default is in use, the node runs without TLS',
  },
  PREPAINT_EDGE_SHARE_PORT: {
    section: 'Edge',
    schema: flag(),
    default: '0',
    meaning: '`1`: several nodes of a machine listen on the same edge ports ([operations](operations.md))',
  },
  PREPAINT_EDGE_PROCESSES: {
    section: 'Edge',
    schema: processes(),
    default: '1',
    meaning:
      'Processes that take live traffic, one for each core that they may use ([operations](operations.md#all-cores-of-one-machine)). `auto`: the cores that are left beside the render slots, at least 1',
  },
  PREPAINT_EDGE_MEMORY_BYTES: {
    section: 'Edge',
    schema: integer(0, 2 ** 40),
    default: '268435456',
    unit: 'bytes',
    meaning:
      'Memory for cached pages, shared out among the processes of the edge. The least recently used pages are dropped first',
  },
  PREPAINT_EDGE_DISK_BYTES: {
    section: 'Edge',
    schema: integer(0, 2 ** 50),
    default: '0',
    unit: 'bytes',
    requires: STORED_BODIES,
    meaning:
      'Disk for bodies of pages in the data directory, in front of the object store of `PREPAINT_BODIES` ([operations](operations.md#bodies-in-an-object-store)). `0`: none',
  },
  PREPAINT_SNAPSHOT_HOURS: {
    section: 'Edge',
    schema: integer(0, 720),
    default: '24',
    unit: 'hours',
    meaning:
      'A node keeps all domains in its data directory, and starts from them while PostgreSQL is away if they are not older ([operations](operations.md#while-postgresql-is-away)). `0`: none are kept',
  },
  PREPAINT_LIVE_WAIT_MS: {
    section: 'Edge',
    schema: integer(0, 300_000),
    default: '10000',
    unit: 'ms',
    meaning: 'How long a crawler waits for a page that is not stored; then the request passes to the origin',
  },
  PREPAINT_VERIFY_CRAWLERS: {
    section: 'Edge',
    schema: flag(),
    default: '0',
    meaning:
      '`1`: verify that crawlers are what their user agent says ([edge](edge.md)). Forged ones cause no render',
  },
  PREPAINT_CRAWLER_RANGES_DIR: {
    section: 'Edge',
    schema: z.string().transform((dir) => path.resolve(dir)),
    default: null,
    requires: VERIFICATION,
    meaning:
      'Directory with published address ranges of crawlers. Used only with `PREPAINT_VERIFY_CRAWLERS=1`',
  },
  PREPAINT_TRUSTED_PROXIES: {
    section: 'Clients and proxies',
    schema: addressRanges(),
    default: 'none',
    meaning:
      'List of addresses or CIDR of your proxies, such as a TLS terminator. Their `X-Forwarded-For` and `X-Forwarded-Proto` are believed',
  },
  PREPAINT_CONNECTIONS: {
    section: 'Clients and proxies',
    schema: integer(1, 1_000_000),
    default: '10000',
    meaning: 'Open connections of all clients together. More are closed',
  },
  PREPAINT_CLIENT_CONNECTIONS: {
    section: 'Clients and proxies',
    schema: integer(1, 1_000_000),
    default: '1024',
    meaning: 'Open connections per client IP. Requests on more connections get 429',
  },
  PREPAINT_CLIENT_REQUESTS: {
    section: 'Clients and proxies',
    schema: integer(1, 1_000_000),
    default: '256',
    meaning: 'Concurrent requests per client IP. More get 429',
  },
  PREPAINT_CLIENT_FAILURES: {
    section: 'Clients and proxies',
    schema: integer(1, 1_000_000),
    default: '100',
    meaning:
      'Invalid keys and tokens per client IP in ten minutes. More get 429, except keys that were valid before',
  },
  PREPAINT_UNLIMITED_CLIENTS: {
    section: 'Clients and proxies',
    schema: addressRanges(),
    default: OWN_NETWORKS,
    meaning:
      'List of addresses or CIDR without these limits and without [budgets](operations.md#budgets-of-one-client), or `none`. Clients behind a trusted proxy are limited by their own address',
  },
  PREPAINT_CHROMIUM: {
    section: 'Rendering',
    schema: z.string(),
    default: null,
    meaning:
      'Path of a Chromium. Not set: `chromium-headless-shell`, `chromium` or `google-chrome` of the system, else the packaged one',
  },
  PREPAINT_RENDER_SLOTS: {
    section: 'Rendering',
    schema: integer(1, 256),
    default: null,
    defaultShown: 'automatic',
    meaning:
      'Pages rendered at once: 1.5 for each core, if memory allows (768 MiB, and 384 MiB for each slot). Limits of a container count',
  },
  PREPAINT_RENDER_TIMEOUT_MS: {
    section: 'Rendering',
    schema: integer(100, 300_000),
    default: '20000',
    unit: 'ms',
    meaning: 'Time limit for one render',
  },
  PREPAINT_REQUIRE_SANDBOX: {
    section: 'Rendering',
    schema: flag(),
    default: '0',
    meaning: "`1`: refuse to start when Chromium's sandbox does not work ([operations](operations.md))",
  },
  PREPAINT_INDEXNOW_URL: {
    section: 'Rendering',
    schema: url(['http:', 'https:']),
    default: 'https://api.indexnow.org/indexnow',
    isOffIfEmpty: true,
    meaning:
      'Where changed pages are told for domains with `indexnow` on ([site files](site-files.md)). Empty: nowhere',
  },
  PREPAINT_PRELOAD: {
    section: 'Rendering',
    schema: flag(),
    default: '1',
    meaning: '`0`: do not request ahead what pages have always requested ([rendering](rendering.md))',
  },
  PREPAINT_SECRET_KEY: {
    section: 'Certificates',
    schema: parsed(
      parseMasterKeys,
      () => 'must be 32 bytes in base64 (openssl rand -base64 32), several separated by commas',
    ),
    default: null,
    meaning:
      'Master key that encrypts stored private keys: 32 bytes in base64 (`openssl rand -base64 32`), the same on all nodes that share a database. To replace it, two keys with a comma: [TLS](tls.md#the-master-key) has the steps. Not set: a file in the data directory',
  },
  PREPAINT_ACME_DIRECTORY: {
    section: 'Certificates',
    schema: url(['https:']),
    default: null,
    meaning:
      'CA that issues certificates for all domains that point here, such as `https://acme-v02.api.letsencrypt.org/directory`',
  },
  PREPAINT_ACME_EMAIL: {
    section: 'Certificates',
    schema: z.string().regex(/^[^\s@<>",]{1,64}@[^\s@<>",]{1,255}$/, {
      error: ({ input }) => `must be an e-mail address, got "${input}"`,
    }),
    default: null,
    requires: ORDERS,
    meaning: 'Address at which the CA can contact you',
  },
  PREPAINT_ACME_SELF_CHECK: {
    section: 'Certificates',
    schema: flag(),
    default: '1',
    requires: ORDERS,
    meaning: '`0`: order without checking first whether the name points here',
  },
  PREPAINT_ACME_ORDERS_PER_HOUR: {
    section: 'Certificates',
    schema: integer(1, 100_000),
    default: '100',
    requires: ORDERS,
    meaning: 'Orders of all nodes together. More wait',
  },
  PREPAINT_SMTP_URL: {
    section: 'Mail',
    schema: parsed(
      parseSmtpUrl,
      () => 'must be smtp:// or smtps:// with a host, and with user and password or neither',
    ),
    default: null,
    meaning:
      'Your SMTP server, for [notifications](notifications.md), invitations and password resets: `smtp://user:password@host:587` (STARTTLS) or `smtps://` (TLS). Mail is sent unencrypted only to this machine. Needs `PREPAINT_MAIL_FROM` and `PREPAINT_PUBLIC_URL`',
  },
  PREPAINT_MAIL_FROM: {
    section: 'Mail',
    schema: z.string(),
    default: null,
    meaning: 'Sender: an address, or `Name <address>`',
  },
  PREPAINT_NOTIFY_SPEED: {
    section: 'Mail',
    schema: integer(1, 10_000),
    default: '1',
    meaning:
      'To try [notifications](notifications.md) out: divides the times of incidents, retries and reminders, of [proofs](domain-proof.md), and the days until an account is deleted, up to 10000. Above 1 the node warns at startup',
  },
  PREPAINT_LOG_LEVEL: {
    section: 'Logs and metrics',
    schema: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    default: 'info',
    meaning: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
  },
  PREPAINT_ACCESS_LOG: {
    section: 'Logs and metrics',
    schema: oneOf(['renders', 'all', 'none']),
    default: 'renders',
    requires: LOG_OF_REQUESTS,
    meaning:
      'Live requests that are logged, at level `info`: `renders` (a render was made or would have been), `all` or `none`',
  },
  PREPAINT_AUDIT_DAYS: {
    section: 'Logs and metrics',
    schema: integer(30, 3_650),
    default: '400',
    meaning:
      'For how many days entries of the audit log are kept. The database refuses to delete younger ones ([operations](operations.md#audit-log))',
  },
  PREPAINT_AUDIT_LOG: {
    section: 'Logs and metrics',
    schema: flag(),
    default: '0',
    meaning:
      '`1`: also print each entry of the audit log on stderr, as a line of JSON with `"event":"audit"`, for a log store that nobody here can change',
  },
  PREPAINT_SCALE_TARGET_SECONDS: {
    section: 'Logs and metrics',
    schema: integer(10, 86_400),
    default: '600',
    unit: 'seconds',
    meaning:
      'In how long the background work that waits should be done: `prepaint_render_slots_wanted` tells autoscalers how many slots that takes ([operations](operations.md#kubernetes))',
  },
  PREPAINT_METRICS_TOKEN: {
    section: 'Logs and metrics',
    schema: z
      .string()
      .regex(
        /^[\x21-\x2b\x2d-\x7e]{16,200}$/,
        'must be 16 to 200 printable characters without spaces and commas',
      ),
    default: null,
    meaning:
      'Bearer token for `GET /metrics`, 16 to 200 characters. Not set: only this machine may read metrics',
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof SETTINGS

/** It is null if the setting is not set and has no default, or if an empty value switches it off. */
type ValueOf<Entry extends Setting> =
  | z.output<Entry['schema']>
  | (Entry['default'] extends null ? null : never)
  | (Entry extends { isOffIfEmpty: true } ? null : never)

export type SettingValues = { readonly [Name in SettingName]: ValueOf<(typeof SETTINGS)[Name]> }

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism, totalmem } from 'node:os'
import path from 'node:path'
import { DEFAULT_PLANS, type PlanCatalogue, readPlans } from './accounts/plans.ts'
import type { AllowedRange } from './address-range.ts'
import { type MasterKeys, parseMasterKeys } from './certificates/vault/master-key.ts'
import type { AddressRanges } from './http/client-address.ts'
import type { ClientLimits } from './http/client-limits.ts'
import { type UnusedSetting, unusedSettings } from './ignored-settings.ts'
import { type MailSettings, parseMailFrom, parseSmtpUrl } from './mail/mail-settings.ts'
import { createSettings, type Environment } from './settings.ts'

export type Role = 'edge' | 'api' | 'render'

/**
 * The only file that reads the environment. It runs once, in bin/, before
 * anything else starts; the rest of the program is handed the result.
 * A value that is present but malformed stops the start: a typo must not
 * silently become a default.
 */
export type Config = {
  version: string
  /** null: we start a private PostgreSQL under the data directory. */
  databaseUrl: string | null
  /** Absolute. */
  dataDir: string
  roles: ReadonlySet<Role>
  api: { host: string; port: number }
  edge: {
    host: string
    port: number
    tlsPort: number
    /** The port for TLS was asked for: a node that cannot have it does not start. */
    tlsPortGiven: boolean
    /** Other nodes of this machine may listen on the same two ports. */
    sharePort: boolean
    memoryBytes: number
    liveWaitMs: number
  }
  /** What seals keys in the database; null: a file in the data directory does. */
  secretKeys: MasterKeys | null
  acme: {
    /** null: no certificates are ordered. */
    directory: string | null
    email: string | null
    /** Whether it is looked first if a name leads to us. */
    selfCheck: boolean
    /** Of all nodes together. */
    ordersPerHour: number
  }
  crawlers: {
    /** What crawlers say they are is verified. */
    verify: boolean
    /** Of files with published ranges, absolute; null: none. */
    rangesDir: string | null
  }
  /** Base address shown to users, without a trailing slash; null: the API's own address. */
  publicUrl: string | null
  /** The operator's SMTP server; null: no mail is sent. */
  mail: MailSettings | null
  /** Where the DNS of domains is to lead: a host name, or addresses; null: nobody has said it. */
  edgeTarget: EdgeTarget | null
  /** Whom strangers may ask about renders: an e-mail address or a URL, shown at `/bot`; null: nobody is named. */
  contact: string | null
  plans: PlanCatalogue
  allowedPrivateOrigins: readonly AllowedRange[]
  /** Whose `X-Forwarded-For` and `-Proto` are believed. */
  trustedProxies: AddressRanges
  /** Of edge and API, each by itself. */
  clients: ClientLimits & {
    /** Keys and tokens that one may try in ten minutes although they are none. */
    failures: number
  }
  render: { chromium: string | null; slots: number; timeoutMs: number; requireSandbox: boolean }
  /** Origins are asked ahead for what pages have always asked for: see `src/gateway/preload/preloads.ts`. */
  preload: boolean
  /** What `GET /metrics` asks for; null: only this machine is answered. */
  metricsToken: string | null
  /** Which live requests have a line in the log. */
  accessLog: 'renders' | 'all' | 'none'
  logLevel: string
  /** Started by an npm script or by npx: when that dies without telling us, we end too. */
  underNpm: boolean
  /** What was given and has no effect here. */
  unused: readonly UnusedSetting[]
}

export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Proxies and address translation of the operator's own network: one limit would be shared by all who come through. */
const OWN_NETWORKS =
  '127.0.0.0/8, ::1, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16, 100.64.0.0/10, fc00::/7, fe80::/10'

export function loadConfig(env: Environment = process.env): Config {
  const settings = createSettings(env)
  const { problems, given, integer, port, oneOf, url, parsed, addressRanges } = settings

  const mail = (hasPublicUrl: boolean): MailSettings | null => {
    const raw = given('PREPAINT_SMTP_URL')
    const rawFrom = given('PREPAINT_MAIL_FROM')
    if (raw === null) {
      if (rawFrom !== null) problems.push('PREPAINT_MAIL_FROM needs PREPAINT_SMTP_URL')
      return null
    }
    const server = parseSmtpUrl(raw)
    // It may hold a password: it is not repeated.
    if (server === null)
      problems.push(
        'PREPAINT_SMTP_URL must be smtp:// or smtps:// with a host, and with user and password or neither',
      )
    const from = rawFrom === null ? null : parseMailFrom(rawFrom)
    if (from === null)
      problems.push('PREPAINT_SMTP_URL needs PREPAINT_MAIL_FROM, an address or "Name <address>"')
    // Links in mails must not lead where a request says.
    if (!hasPublicUrl) problems.push('PREPAINT_SMTP_URL needs PREPAINT_PUBLIC_URL')
    return server === null || from === null ? null : { ...server, from }
  }

  const roles = (): ReadonlySet<Role> => {
    const known: readonly Role[] = ['edge', 'api', 'render']
    const names = (given('PREPAINT_ROLES') ?? known.join(',')).split(',').map((name) => name.trim())
    const wrong = names.filter((name) => !(known as readonly string[]).includes(name))
    if (wrong.length > 0) problems.push(`PREPAINT_ROLES knows ${known.join(', ')}, got "${wrong.join(',')}"`)
    return new Set(names as Role[])
  }

  const plans = (): PlanCatalogue => {
    const file = given('PREPAINT_PLANS_FILE')
    if (file === null) return DEFAULT_PLANS
    try {
      return readPlans(file)
    } catch (error) {
      problems.push(`PREPAINT_PLANS_FILE: ${(error as Error).message}`)
      return DEFAULT_PLANS
    }
  }

  const trustedProxies = addressRanges('PREPAINT_TRUSTED_PROXIES', 'none')
  const rangesDir = given('PREPAINT_CRAWLER_RANGES_DIR')
  const requireSandbox = oneOf('PREPAINT_REQUIRE_SANDBOX', ['0', '1'], '0') === '1'

  const edgePort = port('PREPAINT_EDGE_PORT', 8080)
  const config: Omit<Config, 'unused'> = {
    version: packageVersion(),
    databaseUrl: url('DATABASE_URL', ['postgres:', 'postgresql:']),
    dataDir: path.resolve(given('PREPAINT_DATA_DIR') ?? '.prepaint'),
    roles: roles(),
    api: { host: given('PREPAINT_API_HOST') ?? '127.0.0.1', port: port('PREPAINT_API_PORT', 3000) },
    edge: {
      host: given('PREPAINT_EDGE_HOST') ?? '127.0.0.1',
      port: edgePort,
      // Who wants a free port for one wants no fixed one for the other.
      tlsPort: port('PREPAINT_EDGE_TLS_PORT', edgePort === 0 ? 0 : 8443),
      tlsPortGiven: given('PREPAINT_EDGE_TLS_PORT') !== null,
      sharePort: oneOf('PREPAINT_EDGE_SHARE_PORT', ['0', '1'], '0') === '1',
      memoryBytes: integer('PREPAINT_EDGE_MEMORY_BYTES', 256 * 1024 * 1024, { min: 0, max: 2 ** 40 }),
      liveWaitMs: integer('PREPAINT_LIVE_WAIT_MS', 10_000, { min: 0, max: 300_000 }),
    },
    secretKeys: parsed(
      'PREPAINT_SECRET_KEY',
      parseMasterKeys,
      () => 'PREPAINT_SECRET_KEY must be 32 bytes in base64 (openssl rand -base64 32), several with commas',
    ),
    acme: {
      directory: url('PREPAINT_ACME_DIRECTORY', ['https:']),
      email: parsed(
        'PREPAINT_ACME_EMAIL',
        (raw) => (/^[^\s@<>",]{1,64}@[^\s@<>",]{1,255}$/.test(raw) ? raw : null),
        (raw) => `PREPAINT_ACME_EMAIL must be an e-mail address, got "${raw}"`,
      ),
      selfCheck: oneOf('PREPAINT_ACME_SELF_CHECK', ['0', '1'], '1') === '1',
      ordersPerHour: integer('PREPAINT_ACME_ORDERS_PER_HOUR', 100, { min: 1, max: 100_000 }),
    },
    crawlers: {
      verify: oneOf('PREPAINT_VERIFY_CRAWLERS', ['0', '1'], '0') === '1',
      rangesDir: rangesDir === null ? null : path.resolve(rangesDir),
    },
    publicUrl: url('PREPAINT_PUBLIC_URL', ['http:', 'https:'])?.replace(/\/+$/, '') ?? null,
    mail: mail(given('PREPAINT_PUBLIC_URL') !== null),
    edgeTarget: parsed(
      'PREPAINT_EDGE_TARGET',
      parseEdgeTarget,
      (raw) => `PREPAINT_EDGE_TARGET takes a host name, or addresses with commas, got "${raw}"`,
    ),
    contact: parsed(
      'PREPAINT_CONTACT',
      (raw) => (isContact(raw) ? raw : null),
      (raw) => `PREPAINT_CONTACT must be an e-mail address or an http or https URL, got "${raw}"`,
    ),
    plans: plans(),
    allowedPrivateOrigins: settings.allowedRanges('PREPAINT_ALLOW_PRIVATE_ORIGINS'),
    trustedProxies,
    clients: {
      connections: integer('PREPAINT_CLIENT_CONNECTIONS', 1_024, { min: 1, max: 1_000_000 }),
      requests: integer('PREPAINT_CLIENT_REQUESTS', 256, { min: 1, max: 1_000_000 }),
      failures: integer('PREPAINT_CLIENT_FAILURES', 100, { min: 1, max: 1_000_000 }),
      connectionsInTotal: integer('PREPAINT_CONNECTIONS', 10_000, { min: 1, max: 1_000_000 }),
      unlimited: addressRanges('PREPAINT_UNLIMITED_CLIENTS', OWN_NETWORKS),
      trustedProxies,
    },
    render: {
      chromium: given('PREPAINT_CHROMIUM'),
      slots: integer('PREPAINT_RENDER_SLOTS', usualSlots(thisMachine()), { min: 1, max: 256 }),
      timeoutMs: integer('PREPAINT_RENDER_TIMEOUT_MS', 20_000, { min: 100, max: 300_000 }),
      requireSandbox,
    },
    preload: oneOf('PREPAINT_PRELOAD', ['0', '1'], '1') === '1',
    accessLog: oneOf('PREPAINT_ACCESS_LOG', ['renders', 'all', 'none'], 'renders'),
    metricsToken: parsed(
      'PREPAINT_METRICS_TOKEN',
      (raw) => (/^[\x21-\x2b\x2d-\x7e]{16,200}$/.test(raw) ? raw : null),
      () => 'PREPAINT_METRICS_TOKEN must be of 16 to 200 printable characters without spaces and commas',
    ),
    logLevel: oneOf(
      'PREPAINT_LOG_LEVEL',
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
    ),
    underNpm: ['start', 'demo', 'npx'].includes(env['npm_lifecycle_event'] ?? ''),
  }

  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  return Object.freeze({ ...config, unused: unusedSettings(config, (name) => given(name) !== null) })
}

function isContact(raw: string): boolean {
  return /^[^\s@<>"]{1,64}@[^\s@<>"]{1,255}$/.test(raw) || (URL.canParse(raw) && /^https?:\/\//i.test(raw))
}

function packageVersion(): string {
  const file = path.resolve(import.meta.dirname, '..', 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}

const MIB = 2 ** 20

/** Node, PostgreSQL and a browser without pages. */
export const BASE_BYTES = 768 * MIB
/** What one more page at once takes when pages are large: `browsers.ts` replaces a browser that takes more. */
export const SLOT_BYTES = 384 * MIB

/** What this process may use: of the machine, or of the container that it runs in. */
type Machine = { cores: number; memoryBytes: number }

/** Limits of the container included: Node asks the control group for both. */
export function thisMachine(): Machine {
  const limitBytes = process.constrainedMemory()
  const memoryBytes = limitBytes > 0 ? Math.min(totalmem(), limitBytes) : totalmem()
  return { cores: availableParallelism(), memoryBytes }
}

/**
 * Pages rendered at once where nobody says how many: three for two cores, as a
 * render computes for two thirds of its time and waits for its origin and us in
 * the rest (docs/decisions/0015-render-speed.md), and at least two; fewer where
 * that many large pages would not fit into memory; never none.
 */
export function usualSlots({ cores, memoryBytes }: Machine): number {
  const fitting = Math.floor((memoryBytes - BASE_BYTES) / SLOT_BYTES)
  return Math.max(1, Math.min(Math.ceil(cores * 1.5), fitting))
}

/** What owners set in the DNS: an alias for `host`, or records with `addresses`. One of the two is there. */
export type EdgeTarget = { host: string | null; addresses: string[] }

/** `edge.example.net`, or `203.0.113.5,2001:db8::5`; null: neither. */
export function parseEdgeTarget(raw: string): EdgeTarget | null {
  const parts = raw.split(',').map((part) => part.trim())
  if (parts.every((part) => isIP(part) !== 0)) return { host: null, addresses: parts }
  const isName =
    parts.length === 1 &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i.test(raw.trim())
  return isName ? { host: raw.trim().toLowerCase(), addresses: [] } : null
}

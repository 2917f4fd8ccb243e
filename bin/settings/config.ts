import { isIP } from 'node:net'
import { availableParallelism, homedir, totalmem } from 'node:os'
import path from 'node:path'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import { DEFAULT_PLANS, type PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { AllowedRange } from '@prepaint/outbound/address-range'
import type { AddressRanges } from '@prepaint/runtime/http/client-address.ts'
import type { ClientLimits } from '@prepaint/runtime/http/client-limits.ts'
import { ownUid } from '@prepaint/runtime/system-user.ts'
import { type MasterKeys, parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { type MailSettings, parseMailFrom, parseSmtpUrl } from '@prepaint/service/mail/mail-settings.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type IgnoredSetting, ignoredSettings } from './ignored-settings.ts'
import { readPlans } from './plans.ts'
import { type Environment, SettingsReader } from './settings.ts'

export type NodeRole = 'edge' | 'api' | 'render'

/** All settings (docs/configuration.md). Only this file reads the environment. A malformed value stops the start. */
export type Config = {
  version: string
  /** Null: a private PostgreSQL in the data directory. */
  databaseUrl: string | null
  dataDir: string
  roles: ReadonlySet<NodeRole>
  api: { host: string; port: number }
  edge: {
    host: string
    port: number
    tlsPort: number
    /** If set, a node that cannot open the TLS port does not start. */
    tlsPortGiven: boolean
    /** Other nodes on this machine may use the same ports. */
    sharePort: boolean
    memoryBytes: number
    liveWaitMs: number
  }
  /** Null: use the key file in the data directory. */
  secretKeys: MasterKeys | null
  acme: {
    /** Null: certificates are not ordered. */
    directory: string | null
    email: string | null
    selfCheck: boolean
    /** For the whole fleet. */
    ordersPerHour: number
  }
  crawlers: {
    verify: boolean
    /** Directory of published address ranges; null: none. */
    rangesDir: string | null
  }
  /** Base URL without a trailing slash; null: the address of the API. */
  publicUrl: string | null
  mail: MailSettings | null
  /** Divides the times of incidents, retries and reminders, to try them out. */
  notifySpeed: number
  edgeTarget: EdgeTarget | null
  /** From which all nodes reach origins, for owners' firewalls; empty: not told. */
  egressAddresses: readonly string[]
  /** E-mail address or URL, shown at `/bot`. */
  contact: string | null
  plans: PlanCatalogue
  allowedPrivateOrigins: readonly AllowedRange[]
  /** Trusted to set `X-Forwarded-For` and `-Proto`. */
  trustedProxies: AddressRanges
  clients: ClientLimits & {
    /** Invalid keys and tokens per client in ten minutes. */
    failures: number
  }
  render: { chromium: string | null; slots: number; timeoutMs: number; requireSandbox: boolean }
  preload: boolean
  /** Told of changed pages of domains that want it; null: off. */
  indexNowUrl: string | null
  /** Null: only this machine may read `GET /metrics`. */
  metricsToken: string | null
  accessLog: 'renders' | 'all' | 'none'
  logLevel: string
  /** Started by npm or npx: shut down when that process dies. */
  underNpm: boolean
  ignored: readonly IgnoredSetting[]
}

export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** The operator's own proxies and NAT: everyone behind them would share a limit. */
const OWN_NETWORKS =
  '127.0.0.0/8, ::1, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16, 100.64.0.0/10, fc00::/7, fe80::/10'

export function loadConfig(env: Environment = process.env): Config {
  const settings = new SettingsReader(env)
  const config = {
    ...readConfig(settings),
    underNpm: ['start', 'demo', 'npx'].includes(env['npm_lifecycle_event'] ?? ''),
  }
  if (settings.problems.length > 0) throw new ConfigError(settings.problems.join('; '))
  return Object.freeze({ ...config, ignored: ignoredSettings(config, (name) => settings.isGiven(name)) })
}

/** Defaults by setting; null: none, or it depends on the machine. */
export function settingDefaults(): ReadonlyMap<string, string | number | null> {
  const settings = new SettingsReader({})
  readConfig(settings)
  return settings.defaults
}

function readConfig(settings: SettingsReader): Omit<Config, 'underNpm' | 'ignored'> {
  const trustedProxies = settings.addressRanges('PREPAINT_TRUSTED_PROXIES', 'none')
  const publicUrl = settings.url('PREPAINT_PUBLIC_URL', ['http:', 'https:'])
  if (publicUrl !== null && /[?#]/.test(publicUrl))
    settings.problems.push('PREPAINT_PUBLIC_URL must not have a query or a fragment')
  return {
    version: manifest.version,
    databaseUrl: settings.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    dataDir: readDataDir(settings),
    roles: readRoles(settings),
    api: {
      host: settings.text('PREPAINT_API_HOST', '127.0.0.1'),
      port: settings.port('PREPAINT_API_PORT', 3000),
    },
    edge: readEdge(settings),
    secretKeys: settings.parsed(
      'PREPAINT_SECRET_KEY',
      parseMasterKeys,
      () =>
        'PREPAINT_SECRET_KEY must be 32 bytes in base64 (openssl rand -base64 32), several separated by commas',
    ),
    acme: readAcme(settings),
    crawlers: readCrawlers(settings),
    publicUrl: publicUrl?.replace(/\/+$/, '') ?? null,
    mail: readMail(settings, publicUrl !== null),
    notifySpeed: settings.integer('PREPAINT_NOTIFY_SPEED', 1, { min: 1, max: 10_000 }),
    edgeTarget: settings.parsed(
      'PREPAINT_EDGE_TARGET',
      parseEdgeTarget,
      (raw) => `PREPAINT_EDGE_TARGET takes a host name, or addresses separated by commas, got "${raw}"`,
    ),
    egressAddresses:
      settings.parsed(
        'PREPAINT_EGRESS_ADDRESSES',
        parseEgressAddresses,
        (raw) => `PREPAINT_EGRESS_ADDRESSES takes addresses or CIDR ranges separated by commas, got "${raw}"`,
      ) ?? [],
    contact: settings.parsed(
      'PREPAINT_CONTACT',
      (raw) => (isContact(raw) ? raw : null),
      (raw) => `PREPAINT_CONTACT must be an e-mail address or an http or https URL, got "${raw}"`,
    ),
    plans: readPlanCatalogue(settings),
    allowedPrivateOrigins: settings.allowedRanges('PREPAINT_ALLOW_PRIVATE_ORIGINS'),
    trustedProxies,
    clients: readClients(settings, trustedProxies),
    render: {
      chromium: settings.given('PREPAINT_CHROMIUM'),
      slots: readSlots(settings),
      timeoutMs: settings.integer('PREPAINT_RENDER_TIMEOUT_MS', 20_000, { min: 100, max: 300_000 }),
      requireSandbox: settings.flag('PREPAINT_REQUIRE_SANDBOX', false),
    },
    preload: settings.flag('PREPAINT_PRELOAD', true),
    indexNowUrl: settings.urlOrOff('PREPAINT_INDEXNOW_URL', 'https://api.indexnow.org/indexnow', [
      'http:',
      'https:',
    ]),
    accessLog: settings.oneOf('PREPAINT_ACCESS_LOG', ['renders', 'all', 'none'], 'renders'),
    metricsToken: settings.parsed(
      'PREPAINT_METRICS_TOKEN',
      (raw) => (/^[\x21-\x2b\x2d-\x7e]{16,200}$/.test(raw) ? raw : null),
      () => 'PREPAINT_METRICS_TOKEN must be 16 to 200 printable characters without spaces and commas',
    ),
    logLevel: settings.oneOf(
      'PREPAINT_LOG_LEVEL',
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'info',
    ),
  }
}

/** The npm package is compiled; a checkout runs its source. */
const IS_INSTALLED = import.meta.filename.endsWith('.js')

/** `installed`: for tests. */
export function readDataDir(settings: SettingsReader, installed = IS_INSTALLED, uid = ownUid()): string {
  const dir = settings.given('PREPAINT_DATA_DIR', '.prepaint')
  const share = settings.given('XDG_DATA_HOME')
  if (dir !== null) return path.resolve(dir)
  if (!installed) return path.resolve('.prepaint')
  if (uid === 0) return '/var/lib/prepaint'
  // The specification ignores relative ones.
  if (share !== null && path.isAbsolute(share)) return path.join(share, 'prepaint')
  return path.join(homedir(), '.local/share/prepaint')
}

function readRoles(settings: SettingsReader): ReadonlySet<NodeRole> {
  const known: readonly NodeRole[] = ['edge', 'api', 'render']
  const names = settings
    .text('PREPAINT_ROLES', known.join(','))
    .split(',')
    .map((name) => name.trim())
  const wrong = names.filter((name) => !(known as readonly string[]).includes(name))
  if (wrong.length > 0)
    settings.problems.push(`PREPAINT_ROLES knows ${known.join(', ')}, got "${wrong.join(',')}"`)
  return new Set(names as NodeRole[])
}

function readEdge(settings: SettingsReader): Config['edge'] {
  const port = settings.port('PREPAINT_EDGE_PORT', 8080)
  return {
    host: settings.text('PREPAINT_EDGE_HOST', '127.0.0.1'),
    port,
    // With any free port for HTTP, TLS gets any free port as well.
    tlsPort: settings.port('PREPAINT_EDGE_TLS_PORT', port === 0 ? 0 : 8443),
    tlsPortGiven: settings.isGiven('PREPAINT_EDGE_TLS_PORT'),
    sharePort: settings.flag('PREPAINT_EDGE_SHARE_PORT', false),
    memoryBytes: settings.integer('PREPAINT_EDGE_MEMORY_BYTES', 256 * MIB, { min: 0, max: 2 ** 40 }),
    liveWaitMs: settings.integer('PREPAINT_LIVE_WAIT_MS', 10_000, { min: 0, max: 300_000 }),
  }
}

function readAcme(settings: SettingsReader): Config['acme'] {
  return {
    directory: settings.url('PREPAINT_ACME_DIRECTORY', ['https:']),
    email: settings.parsed(
      'PREPAINT_ACME_EMAIL',
      (raw) => (/^[^\s@<>",]{1,64}@[^\s@<>",]{1,255}$/.test(raw) ? raw : null),
      (raw) => `PREPAINT_ACME_EMAIL must be an e-mail address, got "${raw}"`,
    ),
    selfCheck: settings.flag('PREPAINT_ACME_SELF_CHECK', true),
    ordersPerHour: settings.integer('PREPAINT_ACME_ORDERS_PER_HOUR', 100, { min: 1, max: 100_000 }),
  }
}

function readCrawlers(settings: SettingsReader): Config['crawlers'] {
  const dir = settings.given('PREPAINT_CRAWLER_RANGES_DIR')
  return {
    verify: settings.flag('PREPAINT_VERIFY_CRAWLERS', false),
    rangesDir: dir === null ? null : path.resolve(dir),
  }
}

function readClients(settings: SettingsReader, trustedProxies: AddressRanges): Config['clients'] {
  const count = (name: string, fallback: number) =>
    settings.integer(name, fallback, { min: 1, max: 1_000_000 })
  return {
    connections: count('PREPAINT_CLIENT_CONNECTIONS', 1_024),
    requests: count('PREPAINT_CLIENT_REQUESTS', 256),
    failures: count('PREPAINT_CLIENT_FAILURES', 100),
    connectionsInTotal: count('PREPAINT_CONNECTIONS', 10_000),
    unlimited: settings.addressRanges('PREPAINT_UNLIMITED_CLIENTS', OWN_NETWORKS),
    trustedProxies,
  }
}

function readMail(settings: SettingsReader, hasPublicUrl: boolean): MailSettings | null {
  const { problems } = settings
  const url = settings.given('PREPAINT_SMTP_URL')
  const rawFrom = settings.given('PREPAINT_MAIL_FROM')
  if (url === null) {
    if (rawFrom !== null) problems.push('PREPAINT_MAIL_FROM needs PREPAINT_SMTP_URL')
    return null
  }
  const server = parseSmtpUrl(url)
  if (server === null)
    problems.push(
      'PREPAINT_SMTP_URL must be smtp:// or smtps:// with a host, and with user and password or neither',
    )
  const from = rawFrom === null ? null : parseMailFrom(rawFrom)
  if (from === null)
    problems.push('PREPAINT_SMTP_URL needs PREPAINT_MAIL_FROM, an address or "Name <address>"')
  // Links in mails must not depend on a request.
  if (!hasPublicUrl) problems.push('PREPAINT_SMTP_URL needs PREPAINT_PUBLIC_URL')
  return server === null || from === null ? null : { ...server, from }
}

function readPlanCatalogue(settings: SettingsReader): PlanCatalogue {
  const file = settings.given('PREPAINT_PLANS_FILE')
  if (file === null) return DEFAULT_PLANS
  try {
    return readPlans(file)
  } catch (error) {
    settings.problems.push(`PREPAINT_PLANS_FILE: ${(error as Error).message}`)
    return DEFAULT_PLANS
  }
}

function readSlots(settings: SettingsReader): number {
  const name = 'PREPAINT_RENDER_SLOTS'
  const slots = settings.integer(name, defaultSlots(thisMachine()), { min: 1, max: 256 })
  settings.defaults.set(name, null)
  return slots
}

function isContact(raw: string): boolean {
  return /^[^\s@<>"]{1,64}@[^\s@<>"]{1,255}$/.test(raw) || (URL.canParse(raw) && /^https?:\/\//i.test(raw))
}

const MIB = 2 ** 20

/** For Node, PostgreSQL and a browser without pages. */
export const BASE_BYTES = 768 * MIB
/** For each slot with large pages; `browsers.ts` replaces a browser that uses more. */
export const SLOT_BYTES = 384 * MIB

type Machine = { cores: number; memoryBytes: number }

export function thisMachine(): Machine {
  const limitBytes = process.constrainedMemory()
  const memoryBytes = limitBytes > 0 ? Math.min(totalmem(), limitBytes) : totalmem()
  return { cores: availableParallelism(), memoryBytes }
}

/** Three slots for two cores (docs/decisions/0015-render-speed.md), limited by memory; at least one. */
export function defaultSlots({ cores, memoryBytes }: Machine): number {
  const fitting = Math.floor((memoryBytes - BASE_BYTES) / SLOT_BYTES)
  return Math.max(1, Math.min(Math.ceil(cores * 1.5), fitting))
}

function parseEgressAddresses(raw: string): string[] | null {
  const parts = raw.split(',').map((part) => part.trim())
  const isRange = (part: string) => {
    const [address = '', bits, ...more] = part.split('/')
    const most = isIP(address) === 6 ? 128 : 32
    const hasBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    return isIP(address) !== 0 && hasBits && more.length === 0
  }
  return parts.every(isRange) ? parts : null
}

/** `edge.example.net`, or `203.0.113.5,2001:db8::5`; null: neither. */
export function parseEdgeTarget(raw: string): EdgeTarget | null {
  const parts = raw.split(',').map((part) => part.trim())
  if (parts.every((part) => isIP(part) !== 0)) return { host: null, addresses: parts }
  const isName =
    parts.length === 1 &&
    /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i.test(raw.trim())
  return isName ? { host: raw.trim().toLowerCase(), addresses: [] } : null
}

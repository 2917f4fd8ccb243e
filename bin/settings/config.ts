import { availableParallelism, homedir, totalmem } from 'node:os'
import path from 'node:path'
import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import { DEFAULT_PLANS, type PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { AllowedRange } from '@prepaint/outbound/address-range'
import type { StoreAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import type { AddressRanges } from '@prepaint/runtime/http/client-address.ts'
import type { ClientLimits } from '@prepaint/runtime/http/client-limits.ts'
import { ownUid } from '@prepaint/runtime/system-user.ts'
import type { SsoSettings } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import type { MasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { type MailSettings, parseMailFrom } from '@prepaint/service/mail/mail-settings.ts'
import manifest from '../../package.json' with { type: 'json' }
import { type IgnoredSetting, ignoredSettings } from './ignored-settings.ts'
import { readPlans } from './plans.ts'
import { type Environment, isGiven, readSettings } from './settings.ts'
import type { NodeRole, SettingValues } from './table.ts'

/** What the settings mean (`table.ts`). Only this file reads the environment. A malformed value stops the start. */
export type Config = {
  version: string
  /** If it is null, there is a private PostgreSQL in the data directory. */
  databaseUrl: string | null
  /** If it is null, bodies of pages are in PostgreSQL. */
  bodies: StoreAddress | null
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
    /** Processes that serve, this one included. */
    processes: number
    /** All these processes share it. */
    memoryBytes: number
    /** For bodies of pages in front of the object store, all these processes together. */
    diskBytes: number
    /** A snapshot of domains may be this old at a start; 0: none is kept. */
    snapshotHours: number
    liveWaitMs: number
  }
  /** If it is null, the key file in the data directory is used. */
  secretKeys: MasterKeys | null
  acme: {
    /** If it is null, certificates are not ordered. */
    directory: string | null
    email: string | null
    selfCheck: boolean
    /** The limit of the whole fleet. */
    ordersPerHour: number
  }
  crawlers: {
    verify: boolean
    /** The directory of published address ranges, or null if there is none. */
    rangesDir: string | null
  }
  /** The base URL without a trailing slash. If it is null, it is the address of the API. */
  publicUrl: string | null
  mail: MailSettings | null
  /** Null: people sign in by password or passkey only. It is not null only with `publicUrl`. */
  sso: SsoSettings | null
  /** How long a sign-in or confirmation lasts for dangerous actions. */
  confirmSeconds: number
  /** Divides the times of incidents, retries and reminders, to try them out. */
  notifySpeed: number
  /** Of which domains a proof is asked. */
  domainProof: ProofMode
  /** Null: those of the system. */
  dnsServers: readonly string[] | null
  edgeTarget: EdgeTarget | null
  /** Nodes reach origins from these addresses, which owners enter in firewalls. If it is empty, they are not told. */
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
  /** It is told of changed pages of domains that want it. If it is null, none is. */
  indexNowUrl: string | null
  /** If it is null, only this machine may read `GET /metrics`. */
  metricsToken: string | null
  /** Background work that waits should be done in this time: for the number of slots that autoscalers are told. */
  scaleTargetSeconds: number
  accessLog: 'renders' | 'all' | 'none'
  auditDays: number
  auditLog: boolean
  logLevel: string
  /** Started by npm or npx: shut down when that process dies. */
  underNpm: boolean
  ignored: readonly IgnoredSetting[]
}

export class ConfigError extends Error {
  override name = 'ConfigError'
}

export function loadConfig(env: Environment = process.env): Config {
  const { values, problems } = readSettings(env)
  problems.push(...mailProblems(values, env))
  problems.push(...ssoProblems(values, env))
  const plans = readPlanCatalogue(values.PREPAINT_PLANS_FILE, problems)
  if (problems.length > 0) throw new ConfigError(problems.join('; '))
  // Without problems, no value is missing.
  const config = configOf(values as SettingValues, plans, env)
  return Object.freeze({ ...config, ignored: ignoredSettings(config, env) })
}

function configOf(values: SettingValues, plans: PlanCatalogue, env: Environment): Omit<Config, 'ignored'> {
  const tlsPortGiven = isGiven(env, 'PREPAINT_EDGE_TLS_PORT')
  // With any free port for HTTP, TLS gets any free port as well.
  const slots = values.PREPAINT_RENDER_SLOTS ?? defaultSlots(thisMachine())
  const isAnyPort = values.PREPAINT_EDGE_PORT === 0 && !tlsPortGiven
  return {
    version: manifest.version,
    databaseUrl: values.DATABASE_URL,
    bodies: values.PREPAINT_BODIES,
    dataDir: dataDirOf(values.PREPAINT_DATA_DIR, values.XDG_DATA_HOME),
    roles: values.PREPAINT_ROLES,
    api: { host: values.PREPAINT_API_HOST, port: values.PREPAINT_API_PORT },
    edge: {
      host: values.PREPAINT_EDGE_HOST,
      port: values.PREPAINT_EDGE_PORT,
      tlsPort: isAnyPort ? 0 : values.PREPAINT_EDGE_TLS_PORT,
      tlsPortGiven,
      sharePort: values.PREPAINT_EDGE_SHARE_PORT,
      processes: values.PREPAINT_EDGE_PROCESSES ?? coresBeside(values.PREPAINT_ROLES, slots),
      memoryBytes: values.PREPAINT_EDGE_MEMORY_BYTES,
      diskBytes: values.PREPAINT_EDGE_DISK_BYTES,
      snapshotHours: values.PREPAINT_SNAPSHOT_HOURS,
      liveWaitMs: values.PREPAINT_LIVE_WAIT_MS,
    },
    secretKeys: values.PREPAINT_SECRET_KEY,
    acme: {
      directory: values.PREPAINT_ACME_DIRECTORY,
      email: values.PREPAINT_ACME_EMAIL,
      selfCheck: values.PREPAINT_ACME_SELF_CHECK,
      ordersPerHour: values.PREPAINT_ACME_ORDERS_PER_HOUR,
    },
    crawlers: {
      verify: values.PREPAINT_VERIFY_CRAWLERS,
      rangesDir: values.PREPAINT_CRAWLER_RANGES_DIR,
    },
    publicUrl: values.PREPAINT_PUBLIC_URL,
    mail: mailOf(values),
    sso: ssoOf(values),
    confirmSeconds: values.PREPAINT_CONFIRM_SECONDS,
    notifySpeed: values.PREPAINT_NOTIFY_SPEED,
    domainProof: values.PREPAINT_DOMAIN_PROOF,
    dnsServers: values.PREPAINT_DNS_SERVERS,
    edgeTarget: values.PREPAINT_EDGE_TARGET,
    egressAddresses: values.PREPAINT_EGRESS_ADDRESSES ?? [],
    contact: values.PREPAINT_CONTACT,
    plans,
    allowedPrivateOrigins: values.PREPAINT_ALLOW_PRIVATE_ORIGINS ?? [],
    trustedProxies: values.PREPAINT_TRUSTED_PROXIES,
    clients: {
      connections: values.PREPAINT_CLIENT_CONNECTIONS,
      requests: values.PREPAINT_CLIENT_REQUESTS,
      failures: values.PREPAINT_CLIENT_FAILURES,
      connectionsInTotal: values.PREPAINT_CONNECTIONS,
      unlimited: values.PREPAINT_UNLIMITED_CLIENTS,
      trustedProxies: values.PREPAINT_TRUSTED_PROXIES,
    },
    render: {
      chromium: values.PREPAINT_CHROMIUM,
      slots,
      timeoutMs: values.PREPAINT_RENDER_TIMEOUT_MS,
      requireSandbox: values.PREPAINT_REQUIRE_SANDBOX,
    },
    preload: values.PREPAINT_PRELOAD,
    indexNowUrl: values.PREPAINT_INDEXNOW_URL,
    metricsToken: values.PREPAINT_METRICS_TOKEN,
    scaleTargetSeconds: values.PREPAINT_SCALE_TARGET_SECONDS,
    accessLog: values.PREPAINT_ACCESS_LOG,
    auditDays: values.PREPAINT_AUDIT_DAYS,
    auditLog: values.PREPAINT_AUDIT_LOG,
    logLevel: values.PREPAINT_LOG_LEVEL,
    underNpm: ['start', 'demo', 'npx'].includes(env['npm_lifecycle_event'] ?? ''),
  }
}

/** The npm package is compiled; a checkout runs its source. */
const IS_INSTALLED = import.meta.filename.endsWith('.js')

/** `given`: PREPAINT_DATA_DIR; `share`: XDG_DATA_HOME. The others are for tests. */
export function dataDirOf(
  given: string | null,
  share: string | null,
  installed = IS_INSTALLED,
  uid = ownUid(),
): string {
  if (given !== null) return path.resolve(given)
  if (!installed) return path.resolve('.prepaint')
  if (uid === 0) return '/var/lib/prepaint'
  // The specification ignores relative ones.
  if (share !== null && path.isAbsolute(share)) return path.join(share, 'prepaint')
  return path.join(homedir(), '.local/share/prepaint')
}

/** Settings that require each other. */
function mailProblems({ PREPAINT_MAIL_FROM: from }: Partial<SettingValues>, env: Environment): string[] {
  if (!isGiven(env, 'PREPAINT_SMTP_URL')) {
    return isGiven(env, 'PREPAINT_MAIL_FROM') ? ['PREPAINT_MAIL_FROM needs PREPAINT_SMTP_URL'] : []
  }
  const problems: string[] = []
  if (from == null || parseMailFrom(from) === null)
    problems.push('PREPAINT_SMTP_URL needs PREPAINT_MAIL_FROM, an address or "Name <address>"')
  // Links in mails must not depend on a request.
  if (!isGiven(env, 'PREPAINT_PUBLIC_URL')) problems.push('PREPAINT_SMTP_URL needs PREPAINT_PUBLIC_URL')
  return problems
}

function mailOf({
  PREPAINT_SMTP_URL: server,
  PREPAINT_MAIL_FROM: rawFrom,
}: SettingValues): MailSettings | null {
  const from = rawFrom === null ? null : parseMailFrom(rawFrom)
  return server === null || from === null ? null : { ...server, from }
}

const SSO_NEEDS = ['PREPAINT_OIDC_CLIENT_ID', 'PREPAINT_OIDC_CLIENT_SECRET', 'PREPAINT_PUBLIC_URL'] as const
const SSO_OTHERS = [
  'PREPAINT_OIDC_CLIENT_ID',
  'PREPAINT_OIDC_CLIENT_SECRET',
  'PREPAINT_OIDC_NAME',
  'PREPAINT_OIDC_OPERATOR_GROUP',
] as const

/** Half of single sign-on would be none, or with `ONLY` nobody could sign in. */
function ssoProblems({ PREPAINT_OIDC_ONLY: isOnly }: Partial<SettingValues>, env: Environment): string[] {
  if (isGiven(env, 'PREPAINT_OIDC_ISSUER')) {
    // The provider sends browsers back to it.
    const missing = SSO_NEEDS.filter((name) => !isGiven(env, name))
    return missing.map((name) => `PREPAINT_OIDC_ISSUER needs ${name}`)
  }
  const given: string[] = SSO_OTHERS.filter((name) => isGiven(env, name))
  if (isOnly === true) given.push('PREPAINT_OIDC_ONLY=1')
  return given.map((name) => `${name} needs PREPAINT_OIDC_ISSUER`)
}

function ssoOf(values: SettingValues): SsoSettings | null {
  const {
    PREPAINT_OIDC_ISSUER: issuer,
    PREPAINT_OIDC_CLIENT_ID: clientId,
    PREPAINT_OIDC_CLIENT_SECRET: clientSecret,
  } = values
  if (issuer === null || clientId === null || clientSecret === null) return null
  return {
    issuer,
    clientId,
    clientSecret,
    name: values.PREPAINT_OIDC_NAME,
    operatorGroup: values.PREPAINT_OIDC_OPERATOR_GROUP,
    isOnly: values.PREPAINT_OIDC_ONLY,
  }
}

/** Adds what is wrong with the file to `problems`. */
function readPlanCatalogue(file: string | null | undefined, problems: string[]): PlanCatalogue {
  if (file == null) return DEFAULT_PLANS
  try {
    return readPlans(file)
  } catch (error) {
    problems.push(`PREPAINT_PLANS_FILE: ${(error as Error).message}`)
    return DEFAULT_PLANS
  }
}

/** The cores that are left beside the render slots, at least one. */
function coresBeside(roles: ReadonlySet<NodeRole>, slots: number): number {
  return Math.max(1, thisMachine().cores - (roles.has('render') ? slots : 0))
}

/** The settings of one process of the edge: its share of what the processes have together. */
export function shareOfProcess(config: Config): Config {
  const { processes, memoryBytes } = config.edge
  const { clients } = config
  return {
    ...config,
    edge: { ...config.edge, memoryBytes: Math.floor(memoryBytes / processes) },
    clients: { ...clients, connectionsInTotal: Math.ceil(clients.connectionsInTotal / processes) },
  }
}

const MIB = 2 ** 20

/** What Node, PostgreSQL and a browser without pages need. */
export const BASE_BYTES = 768 * MIB
/** What each slot needs with large pages; `browsers.ts` replaces a browser that uses more. */
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

import type { Config, Role } from './config.ts'
import type { Log } from './log.ts'

/** A setting that was given and has no effect at this node, and without what. */
export type UnusedSetting = { setting: string; why: string }

type Rule = {
  settings: readonly string[]
  /** Which of them make use of it: nodes of a fleet may share one environment, and the others are told nothing. */
  roles: readonly Role[]
  why: string
  isUsed(config: Omit<Config, 'unused'>): boolean
}

/** Only where it is sure. Settings that must stand together stop the start instead: `src/config.ts`. */
const RULES: readonly Rule[] = [
  {
    settings: ['PREPAINT_CRAWLER_RANGES_DIR'],
    roles: ['edge', 'api'],
    why: 'crawlers are verified only with PREPAINT_VERIFY_CRAWLERS=1',
    isUsed: ({ crawlers }) => crawlers.verify,
  },
  {
    settings: ['PREPAINT_ACME_EMAIL', 'PREPAINT_ACME_SELF_CHECK', 'PREPAINT_ACME_ORDERS_PER_HOUR'],
    roles: ['edge'],
    why: 'certificates are ordered only with PREPAINT_ACME_DIRECTORY',
    isUsed: ({ acme }) => acme.directory !== null,
  },
  {
    settings: ['PREPAINT_ACCESS_LOG'],
    roles: ['edge', 'api'],
    why: 'live requests are logged only with PREPAINT_LOG_LEVEL=info, debug or trace',
    isUsed: ({ accessLog, logLevel }) =>
      accessLog === 'none' || ['info', 'debug', 'trace'].includes(logLevel),
  },
]

/** In the order of the rules; `isGiven` says whether the environment has a value for a name. */
export function unusedSettings(
  config: Omit<Config, 'unused'>,
  isGiven: (name: string) => boolean,
): readonly UnusedSetting[] {
  return RULES.filter(({ roles, isUsed }) => roles.some((role) => config.roles.has(role)) && !isUsed(config))
    .flatMap(({ settings, why }) => settings.map((setting) => ({ setting, why })))
    .filter(({ setting }) => isGiven(setting))
}

/** A warning, for nodes that run: whoever verifies no more for a while may leave the directory named. */
export function warnOfUnused({ unused }: Pick<Config, 'unused'>, log: Log): void {
  for (const { setting, why } of unused) log.warn({ setting }, `${setting} is not used: ${why}`)
}

import type { Log } from '@prepaint/runtime/log.ts'
import type { Config, NodeRole } from './config.ts'

/** A setting without effect at this node, because another one is missing. */
export type IgnoredSetting = { setting: string; why: string }

type Rule = {
  settings: readonly string[]
  /** Only nodes with one of these roles warn: a fleet may share one environment. */
  roles: readonly NodeRole[]
  why: string
  isUsed(config: Omit<Config, 'ignored'>): boolean
}

/** Settings that require each other stop the start instead: `bin/settings/config.ts`. */
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

export function ignoredSettings(
  config: Omit<Config, 'ignored'>,
  isGiven: (name: string) => boolean,
): readonly IgnoredSetting[] {
  return RULES.filter(({ roles, isUsed }) => roles.some((role) => config.roles.has(role)) && !isUsed(config))
    .flatMap(({ settings, why }) => settings.map((setting) => ({ setting, why })))
    .filter(({ setting }) => isGiven(setting))
}

/** Only a warning: an operator may switch a feature off and keep its other settings. */
export function warnOfSettings(
  { ignored, notifySpeed }: Pick<Config, 'ignored' | 'notifySpeed'>,
  log: Log,
): void {
  if (notifySpeed > 1) {
    log.warn(
      { notifySpeed },
      `PREPAINT_NOTIFY_SPEED=${notifySpeed}: incidents, retries and reminders run ${notifySpeed} times as fast; do not use it in production`,
    )
  }
  for (const { setting, why } of ignored) log.warn({ setting }, `${setting} is ignored: ${why}`)
}

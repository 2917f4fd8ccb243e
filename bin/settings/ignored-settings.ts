import type { Log } from '@prepaint/runtime/log.ts'
import type { Config } from './config.ts'
import { type Environment, isGiven } from './settings.ts'
import { SETTINGS, type Setting, type SettingName } from './table.ts'

/** A setting without effect at this node, because another one is missing. */
export type IgnoredSetting = { setting: string; why: string }

export function ignoredSettings(
  config: Omit<Config, 'ignored'>,
  env: Environment,
): readonly IgnoredSetting[] {
  const ignored: IgnoredSetting[] = []
  for (const [name, { requires }] of Object.entries<Setting>(SETTINGS)) {
    if (requires === undefined || !isGiven(env, name as SettingName)) continue
    const concernsNode = requires.roles.some((role) => config.roles.has(role))
    if (concernsNode && !requires.isMet(config)) ignored.push({ setting: name, why: requires.why })
  }
  return ignored
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

import { SETTINGS, type Setting, type SettingName, type SettingValues } from './table.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Values of malformed settings are missing. A problem does not repeat possible secrets. */
type ReadSettings = { values: Partial<SettingValues>; problems: string[] }

/** Reads all settings and collects the problems of all of them. */
export function readSettings(env: Environment): ReadSettings {
  const values: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const raw = rawValue(name, setting, env)
    if (raw === null) {
      values[name] = null
      continue
    }
    const parsed = setting.schema.safeParse(raw)
    if (parsed.success) values[name] = parsed.data
    else problems.push(...parsed.error.issues.map(({ message }) => `${name} ${message}`))
  }
  return { values: values as Partial<SettingValues>, problems }
}

function rawValue(name: string, setting: Setting, env: Environment): string | null {
  if (env[name] === '' && setting.isOffIfEmpty) return null
  return env[name] || setting.default
}

export function isGiven(env: Environment, name: SettingName): boolean {
  return (env[name] ?? '') !== ''
}

import type { Config } from '../src/config.ts'

/** The address of the dashboard, for links that a person opens. */
export function apiUrl({ publicUrl, api }: Pick<Config, 'publicUrl' | 'api'>): string {
  const host = api.host.includes(':') ? `[${api.host}]` : api.host
  return publicUrl ?? `http://${host}:${api.port}`
}

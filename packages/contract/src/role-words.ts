import type { Role } from './roles.ts'

/**
 * What an invited person will be able to do, behind "You will be able to". `domains`: those that the invitation is limited to;
 * null: all of the account. Those that were deleted meanwhile are not among them.
 */
export function roleWords(role: Role, domains: readonly string[] | null): string {
  const sites = sitesWords(domains)
  switch (role) {
    case 'client':
      return `see the visits of crawlers, the cached pages, the incidents and the reports of ${sites}`
    case 'viewer':
      return `see ${sites} with all settings, but change nothing`
    case 'editor':
      return `see and change ${sites}: settings, rules and cached pages`
    case 'admin':
      return `see and change ${sites}, and manage members and API keys`
    case 'owner':
      return 'do everything in the account, also delete it'
  }
}

function sitesWords(domains: readonly string[] | null): string {
  if (domains === null) return 'all sites of the account'
  const [first, second] = domains
  if (first === undefined) return 'no site: those of the invitation were deleted'
  if (second === undefined) return first
  return domains.length === 2 ? `${first} and ${second}` : `${first} and ${domains.length - 1} more sites`
}

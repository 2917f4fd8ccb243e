import type { DomainWithSettings } from '../src/accounts/domains.ts'
import { fields } from './table.ts'

/** One domain with its settings, for a person. */
export function domainText(domain: DomainWithSettings): string {
  return fields([
    ['domain', domain.custom_domain],
    ['id', String(domain.id)],
    ['origin', domain.origin_url],
    ['active', domain.is_active ? 'yes' : 'no'],
    ['certificate', domain.ssl_enabled ? 'in use' : 'none'],
    ['renders', `${domain.renders_used} of ${domain.monthly_render_limit} this month`],
    ['created', domain.created_at],
    ['updated', domain.updated_at],
    ...Object.entries(domain.settings).map(([name, value]) => [name, JSON.stringify(value)] as const),
  ])
}

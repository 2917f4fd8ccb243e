import type { Incident } from '../../api/types.ts'

export const KIND_TITLES: Record<Incident['kind'], string> = {
  origin_unreachable: 'Origin unreachable',
  renders_failing: 'Renders failing',
  blocked: 'Blocked by a bot challenge',
  pages_shrinking: 'Pages shrinking',
  certificate_failing: 'Certificate failing',
  dns_lost: 'Name leads elsewhere',
  quota_forecast: 'Quota forecast',
  quota_reached: 'Quota reached',
  crawlers_gone: 'Search crawlers gone',
}

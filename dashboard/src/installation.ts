import type { IntegrationSummary } from './api/types.ts'

/**
 * Returns whether the site is behind a front: its owner chose so, or a front asks for pages. The DNS then stays as it is,
 * and the front has the certificate.
 */
export function isBehindFront({ way, state }: Pick<IntegrationSummary, 'way' | 'state'>): boolean {
  return way === 'middleware' || state === 'middleware'
}

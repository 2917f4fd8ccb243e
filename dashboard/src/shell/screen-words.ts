import { ROUTES } from '../route-map.ts'

/** Other words that people look for a screen with. Only Ctrl K loads them. */
export const SCREEN_WORDS: Partial<Record<string, string>> = {
  [ROUTES.domains]: 'domains portfolio home',
  [ROUTES.traffic]: 'visits crawlers charts statistics',
  [ROUTES.incidents]: 'alerts trouble outages',
  [ROUTES.reports]: 'monthly PDF clients print month',
  [ROUTES.members]: 'people users team roles invitations',
  [ROUTES.shareLinks]: 'clients guests public view',
  [ROUTES.keys]: 'tokens programs scripts',
  [ROUTES.notifications]: 'e-mail Slack webhooks endpoints alerts',
  [ROUTES.plan]: 'billing usage quota limits renders',
  [ROUTES.account]:
    'account name contact export delete policy security branding logo second factor required sessions',
  [ROUTES.auditLog]: 'history changes who',
  [ROUTES.operatorAccounts]: 'customers owners',
  [ROUTES.operatorNodes]: 'fleet servers memory',
  [ROUTES.operatorQueue]: 'jobs renders waiting',
  [ROUTES.operatorFailures]: 'errors',
}

import type { Action } from '@prepaint/contract/roles.ts'
import type { QueryClient } from '@tanstack/react-query'
import { domainUrl } from '../api/queries.ts'
import { request } from '../api/request.ts'
import type { Domain } from '../api/types.ts'
import { notifyDone, notifyFailed } from '../parts/notifications.tsx'
import { domainPath, ROUTES, settingsPath } from '../route-map.ts'

/** What is done: an address opens the place where it is done, or it is done at once. */
export type Deed = { to: string } | { run: (queries: QueryClient) => Promise<void> }

type AccountAction = { title: string; words: string; needs: Action | 'operator'; deed: Deed }

/** What a role may do without naming a site. */
export const ACCOUNT_ACTIONS: readonly AccountAction[] = [
  {
    title: 'Add a domain',
    words: 'new site create register',
    needs: 'createDomain',
    deed: { to: ROUTES.addDomain },
  },
  {
    title: 'Import sites from a file',
    words: 'CSV upload many domains prerender.io',
    needs: 'importDomains',
    deed: { to: `${ROUTES.domains}#import` },
  },
  {
    title: 'Make or apply a template of settings',
    words: 'bulk copy defaults',
    needs: 'createTemplate',
    deed: { to: `${ROUTES.domains}#templates` },
  },
  {
    title: 'Invite a member',
    words: 'person user team client colleague',
    needs: 'inviteMember',
    deed: { to: `${ROUTES.members}#invite` },
  },
  {
    title: 'Make a share link',
    words: 'client guest public create',
    needs: 'createShareLink',
    deed: { to: `${ROUTES.shareLinks}#new` },
  },
  {
    title: 'Create an API key',
    words: 'token program script new',
    needs: 'createKey',
    deed: { to: ROUTES.keys },
  },
  {
    title: 'Change who gets e-mails of incidents',
    words: 'notifications alerts add address',
    needs: 'putNotifications',
    deed: { to: ROUTES.notifications },
  },
  {
    title: 'Add an endpoint for events',
    words: 'webhook Slack integration',
    needs: 'createEndpoint',
    deed: { to: ROUTES.notifications },
  },
  {
    title: 'Rename the account',
    words: 'name company contact',
    needs: 'changeAccount',
    deed: { to: ROUTES.account },
  },
  {
    title: 'Export the account',
    words: 'download data backup',
    needs: 'exportAccount',
    deed: { to: ROUTES.account },
  },
  {
    title: 'Delete the account',
    words: 'remove close',
    needs: 'requestDeletion',
    deed: { to: ROUTES.account },
  },
  {
    title: 'Invite an owner',
    words: 'customer account new operator',
    needs: 'operator',
    deed: { to: `${ROUTES.operatorAccounts}#invite` },
  },
]

type SiteAction = {
  /** The name of the site follows it. */
  verb: string
  words: string
  needs: Action
  isFor?: (site: Domain) => boolean
  deed: (name: string) => Deed
}

/** What a role may do with each of its sites. */
export const SITE_ACTIONS: readonly SiteAction[] = [
  {
    verb: 'Pause',
    words: 'stop disable off offline maintenance deactivate',
    needs: 'updateDomain',
    isFor: ({ is_active }) => is_active,
    deed: (name) => ({ run: (queries) => switchSite(queries, name, false) }),
  },
  {
    verb: 'Resume',
    words: 'start enable on online activate pause paused offline maintenance',
    needs: 'updateDomain',
    isFor: ({ is_active }) => !is_active,
    deed: (name) => ({ run: (queries) => switchSite(queries, name, true) }),
  },
  {
    verb: 'Warm',
    words: 'render all pages sitemap crawl cache',
    needs: 'startWarm',
    isFor: ({ is_active }) => is_active,
    deed: (name) => ({ to: `${domainPath('domainPages', name)}#warm` }),
  },
  {
    verb: 'Render again or delete pages of',
    words: 'purge refresh cache clear invalidate stored',
    needs: 'purgePages',
    deed: (name) => ({ to: domainPath('domainPages', name) }),
  },
  {
    verb: 'Add a rule to',
    words: 'path exclude pass',
    needs: 'updateDomain',
    deed: (name) => ({ to: settingsPath(name, 'paths', 'rules') }),
  },
  {
    verb: 'Delete',
    words: 'remove site domain',
    needs: 'deleteDomain',
    deed: (name) => ({ to: settingsPath(name, 'delete') }),
  },
]

async function switchSite(queries: QueryClient, name: string, isActive: boolean): Promise<void> {
  try {
    await request('PUT', domainUrl(name), { body: { is_active: isActive } })
    await queries.invalidateQueries({ queryKey: ['domains'] })
    await queries.invalidateQueries({ queryKey: ['portfolio'] })
    notifyDone(
      `${name} was ${isActive ? 'resumed' : 'paused'}`,
      () => void switchSite(queries, name, !isActive),
    )
  } catch (error) {
    notifyFailed(`${name} was not ${isActive ? 'resumed' : 'paused'}`, error)
  }
}

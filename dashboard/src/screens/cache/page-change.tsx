import { Alert, List, Stack, Text } from '@mantine/core'

import { domainUrl, PAGE_FILTERS, type PageConditions } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Purged } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import { filterBody, isFiltered } from './page-filter.ts'
import type { Selection } from './selection.ts'

/** The limits of one request to the API: pages by their paths, and pages by search. */
const NAMED_MOST = 1_000
const PURGED_MOST = 100_000
const REFRESHED_MOST = 10_000

export type Deed = 'rerender' | 'refresh' | 'purge'

const VERBS: Record<Deed, string> = { rerender: 'Render again', refresh: 'Refresh', purge: 'Purge' }

/** The question before pages are rendered again, refreshed or purged, with what happens then. */
export function PageChange(props: {
  deed: Deed
  domain: DomainWithSettings
  selection: Selection
  filter: PageConditions
  pages: number
  onDone: () => Promise<void>
  onClose: () => void
}) {
  const { deed, domain, selection, filter, pages } = props
  const name = domain.custom_domain
  const isAll = selection.kind === 'matching' && !isFiltered(filter)
  const isTooMany = pages > mostPages(deed, selection, isAll)
  const what = isAll ? `all of ${name}` : counted(pages, 'page')
  const run = async () => {
    notifyDone(await changePages(deed, name, isAll ? 'all' : choiceOf(deed, selection, filter)))
    await props.onDone()
  }
  return (
    <ConfirmDialog
      title={deed === 'rerender' ? `Render ${what} again?` : `${VERBS[deed]} ${what}?`}
      label={VERBS[deed]}
      isHarmless={deed !== 'purge'}
      isOff={isTooMany}
      onClose={props.onClose}
      run={run}
    >
      <Stack gap="sm">
        {isTooMany && <TooMany deed={deed} isNamed={selection.kind === 'some'} />}
        {deed === 'purge' ? (
          <AfterPurge pages={pages} isAll={isAll} />
        ) : (
          <AfterRender domain={domain} pages={pages} staysStored={deed === 'rerender'} />
        )}
      </Stack>
    </ConfirmDialog>
  )
}

/** All pages of a domain can be purged at once, however many they are. */
function mostPages(deed: Deed, selection: Selection, isAll: boolean): number {
  if (selection.kind === 'some') return NAMED_MOST
  if (deed !== 'purge') return REFRESHED_MOST
  return isAll ? Number.POSITIVE_INFINITY : PURGED_MOST
}

/** The pages of one request: by their paths, by a search, or by a filter. */
type Choice =
  | { paths: string[] }
  | { search: string; match: PageConditions['match'] }
  | { filter: Record<string, unknown> }

/** Every path begins with `/`, so this filter finds all pages. */
const EVERY_PAGE: Choice = { filter: { search: '/', match: 'prefix' } }

function choiceOf(deed: Deed, selection: Selection, filter: PageConditions): Choice {
  if (selection.kind === 'some') return { paths: [...selection.paths] }
  const hasSearchOnly = PAGE_FILTERS.every((name) => (filter[name] ?? '') === '')
  // A purge by search also ends renders of pages that are not stored yet.
  if (deed === 'purge' && hasSearchOnly) return { search: filter.search.trim(), match: filter.match }
  return { filter: filterBody(filter) }
}

/** Returns what was done, in one sentence. */
async function changePages(deed: Deed, domain: string, choice: Choice | 'all'): Promise<string> {
  const url = `${domainUrl(domain)}/pages`
  if (deed !== 'purge') {
    const body = choice === 'all' ? EVERY_PAGE : choice
    if (deed === 'rerender') {
      const { jobs } = await request<{ jobs: unknown[] }>('POST', `${url}/rerender`, { body })
      return `Rendering ${counted(jobs.length, 'page')} of ${domain} again`
    }
    const { message } = await request<{ message: string }>('POST', `${url}/refresh`, { body })
    return message
  }
  const { keysDeleted } =
    choice === 'all'
      ? await request<Purged>('POST', '/api/cache/purge', { body: { domain } })
      : await request<Purged>('POST', `${url}/purge`, { body: choice })
  return `Purged ${counted(keysDeleted, 'cached entry', 'cached entries')} of ${domain}`
}

function TooMany({ deed, isNamed }: { deed: Deed; isNamed: boolean }) {
  if (isNamed) {
    return (
      <Alert color="yellow">
        You can select at most {count(NAMED_MOST)} pages one by one. Search for them and select all that match
        instead.
      </Alert>
    )
  }
  if (deed !== 'purge') {
    return (
      <Alert color="yellow">
        At most {count(REFRESHED_MOST)} pages can be rendered at once. Filter a part of them, or warm the
        cache.
      </Alert>
    )
  }
  return (
    <Alert color="yellow">
      At most {count(PURGED_MOST)} pages can be deleted at once. Filter a part of them.
    </Alert>
  )
}

function AfterPurge({ pages, isAll }: { pages: number; isAll: boolean }) {
  return (
    <List size="sm" spacing={4}>
      <List.Item>
        {isAll ? `All ${counted(pages, 'cached page')}` : counted(pages, 'cached page')}, and the cached
        redirects and sitemaps of the domain, are deleted. This cannot be undone.
      </List.Item>
      <List.Item>
        Each page is rendered again on its next crawler visit. That crawler waits a few seconds, and the
        render counts against the month.
      </List.Item>
      <List.Item>Until then there is no copy to serve if the origin fails.</List.Item>
    </List>
  )
}

function AfterRender(props: { domain: DomainWithSettings; pages: number; staysStored: boolean }) {
  const { domain, pages, staysStored } = props
  const left = Math.max(0, domain.monthly_render_limit - domain.renders_used)
  return (
    <>
      <List size="sm" spacing={4}>
        <List.Item>
          {counted(pages, 'cached page')} {pages === 1 ? 'is' : 'are'}{' '}
          {staysStored ? 'queued, and served until the new one is stored' : 'deleted and queued'}. Crawlers
          that request one of them are served first.
        </List.Item>
        <List.Item>
          Up to {counted(pages, 'render')} {pages === 1 ? 'counts' : 'count'} against the month:{' '}
          {count(domain.renders_used)} of {count(domain.monthly_render_limit)} are used.
        </List.Item>
        <List.Item>
          {staysStored
            ? 'A page that fails to render stays cached as it is.'
            : 'A page that fails to render is no longer cached.'}
        </List.Item>
      </List>
      {pages > left && (
        <Alert color="yellow">
          <Text size="sm">
            {left === 0
              ? 'The renders of this month are used up.'
              : `Only ${counted(left, 'render')} are left this month.`}{' '}
            At 120 % of the limit rendering stops, and crawlers get the origin for pages that are not cached.
          </Text>
        </Alert>
      )}
    </>
  )
}

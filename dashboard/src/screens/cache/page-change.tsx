import { Alert, List, Stack, Text } from '@mantine/core'

import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Purged } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import type { Selection } from './selection.ts'

/** The limits of one request to the API: pages by their paths, and pages by search. */
const NAMED_MOST = 1_000
const PURGED_MOST = 100_000
const REFRESHED_MOST = 10_000

type Deed = 'purge' | 'refresh'
type Search = { text: string; match: 'contains' | 'prefix' }

const VERBS: Record<Deed, string> = { purge: 'Purge', refresh: 'Refresh' }

/** The question before pages are purged or refreshed, with what happens then. */
export function PageChange(props: {
  deed: Deed
  domain: DomainWithSettings
  selection: Selection
  search: Search
  pages: number
  onDone: () => Promise<void>
  onClose: () => void
}) {
  const { deed, domain, selection, search, pages } = props
  const name = domain.custom_domain
  const isAll = selection.kind === 'matching' && search.text === ''
  const isTooMany = pages > mostPages(deed, selection, isAll)
  const what = isAll ? `all of ${name}` : counted(pages, 'page')
  const run = async () => {
    notifyDone(await changePages(deed, name, isAll ? 'all' : choiceOf(selection, search)))
    await props.onDone()
  }
  return (
    <ConfirmDialog
      title={`${VERBS[deed]} ${what}?`}
      label={VERBS[deed]}
      isHarmless={deed === 'refresh'}
      isOff={isTooMany}
      onClose={props.onClose}
      run={run}
    >
      <Stack gap="sm">
        {isTooMany && <TooMany deed={deed} isNamed={selection.kind === 'some'} />}
        {deed === 'purge' ? (
          <AfterPurge pages={pages} isAll={isAll} />
        ) : (
          <AfterRefresh domain={domain} pages={pages} />
        )}
      </Stack>
    </ConfirmDialog>
  )
}

/** All pages of a domain can be purged at once, however many they are. */
function mostPages(deed: Deed, selection: Selection, isAll: boolean): number {
  if (selection.kind === 'some') return NAMED_MOST
  if (deed === 'refresh') return REFRESHED_MOST
  return isAll ? Number.POSITIVE_INFINITY : PURGED_MOST
}

/** The pages of one request: by their paths, or by a search. */
type Choice = { paths: string[] } | { search: string; match: Search['match'] }

/** Every path begins with `/`, so this search matches all pages. */
const EVERY_PAGE: Choice = { search: '/', match: 'prefix' }

function choiceOf(selection: Selection, search: Search): Choice {
  if (selection.kind === 'some') return { paths: [...selection.paths] }
  return { search: search.text, match: search.match }
}

/** Returns what was done, in one sentence. */
async function changePages(deed: Deed, domain: string, choice: Choice | 'all'): Promise<string> {
  const url = `${domainUrl(domain)}/pages`
  if (deed === 'refresh') {
    const body = choice === 'all' ? EVERY_PAGE : choice
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
  if (deed === 'refresh') {
    return (
      <Alert color="yellow">
        At most {count(REFRESHED_MOST)} pages can be changed at once. Search for a part of them, or purge all:
        pages are rendered again on their next crawler visit.
      </Alert>
    )
  }
  return (
    <Alert color="yellow">
      At most {count(PURGED_MOST)} pages can be changed at once. Search for a part of them.
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

function AfterRefresh({ domain, pages }: { domain: DomainWithSettings; pages: number }) {
  const left = Math.max(0, domain.monthly_render_limit - domain.renders_used)
  return (
    <>
      <List size="sm" spacing={4}>
        <List.Item>
          {counted(pages, 'cached page')} {pages === 1 ? 'is' : 'are'} deleted and queued. Crawlers that
          request one of them are served first.
        </List.Item>
        <List.Item>
          Up to {counted(pages, 'render')} count against the month: {count(domain.renders_used)} of{' '}
          {count(domain.monthly_render_limit)} are used.
        </List.Item>
        <List.Item>A page that fails to render is no longer cached.</List.Item>
      </List>
      {pages > left && (
        <Alert color="yellow">
          <Text size="sm">
            {left === 0
              ? 'The renders of this month are used up.'
              : `Only ${counted(left, 'render')} are left this month.`}{' '}
            At 120% of the limit rendering stops, and crawlers get the origin for pages that are not cached.
          </Text>
        </Alert>
      )}
    </>
  )
}

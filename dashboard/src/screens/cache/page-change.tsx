import { Alert, List, Stack, Text } from '@mantine/core'

import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Purged } from '../../api/types.ts'
import { count, counted } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog.tsx'
import { notifyDone } from '../../parts/notifications.tsx'
import type { Selection } from './selection.ts'

/** API limits of one request: pages by name, and pages by search. */
const NAMED_MOST = 1_000
const PURGED_MOST = 100_000
const REFRESHED_MOST = 10_000

type Search = { text: string; match: 'contains' | 'prefix' }

export function PageChange(props: {
  deed: 'purge' | 'refresh'
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
  const isTooMany =
    selection.kind === 'some'
      ? pages > NAMED_MOST
      : pages > (deed === 'refresh' ? REFRESHED_MOST : isAll ? Number.POSITIVE_INFINITY : PURGED_MOST)
  const what = isAll ? `all of ${name}` : counted(pages, 'page')
  const verb = deed === 'purge' ? 'Purge' : 'Refresh'

  const run = async () => {
    const choice = choiceOf(selection, search)
    if (deed === 'purge') {
      const { keysDeleted } = isAll
        ? await request<Purged>('POST', '/api/cache/purge', { body: { domain: name } })
        : await request<Purged>('POST', `${domainUrl(name)}/pages/purge`, { body: choice })
      notifyDone(`Purged ${count(keysDeleted)} cached entries of ${name}`)
    } else {
      const { message } = await request<{ message: string }>('POST', `${domainUrl(name)}/pages/refresh`, {
        body: choice,
      })
      notifyDone(message)
    }
    await props.onDone()
  }
  return (
    <ConfirmDialog
      title={`${verb} ${what}?`}
      label={verb}
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
          <AfterRefresh {...{ domain, pages }} />
        )}
      </Stack>
    </ConfirmDialog>
  )
}

function TooMany({ deed, isNamed }: { deed: 'purge' | 'refresh'; isNamed: boolean }) {
  const most = deed === 'refresh' ? REFRESHED_MOST : PURGED_MOST
  return (
    <Alert color="yellow">
      {isNamed
        ? `You can select at most ${count(NAMED_MOST)} pages one by one. Search for them and select all that match instead.`
        : `At most ${count(most)} pages can be changed at once. Search for a part of them${
            deed === 'refresh' ? ', or purge all: pages are rendered again on their next crawler visit' : ''
          }.`}
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

/** Every path begins with `/`. */
function choiceOf(selection: Selection, search: Search) {
  if (selection.kind === 'some') return { paths: [...selection.paths] }
  return search.text === '' ? { search: '/', match: 'prefix' } : { search: search.text, match: search.match }
}

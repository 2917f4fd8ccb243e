import { Alert, List, Stack, Text } from '@mantine/core'
import { domainUrl } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import type { DomainWithSettings, Purged } from '../../api/types.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { sayDone } from '../../parts/notifications.tsx'
import { count, counted } from '../../parts/usage-bar.tsx'
import type { Selection } from './selection.ts'

/** As many as the interface takes by name, and finds by a search, at once. */
const NAMED_MOST = 1_000
const PURGED_MOST = 100_000
const REFRESHED_MOST = 10_000

/** Asks before pages are purged or refreshed, says what follows, and does it. */
export function PageChange(props: {
  deed: 'purge' | 'refresh'
  domain: DomainWithSettings
  selection: Selection
  search: { text: string; match: 'contains' | 'prefix' }
  /** How many are chosen. */
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
  const title = `${deed === 'purge' ? 'Purge' : 'Refresh'} ${what}?`

  const run = async () => {
    const choice = choiceOf(selection, search)
    if (deed === 'purge') {
      const { keysDeleted } = isAll
        ? await request<Purged>('POST', '/api/cache/purge', { body: { domain: name } })
        : await request<Purged>('POST', `${domainUrl(name)}/pages/purge`, { body: choice })
      sayDone(`Purged ${count(keysDeleted)} stored entries of ${name}`)
    } else {
      const { message } = await request<{ message: string }>('POST', `${domainUrl(name)}/pages/refresh`, {
        body: choice,
      })
      sayDone(message)
    }
    await props.onDone()
  }
  return (
    <ConfirmDialog
      title={title}
      label={deed === 'purge' ? 'Purge' : 'Refresh'}
      isHarmless={deed === 'refresh'}
      isOff={isTooMany}
      onClose={props.onClose}
      run={run}
    >
      <Stack gap="sm">
        {isTooMany && (
          <Alert color="yellow">
            {selection.kind === 'some'
              ? `At most ${count(NAMED_MOST)} pages that were chosen one by one go at once. Search for them, and choose all that match.`
              : `At most ${count(deed === 'refresh' ? REFRESHED_MOST : PURGED_MOST)} pages go at once. Search for a part of them${
                  deed === 'refresh' ? '; or purge all: they are rendered again when crawlers next ask' : ''
                }.`}
          </Alert>
        )}
        {deed === 'purge' ? (
          <AfterPurge pages={pages} isAll={isAll} />
        ) : (
          <AfterRefresh {...{ domain, pages }} />
        )}
      </Stack>
    </ConfirmDialog>
  )
}

function AfterPurge({ pages, isAll }: { pages: number; isAll: boolean }) {
  return (
    <List size="sm" spacing={4}>
      <List.Item>
        {isAll ? `All ${counted(pages, 'stored page')}` : counted(pages, 'stored page')}, and the stored
        redirects and sitemaps of the domain, are deleted. This cannot be undone.
      </List.Item>
      <List.Item>
        Each is rendered again when a crawler next asks for it. That one waits for some seconds, and the
        render counts against the month.
      </List.Item>
      <List.Item>Until then there is no copy to serve should the origin fail.</List.Item>
    </List>
  )
}

function AfterRefresh({ domain, pages }: { domain: DomainWithSettings; pages: number }) {
  const left = Math.max(0, domain.monthly_render_limit - domain.renders_used)
  return (
    <>
      <List size="sm" spacing={4}>
        <List.Item>
          {counted(pages, 'stored page')} {pages === 1 ? 'is' : 'are'} deleted and queued; crawlers that ask
          before their turn are served first.
        </List.Item>
        <List.Item>
          Up to {counted(pages, 'render')} count against the month: {count(domain.renders_used)} of{' '}
          {count(domain.monthly_render_limit)} are used.
        </List.Item>
        <List.Item>A page that fails to render is no longer stored afterwards.</List.Item>
      </List>
      {pages > left && (
        <Alert color="yellow">
          <Text size="sm">
            {left === 0
              ? 'The renders of this month are used up.'
              : `Only ${counted(left, 'render')} of this month are left.`}{' '}
            At 120 % of the limit nothing more is rendered, and crawlers get the origin for what is not
            stored.
          </Text>
        </Alert>
      )}
    </>
  )
}

/** All there is is what begins with `/`. */
function choiceOf(selection: Selection, search: { text: string; match: 'contains' | 'prefix' }) {
  if (selection.kind === 'some') return { paths: [...selection.paths] }
  return search.text === '' ? { search: '/', match: 'prefix' } : { search: search.text, match: search.match }
}
